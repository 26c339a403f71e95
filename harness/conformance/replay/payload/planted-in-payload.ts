/**
 * Bugs of the payload that a replay of OrderedApply must find. All are in one bundle: each is a condition or a value that is another one while the bug is at work.
 */
import type { Mutation } from '../../../nemesis/mutate.ts';

export interface PayloadBug {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly instead: string;
  /** Chance seldom brings what shows it: a story does. */
  readonly needsStory?: true;
}

export const payloadBugs: readonly PayloadBug[] = [
  {
    name: 'an entry above a newer leader’s start has effect',
    file: 'payload/wal/wal-history.ts',
    find: 'compareBallots(leadership, newestStart) >= 0',
    instead: 'true',
    needsStory: true,
  },
  {
    name: 'a range has effect wherever it begins',
    file: 'payload/wal/wal-history.ts',
    find: 'range.start !== position.end',
    instead: 'false',
    needsStory: true,
  },
  {
    name: 'the directory of a primary is a standby’s though others went another way',
    file: 'payload/wal/judge-directory.ts',
    find: 'ownEnd <= left',
    instead: 'true',
  },
  {
    name: 'a timeline’s number is not the log’s next one',
    file: 'payload/wal/life/standby-phase.ts',
    find: 'position.timeline + 1',
    instead: 'position.timeline + 2',
  },
  {
    name: 'the directory does not say that it is promoted',
    file: 'payload/wal/life/standby-phase.ts',
    find: "context.save({ kind: 'promoting', leadership: ballot }, begun)",
    instead: "context.save({ kind: 'standby' }, begun)",
  },
  {
    name: 'a new leader waits for part of a record to be replayed',
    file: 'payload/wal/life/standby-phase.ts',
    find: 'await lastWholeRecord(wal, wal.position)',
    instead: 'wal.position.end',
    needsStory: true,
  },
  {
    name: 'a new primary serves before what it recovered is chosen',
    file: 'payload/wal/life/primary-phase.ts',
    find: 'barriers.pass()',
    instead: 'Promise.resolve()',
  },
  {
    name: 'what a client in doubt is told does not heed used ids',
    file: 'replica/serving/outcomes.ts',
    find: 'xid >= ending.nextXid',
    instead: 'false',
  },
  {
    name: 'answers do not wait after an ended wait',
    file: 'replica/serving/answer-gate.ts',
    find: 'server.endedWaits() === this.cleared',
    instead: 'this.cleared >= 0',
  },
  {
    name: 'a leadership goes on when its primary ended before it began',
    file: 'payload/wal/life/written-phase.ts',
    find: 'context.leads(ballot)',
    instead: 'false',
  },
  {
    name: 'a database that the log does not reach back to is started',
    file: 'payload/wal/life/inspect-phase.ts',
    find: 'options.logReaches(position.slot)',
    instead: 'true',
    needsStory: true,
  },
  {
    name: 'what a standby has beyond a fork counts as flushed of the next timeline',
    file: 'payload/wal/life/standby-progress.ts',
    find: 'this.flushedTo > at',
    instead: 'false',
    needsStory: true,
  },
  {
    name: 'a primary is not told what is chosen',
    file: 'payload/wal/shipper.ts',
    find: 'until <= this.released',
    instead: 'true',
  },
];

/** Each expression, and what stands in its place while `globalThis.plantedBug` is that name. */
export function payloadMutations(): Mutation[] {
  return payloadBugs.map(({ name, file, find, instead }) => ({
    file,
    find,
    replace: `(globalThis.plantedBug === ${JSON.stringify(name)} ? (${instead}) : (${find}))`,
  }));
}
