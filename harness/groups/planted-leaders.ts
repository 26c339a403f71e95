/** Planted bugs of the protocol core: how leaders come to lead, what they count, and when they serve. */
import type { PlantedBug } from './planted-bug.ts';

export const ofLeaders: readonly PlantedBug[] = [
  {
    name: 'countsDuplicates',
    sentence: 'a vote that comes twice counts as the vote of another',
    mutations: [
      {
        file: 'multipaxos/leader.ts',
        find: 'if (held?.ballot === leadership.ballot) held.votes |= votes.bit;',
        replace:
          'if (held?.ballot === leadership.ballot) held.votes |= (held.votes & votes.bit) === 0 ? votes.bit : held.votes + 1;',
      },
    ],
    strain: { only: ['its disk is slow', 'the process dies'], mix: 'losses' },
    seed: 4,
    expected: /^OnlyChosenIsTaken/,
  },
  {
    name: 'smallQuorum',
    sentence: 'a leader is content with one vote less than a majority',
    mutations: [
      {
        file: 'multipaxos/roster.ts',
        find: 'quorum: majority(voters.length),',
        replace: 'quorum: Math.max(1, majority(voters.length) - 1),',
      },
    ],
    strain: { only: ['the process dies'] },
    seed: 1,
    expected: /^OnlyChosenIsTaken/,
  },
  {
    name: 'servesBeforeChosen',
    sentence: 'a leader does not wait until what it found in the logs is chosen',
    mutations: [
      {
        file: 'multipaxos/new-leader.ts',
        find: 'const startSlot = (candidacy.commitPoint + entries.length + 1) as Slot;',
        replace: 'const startSlot = state.commitPoint;',
      },
    ],
    strain: { only: ['the machine fails', 'is cut off', 'its disk is slow'] },
    seed: 1,
    expected: /^ServesAllThatIsChosen/,
  },
  {
    name: 'servesBeforeApplied',
    sentence: 'a leader does not wait until what it found in the logs is in its database',
    mutations: [
      {
        file: 'multipaxos/leader.ts',
        find: '(applied < startSlot && config.servesUnapplied !== true)',
        replace: '(applied < 0 && config.servesUnapplied !== true)',
      },
    ],
    strain: { only: ['only a slow standby is left to lead'] },
    seed: 1,
    expected: /^ServesAllThatIsChosen/,
  },
  {
    name: 'grantsNoLease',
    sentence: 'whoever has heard the leader helps another to lead at once',
    mutations: [
      {
        file: 'multipaxos/lease.ts',
        find: 'state.leaseGrantedUntilMs = state.nowMs + state.config.leaseMs;',
        replace: '',
      },
    ],
    strain: { only: ['the leader is lost to one, and then to all'] },
    seed: 11,
    expected: /^OneLeaseHolder/,
  },
  {
    name: 'forgetsLeaseAtRestart',
    sentence: 'a replica that starts again waits for no lease that it may have granted',
    mutations: [
      {
        file: 'multipaxos/restart.ts',
        find: 'leaseGrantedUntilMs: nowMs + config.leaseMs,',
        replace: 'leaseGrantedUntilMs: nowMs,',
      },
    ],
    strain: { only: ['the leader is lost to one, and then to all'] },
    seed: 98,
    expected: /^OneLeaseHolder/,
  },
  {
    name: 'readsWithoutLease',
    sentence: 'a leader takes its lease for granted',
    mutations: [
      {
        file: 'multipaxos/lease.ts',
        find: 'return leadership !== null && leadership.serving && nowMs < leadership.leaseUntilMs;',
        replace: 'return leadership !== null && leadership.serving && nowMs > 0;',
      },
    ],
    strain: { only: ['the leader alone is cut off'] },
    seed: 1,
    expected: /^OneLeaseHolder/,
  },
  {
    name: 'ignoresPromisedVotes',
    sentence: 'a candidate does not look at the votes that it is told of',
    mutations: [
      {
        file: 'multipaxos/election.ts',
        find: 'gatherVotes(candidacy, message.votes);',
        replace: '',
      },
    ],
    strain: { only: ['the process dies', 'is cut off', 'its disk is slow'] },
    seed: 7,
    expected: /^Agreement/,
  },
];
