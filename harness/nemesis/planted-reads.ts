/** Planted bugs of reads at followers. Of each rule but the age of a bound FollowerReads.tla has a model that drops it, too. */
import type { PlantedBug } from './planted-bug.ts';

const reads = 'replica/serving/follower-reads.js';

export const ofReads: readonly PlantedBug[] = [
  {
    name: 'answersWithoutIndex',
    sentence: 'a linearizable read at a follower waits for no read index',
    mutations: [
      { file: reads, find: "freshness.kind === 'snapshot'", replace: "freshness.kind !== 'bounded'" },
    ],
    workloads: ['register', 'set', 'list-append'],
    strain: { kind: 'isolate', wish: 'follower', everyMs: 7000, forMs: 4000 },
    expected: ['nonlinearizable', 'stale-read', 'G-single-realtime'],
    readModes: ['linearizable'],
  },
  {
    name: 'receivedNotReplayed',
    sentence:
      'a read at a follower waits until what the leader told is chosen there, not until it is replayed',
    mutations: [
      {
        file: 'main/assemble-replica.js',
        find: 'announce: () => core.announce(),\n        replayed: () => payload.standbySlot,',
        replace: 'announce: () => core.announce(),\n        replayed: () => payload.position?.slot ?? null,',
      },
    ],
    workloads: ['register', 'set', 'list-append'],
    strain: { kind: 'slowStandby', wish: 'follower', everyMs: 7000, forMs: 4000 },
    expected: ['nonlinearizable', 'stale-read', 'G-single-realtime'],
    readModes: ['linearizable'],
  },
  {
    name: 'toldAtOnce',
    sentence: 'what a linearizable read has found at a follower is told before the leader shows it',
    mutations: [
      {
        file: reads,
        find: 'return this.isOpen && life === this.life && this.options.shown.isShown();',
        replace: 'return this.isOpen && life === this.life;',
      },
      // The sessions of a busy leader come to the end of their commits a little later.
      {
        file: 'payload/wal/shipper.js',
        find: 'this.stream?.report(this.released);',
        replace: 'setTimeout(() => this.stopped || this.stream?.report(this.released), 30);',
      },
    ],
    workloads: ['register', 'set', 'list-append'],
    strain: { kind: 'pause', wish: 'follower', everyMs: 7000, forMs: 1000 },
    expected: ['nonlinearizable', 'lost-element', 'G-single-realtime'],
    readModes: ['linearizable'],
  },
  {
    name: 'ageNotLookedAt',
    sentence: 'a bounded read is answered by whatever was current once',
    mutations: [
      {
        file: reads,
        find: 'return this.current !== null && this.options.timers.nowMs() - this.current.sentAtMs <= stalenessMaxMs;',
        replace: 'return this.current !== null;',
      },
    ],
    workloads: ['register', 'set', 'list-append'],
    strain: { kind: 'isolate', wish: 'follower', everyMs: 7000, forMs: 4000 },
    expected: ['nonlinearizable', 'stale-read', 'G-single-realtime'],
    readModes: ['bounded'],
  },
];
