import { expect, it } from 'vitest';
import type { Lsn } from '../../../wal/lsn.ts';
import { StandbyFlushes } from './standby-flushes.ts';

function after(...reports: readonly (readonly [written: number, flushed: number, atMs: number])[]) {
  const flushes = new StandbyFlushes();
  for (const [written, flushed, atMs] of reports)
    flushes.take({ written: written as Lsn, flushed: flushed as Lsn }, atMs);
  return [flushes.count, flushes.ms];
}

it('a flush lasts from the report of what is written to that of its being flushed', () => {
  expect(after([10, 0, 5], [10, 10, 2005])).toEqual([1, 2000]);
  expect(after([10, 0, 5], [20, 0, 6], [20, 10, 8], [20, 20, 18])).toEqual([2, 13]);
});

it('a report of what is flushed already, or that comes twice, counts for nothing', () => {
  expect(after([10, 10, 5], [10, 10, 7])).toEqual([0, 0]);
  expect(after([10, 0, 5], [10, 10, 6], [10, 10, 99])).toEqual([1, 1]);
});

it('what was under way over an earlier connection is not counted', () => {
  const flushes = new StandbyFlushes();
  flushes.take({ written: 10 as Lsn, flushed: 0 as Lsn }, 5);
  flushes.begin();
  flushes.take({ written: 20 as Lsn, flushed: 20 as Lsn }, 9000);
  expect(flushes.count).toBe(0);
});
