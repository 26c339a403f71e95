/** Planted bugs of what a database becomes, and of copies. */
import type { PlantedBug } from './planted-bug.ts';

export const ofDatabases: readonly PlantedBug[] = [
  {
    name: 'forksBelowChosen',
    sentence: 'a new leader begins its timeline where its standby happens to be',
    mutations: [
      {
        file: 'payload/wal/life/standby-phase.ts',
        find: 'context.advance(progress.appliedSlot);',
        replace: 'context.advance(wal.position.slot);',
      },
      {
        file: 'payload/wal/life/standby-phase.ts',
        find: 'if (progress.hasAll && seen !== null && seen.replayed === expected) {',
        replace: 'if (seen !== null) {',
      },
      {
        file: 'payload/wal/life/standby-phase.ts',
        find: 'return { fork: expected, nextXid',
        replace: 'return { fork: seen.replayed, nextXid',
      },
    ],
    strain: { only: ['only a slow standby is left to lead'] },
    seed: 6,
    expected: /leaves the history of this standby|lost-append|incompatible-order/,
  },
  {
    name: 'servesWhenElected',
    sentence:
      'a new leader makes a primary of its standby as soon as it is elected, and serves what that has, whatever earlier leaders had chosen',
    mutations: [
      {
        file: 'multipaxos/new-leader.ts',
        find: 'const startSlot = (candidacy.commitPoint + entries.length + 1) as Slot;',
        replace: 'const startSlot = state.commitPoint;',
      },
      {
        file: 'payload/wal/life/standby-phase.ts',
        find: 'const fork = await replayedFork(context, running, ballot);',
        replace: `running.standby.shut();
  const fork = await replayedFork(context, running, ballot);`,
      },
      {
        file: 'payload/wal/life/standby-phase.ts',
        find: 'if (progress.hasAll && seen !== null && seen.replayed === expected) {',
        replace: 'if (seen !== null && seen.replayed >= progress.flushed) {',
      },
      {
        file: 'payload/wal/life/standby-phase.ts',
        find: 'return { fork: expected, nextXid',
        replace: 'return { fork: seen.replayed, nextXid',
      },
      {
        file: 'payload/wal/life/primary-phase.ts',
        find: 'await barriers.pass();',
        replace: 'await Promise.resolve(barriers);',
      },
    ],
    strain: { only: ['only a slow standby is left to lead'] },
    seed: 1,
    expected: /leaves the history of this standby|lost-append|incompatible-order/,
  },
  {
    name: 'rejoinsUnjudged',
    sentence: 'a leader that was deposed becomes a standby with whatever it had written',
    mutations: [
      {
        file: 'payload/wal/judge-directory.ts',
        find: "return ownEnd <= left ? { kind: 'prefix' } : { kind: 'parted', at: left };",
        replace: "return { kind: 'prefix' };",
      },
    ],
    strain: { only: ['the leader alone is cut off'] },
    seed: 4,
    expected: /leaves the history of this standby|has replayed .* is chosen|and has not$/,
  },
  {
    name: 'promotesUnmarked',
    sentence: "a directory says that it is a standby's until its PostgreSQL has been promoted",
    mutations: [
      {
        file: 'payload/wal/life/standby-phase.ts',
        find: `const state = await context.save({ kind: 'promoting', leadership: ballot }, begun);`,
        replace: `const role = { kind: 'promoting', leadership: ballot } as const;
  const state = { role, position: begun, configuration: host.configuration() };`,
      },
    ],
    strain: { only: ['the process dies'] },
    seed: 1,
    expected: /is promoted in a directory that says it is standby/,
  },
  {
    name: 'copiesUnchosen',
    sentence: 'a copy is complete before the WAL that its pages need is chosen',
    mutations: [
      {
        file: 'payload/wal/wal-payload.ts',
        find: 'if (this.chosenEnd >= lsn) return true;',
        replace: 'return true;',
      },
      // In the model of the adapter, as in the adapter: copy/chosen.ts.
      {
        file: 'payload/wal/testing/model-copy-source.ts',
        find: 'if (durable.position.end >= stop) return durable;',
        replace: 'return durable;',
      },
    ],
    strain: { only: ['a copy comes of a leader that dies'] },
    seed: 45,
    expected: /has replayed .* is chosen|incompatible-order|lost-append/,
  },
];
