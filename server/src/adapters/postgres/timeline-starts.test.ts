import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { formatLsn, historyName, segmentBytes, segmentName, type Lsn, type Timeline } from '../../wal/lsn.ts';
import { writeWal } from '../../wal/record/testing/synthetic-wal.ts';
import { completeTimelineStarts } from './timeline-starts.ts';

const start = (3 * segmentBytes) as Lsn;
const [one, two, three] = [1, 2, 3] as [Timeline, Timeline, Timeline];
const wal = writeWal(start, [
  { kind: 'record', mainBytes: 100 },
  { kind: 'record', mainBytes: 20_000 },
  { kind: 'record', mainBytes: 50 },
  { kind: 'record', mainBytes: 70 },
]);
const forks = wal.records.map(({ end }) => end);
const fork = forks[2]!;

let data = '';
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'barista-timelines-'));
  mkdirSync(join(data, 'pg_wal'));
});
afterEach(() => rmSync(data, { recursive: true }));

/** What the file has up to here, and then what it had when it was another segment's. */
function writeSegment(timeline: Timeline, to: Lsn): void {
  const file = Buffer.alloc(128 * 1024, 'used before');
  file.set(wal.bytes.subarray(0, to - start));
  writeFileSync(join(data, 'pg_wal', segmentName(timeline, start)), file);
}

function writeHistory(timeline: Timeline, ...lines: readonly (readonly [Timeline, Lsn])[]): void {
  const text = lines.map(([left, at]) => `${left}\t${formatLsn(at)}\tanother leader\n`).join('');
  writeFileSync(join(data, 'pg_wal', historyName(timeline)), text);
}

function has(timeline: Timeline, to: Lsn): boolean {
  const file = readFileSync(join(data, 'pg_wal', segmentName(timeline, start)));
  expect(file.subarray(to - start, to - start + 22).toString()).toMatch(/used before/);
  return file.subarray(0, to - start).equals(wal.bytes.subarray(0, to - start));
}

it.each([
  ['within the first record', (start + 48) as Lsn],
  ['within a record over several pages', (start + 9_000) as Lsn],
  ['at the end of a record', forks[1]!],
])('a segment that was received to %s is completed up to the fork', async (_where, to) => {
  writeSegment(one, forks[3]!);
  writeSegment(two, to);
  writeHistory(two, [one, fork]);
  await completeTimelineStarts(data);
  expect(has(two, fork)).toBe(true);
  expect(has(one, forks[3]!)).toBe(true);
});

it('what is completed is what the next timeline is completed with', async () => {
  writeSegment(one, forks[0]!);
  writeSegment(two, (start + 48) as Lsn);
  writeSegment(three, (start + 64) as Lsn);
  writeHistory(two, [one, forks[0]!]);
  writeHistory(three, [one, forks[0]!], [two, forks[0]!]);
  await completeTimelineStarts(data);
  expect([has(two, forks[0]!), has(three, forks[0]!)]).toEqual([true, true]);
});

it('a timeline that was left where it began has nothing that another could begin with', async () => {
  writeSegment(one, forks[3]!);
  writeSegment(three, (start + 64) as Lsn);
  writeHistory(three, [one, fork], [two, fork]);
  await completeTimelineStarts(data);
  expect(has(three, fork)).toBe(true);
});

it('only those that may have been received since are looked at, where that is known', async () => {
  writeSegment(one, forks[0]!);
  writeSegment(two, (start + 48) as Lsn);
  writeHistory(two, [one, forks[0]!]);
  expect(await completeTimelineStarts(data, three)).toBe(true);
  expect(has(two, forks[0]!)).toBe(false);
  expect(await completeTimelineStarts(data, two)).toBe(true);
  expect(has(two, forks[0]!)).toBe(true);
  rmSync(join(data, 'pg_wal'), { recursive: true });
  expect(await completeTimelineStarts(data)).toBe(false);
});

it('nothing is taken from an older file that ends below the fork', async () => {
  writeSegment(one, forks[1]!);
  writeSegment(two, forks[3]!);
  writeHistory(two, [one, fork]);
  await completeTimelineStarts(data);
  expect(has(two, forks[3]!)).toBe(true);
  writeSegment(two, forks[0]!);
  await completeTimelineStarts(data);
  expect(has(two, forks[0]!)).toBe(true);
});

it.each([
  ['without the older file', (): void => rmSync(join(data, 'pg_wal', segmentName(one, start)))],
  ['without a history', (): void => rmSync(join(data, 'pg_wal', historyName(two)))],
])('%s everything stays as it is', async (_what, remove) => {
  writeSegment(one, forks[3]!);
  writeSegment(two, forks[0]!);
  writeHistory(two, [one, fork]);
  remove();
  await completeTimelineStarts(data);
  expect(has(two, forks[0]!)).toBe(true);
});

it('a timeline that begins with a segment has nothing of the one before', async () => {
  const before = (start - segmentBytes) as Lsn;
  writeFileSync(join(data, 'pg_wal', segmentName(one, before)), '');
  writeSegment(two, forks[0]!);
  writeHistory(two, [one, start]);
  await completeTimelineStarts(data);
  expect(has(two, forks[0]!)).toBe(true);
});

it.each([
  [
    'a history that is none',
    (): void => writeFileSync(join(data, 'pg_wal', historyName(two)), '1\tnowhere\n'),
  ],
  ['no pg_wal', (): void => rmSync(join(data, 'pg_wal'), { recursive: true })],
])('%s is for PostgreSQL to judge', async (_what, damage) => {
  writeSegment(one, forks[3]!);
  writeSegment(two, forks[0]!);
  writeHistory(two, [one, fork]);
  damage();
  await expect(completeTimelineStarts(data)).resolves.toBe(false);
});
