/** Planted bugs of the protocol core: what acceptors promise, vote for, remember and learn. */
import type { Mutation } from '../nemesis/mutate.ts';
import type { PlantedBug } from './planted-bug.ts';

/** The judge of cores sees what comes of it, and so do the traces of leases. */
export const forgottenPromise: readonly Mutation[] = [
  {
    file: 'multipaxos/restart.ts',
    find: 'promised: recovered.promised,\n    durablePromised: recovered.promised,',
    replace: 'promised: ballotNone,\n    durablePromised: ballotNone,',
  },
  {
    file: 'multipaxos/restart.ts',
    find: "import { violated } from './invariants.ts';",
    replace: "import { ballotNone } from './ballot.ts';\nimport { violated } from './invariants.ts';",
  },
];

export const ofAcceptors: readonly PlantedBug[] = [
  {
    name: 'replyBeforeFsync',
    sentence: 'promises and votes are told before they are durable',
    mutations: [
      {
        file: 'multipaxos/run.ts',
        find: 'if (last === undefined) send(run, to, message);',
        replace: 'if (last !== null) send(run, to, message);',
      },
      {
        file: 'multipaxos/invariants.ts',
        find: "if (message.kind !== 'Promise' && message.kind !== 'Accepted') return;",
        replace: 'if (message !== null) return;',
      },
    ],
    strain: { only: ['the process dies'] },
    seed: 1,
    expected: /^RevealedIsDurable/,
  },
  {
    name: 'forgetsPromiseAtRestart',
    sentence: 'a replica that starts again knows nothing of its promise',
    mutations: forgottenPromise,
    strain: { only: ['the process dies'] },
    seed: 1,
    expected: /^(RestartKnowsAll: r.* begins with|PromiseKept)/,
  },
  {
    name: 'forgetsVotesAtRestart',
    sentence: 'a replica that starts again knows nothing of its votes',
    mutations: [
      {
        file: 'multipaxos/restart.ts',
        find: 'for (const item of recovered.tail) {',
        replace: 'for (const item of recovered.tail.slice(0, 0)) {',
      },
    ],
    strain: { only: ['the process dies'] },
    seed: 1,
    expected: /^(RestartKnowsAll: r.* begins without|PromiseTellsVotes)/,
  },
  {
    name: 'followsAnyBallot',
    sentence: 'a follower takes any vote of its own for chosen when the commit point of its leader passes it',
    mutations: [
      {
        file: 'multipaxos/learner.ts',
        find: 'if (ballot === undefined || ballot === null || !sameBallot(ballot, state.promised)) break;',
        replace:
          'if (ballot === undefined || ballot === null || sameBallot(ballot, { ...ballot, round: -1 })) break;',
      },
    ],
    strain: { only: ['the leader comes back to a slow disk', 'the leader alone is cut off'] },
    seed: 1,
    expected: /^OnlyChosenIsTaken/,
  },
  {
    name: 'purgesTooEarly',
    sentence: 'a log forgets what was chosen, whoever has it',
    mutations: [
      {
        file: 'multipaxos/learner.ts',
        find: 'purgeTo(run, Math.min(globalApplicationPointer, run.state.durableApplied));',
        replace: 'purgeTo(run, Math.max(globalApplicationPointer, run.state.reported));',
      },
    ],
    strain: { only: ['its standby is slow'] },
    seed: 1,
    expected: /^PurgedIsDurable: .* lets go/,
  },
  {
    name: 'purgesVolatile',
    sentence: 'what is applied is taken for durable',
    mutations: [
      {
        file: 'multipaxos/step.ts',
        find: 'if (input.durableSlot > state.durableApplied) state.durableApplied = input.durableSlot;',
        replace: 'if (input.slot > state.durableApplied) state.durableApplied = input.slot;',
      },
    ],
    strain: { only: ['its standby is slow'] },
    seed: 1,
    expected: /^PurgedIsDurable/,
  },
  {
    name: 'reportsTwice',
    sentence: 'chosen entries are given out twice, and whoever takes them takes what it has once more',
    mutations: [
      {
        file: 'payload/wal/chosen-wal.ts',
        find: 'if (!this.catchingUp && entries[0]?.slot === this.folded.slot + 1) {',
        replace: 'if (!this.catchingUp && entries[0]!.slot <= this.folded.slot + 1) {',
      },
      {
        file: 'payload/wal/chosen-wal.ts',
        find: 'if (slotEntry.slot <= this.folded.slot) continue;',
        replace: '',
      },
      {
        file: 'multipaxos/learner.ts',
        find: "if (entries.length > 0) run.effects.push({ kind: 'chosen', entries });",
        replace:
          "if (entries.length > 0) run.effects.push({ kind: 'chosen', entries }, { kind: 'chosen', entries });",
      },
    ],
    strain: { only: ['the process dies'] },
    seed: 1,
    expected: /^slot \d+ is |cannot go on/,
  },
  {
    name: 'neverCatchesUp',
    sentence: 'nobody is sent what it has missed',
    mutations: [
      {
        file: 'multipaxos/catch-up.ts',
        find: 'if (toSlot < message.fromSlot) {',
        replace: 'if (toSlot > 0) {',
      },
    ],
    strain: { only: ['the process dies'] },
    seed: 5,
    expected: /is not healthy after/,
  },
  {
    name: 'claimsWhatIsNotChosen',
    sentence: 'a follower says that more is chosen than it knows, as one with data from elsewhere would',
    mutations: [
      {
        file: 'multipaxos/follower.ts',
        find: `sentAtMs: message.sentAtMs,
    commitPoint: state.commitPoint,
    durableApplicationPointer`,
        replace: `sentAtMs: message.sentAtMs,
    commitPoint: (state.commitPoint + 1_000_000) as Slot,
    durableApplicationPointer`,
      },
    ],
    strain: { only: ['the process dies'] },
    seed: 1,
    expected: /^OnlyChosenIsTaken/,
  },
];
