/** Planted bugs of the protocol core that single faults did not find: each shows in a story of its own (core-stories.ts). */
import type { PlantedBug } from './planted-bug.ts';
import { countedFromReceipt } from './planted-leases.ts';

/** Few transactions are enough. */
const restMs = 300;

export const inStories: readonly PlantedBug[] = [
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
    strain: { only: ['the leader is heard after a promise to another'], restMs },
    seed: 1,
    expected: /^PromiseKept/,
  },
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
    strain: { only: ['one has the tail of a leader'], replicas: 5 },
    seed: 15,
    expected: /^(PromiseTellsVotes|Agreement)/,
  },
  {
    name: 'leaseFromReceipt',
    sentence: 'a lease counts from when an answer came, not from when the question left',
    mutations: countedFromReceipt,
    strain: { only: ['an acknowledgement is late'], restMs },
    seed: 1,
    expected: /^OneLeaseHolder/,
  },
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
    strain: { only: ['two leaders are left alone'], restMs },
    seed: 1,
    expected: /^Agreement/,
  },
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
    strain: { only: ['a copy tells of the members'], restMs, replicas: 5 },
    seed: 1,
    expected: /^(ConfigurationIsKnown|ElectedByMajority)/,
  },
];
