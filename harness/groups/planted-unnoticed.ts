/** Planted bugs that random schedules do not find yet, each with the story that would show it. Whoever finds one moves it to where the others are. */
import type { PlantedBug } from './planted-bug.ts';

export const unnoticed: readonly PlantedBug[] = [
  // Wants a leader that stands still, with entries that it has not sent, until another one leads, and then sends them before it hears of that.
  {
    name: 'votesBelowPromise',
    sentence: 'a follower votes for what the leader of before proposes, whatever it has promised since',
    mutations: [
      {
        file: 'multipaxos/follower.ts',
        find: `if (compareBallots(message.ballot, state.promised) < 0) {
    reject(run, from, message.ballot);
    return;
  }
  const adopted = followLeader(run, from, message) === 'adopted';
  noteCommitPoint(state, from, message.commitPoint);
  const followed`,
        replace: `const adopted = followLeader(run, from, message) === 'adopted';
  noteCommitPoint(state, from, message.commitPoint);
  const followed`,
      },
    ],
    strain: { only: ['the process is stopped by a signal'], mix: 'losses' },
    seed: 1,
    expected: /^PromiseKept/,
  },
  // Wants a leader that dies between its election and its first entries, and a vote in the thrown-away tail that only a minority else has.
  {
    name: 'discardsTail',
    sentence:
      'a follower throws its tail away when the leader changes, before the new one has sent anything in its place',
    mutations: [
      {
        file: 'multipaxos/follower.ts',
        find: 'if (adopted) adoptBallot(run, ballot);',
        replace: `if (adopted) {
    adoptBallot(run, ballot);
    for (const slot of [...state.log.keys()]) if (slot > state.commitPoint) state.log.delete(slot);
    state.tailBytes = 0;
    state.lastSlot = state.commitPoint;
  }`,
      },
    ],
    strain: { only: ['the process dies', 'is cut off'], mix: 'losses', replicas: 5 },
    seed: 1,
    expected: /^(PromiseTellsVotes|Agreement)/,
  },
  // Wants an acknowledgement that is under way for nearly a lease, and an election right behind it.
  {
    name: 'leaseFromReceipt',
    sentence: 'a lease counts from when an answer came, not from when the question left',
    mutations: [
      {
        file: 'multipaxos/lease.ts',
        find: 'peer.ackedSentAtMs = sentAtMs;',
        replace: 'peer.ackedSentAtMs = state.nowMs;',
      },
    ],
    strain: { only: ['the process is stopped by a signal'] },
    seed: 1,
    expected: /^OneLeaseHolder/,
  },
  // Wants two votes of different ballots for one slot among those that promise, the older one told first.
  {
    name: 'picksAnyVote',
    sentence: 'of the votes for a slot a candidate takes the first that it hears of',
    mutations: [
      {
        file: 'multipaxos/election.ts',
        find: 'if (known === undefined || compareBallots(vote.ballot, known.ballot) > 0)',
        replace: 'if (known === undefined || compareBallots(vote.ballot, known.ballot) > 1e9)',
      },
    ],
    strain: { only: ['the leader alone is cut off', 'its disk is slow', 'the process dies'] },
    seed: 1,
    expected: /^Agreement/,
  },
  // Wants a change of the members in the part of the log that a copy leaps, and an election that the leaper starts before it hears of it otherwise.
  {
    name: 'movesBaseWithoutMembers',
    sentence: 'a log goes on from where a copy ends, and knows the members of before',
    mutations: [
      {
        file: 'multipaxos/restored.ts',
        find: 'learnConfiguration(run, state.config.id, configuration);',
        replace: '',
      },
    ],
    strain: { mix: 'losses' },
    seed: 1,
    expected: /^(ConfigurationIsKnown|ElectedByMajority)/,
  },
];
