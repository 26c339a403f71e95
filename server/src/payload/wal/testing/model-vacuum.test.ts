import { describe, expect, it } from 'vitest';
import { Random } from '../../../ports/testing/random.ts';
import type { Lsn, Timeline } from '../../../wal/lsn.ts';
import { ModelBuffers } from './model-buffers.ts';
import { ModelDisk, nothingSettled } from './model-disk.ts';
import type { ModelChange } from './model-records.ts';
import { vacuumed } from './model-vacuum.ts';

describe('the rows that stay on a page', () => {
  const [committed, aborted, open] = [1n, 2n, 9n];
  const isCommitted = (xid: bigint): boolean => xid === committed;
  const left = (...rows: (readonly [bigint, string | null])[]): readonly (string | null)[] =>
    vacuumed(
      rows.map(([xid, value]) => ({ xid, value })),
      5n,
      isCommitted,
    ).map(({ value }) => value);

  it('are not those of transactions that were aborted', () => {
    expect(left([committed, 'a'], [aborted, 'b'], [open, 'c'])).toEqual(['a', 'c']);
  });

  it('are those behind a drop, if it was committed and everybody sees that', () => {
    expect(left([committed, 'a'], [committed, null], [committed, 'b'])).toEqual(['b']);
    expect(left([committed, 'a'], [aborted, null], [committed, 'b'])).toEqual(['a', 'b']);
    expect(left([committed, 'a'], [open, null], [committed, 'b'])).toEqual(['a', null, 'b']);
  });
});

function emptyDisk(): ModelDisk {
  const disk = new ModelDisk();
  const redo = { redo: 1 as Lsn, nextXid: 10n, running: [] };
  const [timeline, mustReach] = [1 as Timeline, 0 as Lsn];
  disk.control = { system: 1n, timeline, redo, redoTimeline: timeline, mustReach, settled: nothingSettled };
  return disk;
}

it('a page that was emptied while a checkpoint is made, and written anew meanwhile, is on the disk as it was written last', () => {
  const disk = emptyDisk();
  const buffers = new ModelBuffers(disk);
  const everything = 1_000 as Lsn;
  buffers.apply({ kind: 'row', xid: 10n, key: 'k', value: 'old' }, 10 as Lsn);
  buffers.apply({ kind: 'drop', xid: 10n, key: 'k' }, 20 as Lsn);
  buffers.apply({ kind: 'commit', xid: 10n }, 30 as Lsn);
  buffers.apply({ kind: 'vacuum', horizon: 11n, outcomesFrom: 0n, commitsFrom: 0 as Lsn }, 40 as Lsn);
  expect(buffers.keys()).toEqual([]);
  const write = buffers.capture();
  buffers.apply({ kind: 'row', xid: 11n, key: 'k', value: 'new' }, 50 as Lsn);
  buffers.apply({ kind: 'commit', xid: 11n }, 60 as Lsn);
  const random = new Random(1);
  for (let times = 0; times < 50; times++) buffers.writeSome(random, everything);
  write();
  expect(disk.pages.get('k')?.rows).toEqual([{ xid: 11n, value: 'new' }]);
});

it('rows of a transaction that was aborted stay away, if a crash comes between the pages of a checkpoint and its note', () => {
  const disk = emptyDisk();
  const changes: readonly (readonly [ModelChange, Lsn])[] = [
    [{ kind: 'row', xid: 10n, key: 'k', value: 'aborted' }, 10 as Lsn],
    [{ kind: 'abort', xid: 10n }, 20 as Lsn],
    [{ kind: 'vacuum', horizon: 11n, outcomesFrom: 11n, commitsFrom: 0 as Lsn }, 30 as Lsn],
  ];
  const buffers = new ModelBuffers(disk);
  for (const [change, end] of changes) buffers.apply(change, end);
  buffers.capture()();
  const recovered = new ModelBuffers(disk);
  for (const [change, end] of changes) recovered.apply(change, end);
  expect(recovered.list('k', () => true)).toEqual([]);
});
