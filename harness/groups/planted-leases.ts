/**
 * Planted bugs of the lease, for the traces of what leases rest on (specs/TraceLease.tla): each is refused where it shows first, mostly long before a client could be answered wrongly.
 *
 * Invariant: none alters what a replica tells of itself, only what it does.
 */
import type { Mutation } from '../nemesis/mutate.ts';
import type { PlantedLeaseBug } from './planted-bug.ts';
import { noStrain, ofWords } from './planted-words.ts';

const alone = { only: ['the leader alone is cut off'] };
const again = {
  only: ['is cut off', 'the leader alone is cut off', 'its links come and go'],
  mix: 'losses',
} as const;

/** The judge of groups sees two that hold a lease, the specification what it is counted from. */
export const countedFromReceipt: readonly Mutation[] = [
  {
    file: 'multipaxos/lease.ts',
    find: 'peer.ackedSentAtMs = sentAtMs;',
    replace: 'peer.ackedSentAtMs = state.nowMs;',
  },
];

/** What leaders count, and answer. */
const ofCounts: readonly PlantedLeaseBug[] = [
  {
    name: 'countsFromReceipt',
    sentence: 'a leader counts its lease from when an answer came, not from when the question left',
    mutations: countedFromReceipt,
    strain: noStrain,
    seed: 1,
    refusedAt: ['HandleHeartbeatAck'],
  },
  {
    name: 'noMargin',
    sentence: 'a leader counts as long as its followers keep their word, whatever clocks do',
    mutations: [
      {
        file: 'multipaxos/lease.ts',
        find: 'config.leaseMs * (1 - config.clockDriftMax)',
        replace: 'config.leaseMs',
      },
    ],
    strain: noStrain,
    seed: 1,
    refusedAt: ['HandleHeartbeatAck', 'Learn', 'AnswerRead'],
  },
  {
    name: 'countsPromises',
    sentence: 'whoever has promised is taken to have acknowledged, too',
    mutations: [
      {
        file: 'multipaxos/new-leader.ts',
        find: 'renewPeers(state, leadership);',
        replace: `renewPeers(state, leadership);
  for (const peer of leadership.peers)
    if (candidacy.promises.has(peer.id)) peer.ackedSentAtMs = candidacy.prepareSentAtMs;`,
      },
    ],
    strain: alone,
    seed: 1,
    refusedAt: ['Lead'],
  },
  {
    name: 'keepsAcknowledgements',
    sentence: 'whoever leads again counts what was acknowledged when it led before',
    mutations: [
      {
        file: 'multipaxos/new-leader.ts',
        find: 'renewPeers(state, leadership);',
        replace: `leadership.peers = kept.get(state) ?? [];
  renewPeers(state, leadership);
  kept.set(state, leadership.peers);`,
      },
      {
        file: 'multipaxos/new-leader.ts',
        find: 'function newLeadership(',
        replace: 'const kept = new WeakMap<State, Leadership["peers"]>();\nfunction newLeadership(',
      },
    ],
    strain: again,
    seed: 3,
    refusedAt: ['Lead'],
  },
  {
    name: 'countsOneLess',
    sentence: 'a lease rests on one acknowledgement less than a majority needs',
    mutations: [
      {
        file: 'multipaxos/lease.ts',
        find: 'const others = isVoter ? quorum - 1 : quorum;',
        replace: 'const others = Math.max(1, (isVoter ? quorum - 1 : quorum) - 1);',
      },
    ],
    strain: { only: [], replicas: 5 },
    seed: 1,
    refusedAt: ['HandleHeartbeatAck', 'Learn', 'AnswerRead'],
  },
  {
    name: 'countsByOldMembers',
    sentence: 'a change of the members comes into force, and the lease is not counted anew',
    mutations: [
      {
        file: 'multipaxos/leader.ts',
        find: 'renewPeers(state, leadership);\n  renewLease(state, leadership);',
        replace:
          'renewPeers(state, leadership);\n  if (leadership.peers.length > 99) renewLease(state, leadership);',
      },
    ],
    strain: noStrain,
    seed: 1,
    refusedAt: ['Learn'],
  },
  {
    name: 'answersBeyondLease',
    sentence: 'a leader answers whether it holds its lease or not',
    mutations: [
      {
        file: 'multipaxos/lease.ts',
        find: 'return leadership !== null && leadership.serving && nowMs < leadership.leaseUntilMs;',
        replace: 'return leadership !== null && leadership.serving && nowMs > 0;',
      },
    ],
    strain: alone,
    seed: 1,
    refusedAt: ['AnswerRead'],
  },
  {
    name: 'answersWithWord',
    sentence: 'a leader answers for as long as followers keep their word, which is longer than its lease',
    mutations: [
      {
        file: 'multipaxos/lease.ts',
        find: 'return leadership !== null && leadership.serving && nowMs < leadership.leaseUntilMs;',
        replace: 'return leadership !== null && leadership.serving && nowMs < leadership.leaseUntilMs + 50;',
      },
    ],
    strain: alone,
    seed: 1,
    refusedAt: ['AnswerRead'],
  },
  {
    name: 'refusesUnderLease',
    sentence: 'a leader that holds its lease refuses to answer',
    mutations: [
      {
        file: 'multipaxos/lease.ts',
        find: 'return leadership !== null && leadership.serving && nowMs < leadership.leaseUntilMs;',
        replace: 'return leadership !== null && leadership.serving && nowMs < leadership.leaseUntilMs - 900;',
      },
    ],
    strain: alone,
    seed: 1,
    refusedAt: ['RefuseAnswer'],
  },
  {
    name: 'answersOfEarlier',
    sentence:
      'sessions of an earlier leadership go on, and what they have read leaves under the lease of the next',
    mutations: [
      {
        file: 'replica/serving/service.ts',
        find: `return this.generation === generation && (this.current.kind === 'here' || this.isDraining);`,
        replace: `return this.generation >= generation;`,
      },
      {
        file: 'replica/serving/service.ts',
        find: 'this.listeners.add(listener);',
        replace: '',
      },
    ],
    strain: again,
    seed: 1,
    refusedAt: ['AnswerRead'],
  },
];

export const ofLeases = [...ofWords, ...ofCounts];
