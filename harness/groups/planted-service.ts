/** Planted bugs of what leaves to clients, and when. */
import type { PlantedBug } from './planted-bug.ts';

export const ofService: readonly PlantedBug[] = [
  {
    name: 'answersBeforeBarrier',
    sentence: 'an answer leaves when its barrier is begun, not when that is chosen',
    mutations: [
      {
        file: 'payload/wal/wal-payload.ts',
        find: 'await barriers.pass();',
        replace: 'await Promise.resolve(barriers);',
      },
    ],
    strain: { only: ['the leader alone is cut off, and its waits are ended'] },
    seed: 1,
    expected: /lost-append|incompatible-order|of which \d+ had been shown/,
  },
  {
    name: 'opensWithoutBarrier',
    sentence: 'a primary serves before all that it began with is chosen',
    mutations: [
      {
        file: 'payload/wal/life/primary-phase.ts',
        find: 'await barriers.pass();',
        replace: 'await Promise.resolve(barriers);',
      },
    ],
    strain: { only: ['the leader comes back with more than is chosen'] },
    seed: 6,
    expected: /serves what ends at/,
  },
  {
    name: 'keepsSessions',
    sentence: 'sessions of a deposed leader go on until its PostgreSQL is gone, which is some seconds later',
    mutations: [
      {
        file: 'payload/wal/life/primary-phase.ts',
        find: `  host.unready(reason);
  logger.info({ reason }, 'the primary is stopped');
  if (context.leads(ballot)) host.stepDown();
  onDown(reason);
  await server.stop(mode);`,
        replace: `  logger.info({ reason }, 'the primary is stopped');
  await new Promise<void>((resolve) => context.options.timers.after(3000, resolve));
  host.unready(reason);
  if (context.leads(ballot)) host.stepDown();
  onDown(reason);
  await server.stop(mode);`,
      },
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
    strain: { only: ['is cut off', 'PostgreSQL is killed', 'the process is stopped by a signal'] },
    seed: 1,
    expected: /a client is left without an answer|answers nobody|realtime/,
  },
  {
    name: 'gateWithoutLease',
    sentence: 'answers leave whether the lease holds or not',
    mutations: [
      {
        file: 'main/assemble-replica.ts',
        find: 'leaseHeld: (nowMs) => core.leaseHeld(nowMs),',
        replace: 'leaseHeld: () => true,',
      },
    ],
    strain: { only: ['the leader alone is cut off'] },
    seed: 9,
    expected: /realtime: a stale read|of which \d+ had been shown/,
  },
  {
    name: 'endedWaitsUnnoticed',
    sentence: 'an answer leaves although PostgreSQL has ended the wait of a commit that it shows',
    mutations: [
      {
        file: 'replica/serving/answer-gate.ts',
        find: 'return this.distrusted.size === 0 && server.endedWaits() === this.cleared;',
        replace: 'return this.distrusted.size === 0;',
      },
      {
        file: 'replica/serving/answer-gate.ts',
        find: 'if (this.distrusted.size > 0 || seen !== this.cleared) {',
        replace: 'if (this.distrusted.size > 0) {',
      },
    ],
    strain: { only: ['the leader alone is cut off, and its waits are ended'] },
    seed: 9,
    expected: /lost-append|incompatible-order|of which \d+ had been shown/,
  },
  {
    name: 'guessesOutcomes',
    sentence: 'what became of a transaction is told from a database that has not all of its leadership',
    mutations: [
      {
        file: 'replica/serving/outcomes.ts',
        find: 'return serves() || (fork !== null && isStandby() && replayed() >= fork);',
        replace: 'return true;',
      },
    ],
    strain: { only: ['the leader dies before a slow standby'] },
    seed: 16,
    expected: /whoever asks \w+ heard: /,
  },
];
