import { describe, expect, test } from 'vitest';
import type { RangeContent, RelationName, WalChange } from '../../../server/src/api/wal-summary.ts';
import type { WalStatus } from '../../../server/src/api/status.ts';
import { walBarHeight } from '../layout/wal-bar.ts';
import { describeEvent, isRoutine, slotsOf, weightOf } from './event-text.ts';
import {
  describeContent,
  describeCounts,
  describeCuts,
  describeFile,
  describeRows,
  joinStatements,
  sortChanges,
} from './slot-text.ts';
import { ballot, other } from './testing.ts';
import { formatLsn, parseLsn } from './wal-position.ts';
import { walView } from './wal-view.ts';

describe('a position in the WAL', () => {
  test('reads as PostgreSQL writes it, both ways', () => {
    for (const text of ['0/0', '0/3000060', '1A/3B4C5D60', 'FFFF/0'])
      expect(formatLsn(parseLsn(text)!)).toBe(text);
    expect(formatLsn(2 ** 32)).toBe('1/0');
    expect([parseLsn(''), parseLsn('0'), parseLsn('x/1'), parseLsn('123456789/0')]).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });
});

describe('a replica’s WAL', () => {
  const wal = (changes: Partial<WalStatus>): WalStatus => ({
    role: 'standby',
    timeline: 3,
    chosen: '0/3000800',
    flushed: '0/3000800',
    replayed: '0/3000800',
    unchosenBytes: 0,
    ...changes,
  });

  test('of a standby is all that it knows of, or behind by what it has not replayed', () => {
    expect(walView(wal({}), true)).toMatchObject({ role: 'standby', timeline: 't3', chosen: '0/3000800' });
    expect(walView(wal({}), true)?.gap).toMatchObject({
      name: 'Replayed',
      value: 'all it knows',
      isBehind: false,
    });
    expect(walView(wal({ replayed: '0/3000000' }), true)?.gap).toMatchObject({
      value: '2 KB behind',
      isBehind: true,
    });
    expect(walView(wal({ flushed: '0/3000400' }), true)?.gap.hint).toContain(
      'flushed up to 0/3000400 (−1 KB)',
    );
    // It has just been started.
    expect(walView(wal({ replayed: '0/0' }), true)?.gap).toMatchObject({ value: '–', isBehind: false });
  });

  test('of a primary is beyond what is chosen, or not', () => {
    expect(walView(wal({ role: 'primary', unchosenBytes: 300 }), true)?.gap).toMatchObject({
      name: 'Not chosen',
      value: '+300 B',
    });
    expect(walView(wal({ role: 'primary' }), true)?.gap.value).toBe('none');
    expect(walView(wal({ role: 'primary' }), false)?.gap).toMatchObject({ value: '–', isBehind: false });
  });

  test('says nothing while it is being copied, or while there is none', () => {
    expect(walView(wal({ role: 'copying' }), true)?.gap.value).toBe('–');
    expect(walView(null, true)).toBeNull();
  });
});

describe('a slot in words', () => {
  const change = (name: Partial<RelationName> | null, counts: Partial<WalChange> = {}): WalChange => ({
    tablespace: 1663,
    database: 5,
    relation: 20_000,
    name: name === null ? null : { name: 'orders', kind: 'table', table: null, isSystem: false, ...name },
    inserted: 0,
    updated: 0,
    deleted: 0,
    records: 1,
    ...counts,
  });

  test('tells rows, and of what has none, records', () => {
    expect(describeRows(change({}, { inserted: 1200, deleted: 1 }))).toBe('1,200 inserted, 1 deleted');
    expect(describeRows(change({}, { updated: 2, records: 9 }))).toBe('2 updated');
    expect(describeRows(change({}, { records: 1 }))).toBe('1 record');
    expect(describeFile(change(null))).toBe('file 20000');
  });

  test('puts tables first and counts the rest', () => {
    const index = change({ name: 'orders_pkey', kind: 'index', table: 'orders' });
    const catalog = change({ name: 'pg_class', isSystem: true });
    const unknownCatalog = change(null, { relation: 1259 });
    const { tables, rest } = sortChanges(
      [catalog, index, change({}), index, change(null), unknownCatalog],
      3,
    );
    expect(tables.map(describeFile)).toEqual(['orders', 'file 20000']);
    expect(rest).toBe('2 indexes, 2 of PostgreSQL’s own, 3 more');
    expect(sortChanges([change({})], 0).rest).toBeNull();
  });

  test('tells images and what belongs to other slots', () => {
    const content = {
      records: 1,
      images: 2,
      imageBytes: 4096,
      bytesBefore: 10,
      bytesAfter: 2048,
      bytes: 9000,
    } as RangeContent;
    expect(describeCounts(content)).toBe('1 record, 2 page images (4 KB)');
    expect(describeCuts(content)).toMatch(/^10 B at the beginning .*; 2 KB at the end .*\.$/);
    expect(describeCuts({ ...content, bytesBefore: 0, bytesAfter: 0 })).toBeNull();
    expect(describeCuts({ ...content, bytesBefore: 9000 })).toContain('part of one record');
  });

  test('says what holds no WAL', () => {
    const leadership = {
      kind: 'leadership',
      leadership: ballot(4, 'r2'),
      timeline: 3,
      fork: '0/3000060',
      nextXid: '823',
    } as const;
    expect(describeContent({ ...leadership, resumes: false })).toContain('Timeline 3 begins at 0/3000060');
    expect(describeContent({ ...leadership, resumes: true })).toContain('timeline 3 goes on at 0/3000060');
    expect(describeContent({ kind: 'members', version: 2, members: ['r1', 'r2'] })).toBe(
      'The members, version 2: r1, r2.',
    );
  });
});

test('statements are ended once', () => {
  expect(joinStatements(['BEGIN', ' UPDATE a SET b = 1;\n', 'COMMIT ;'])).toBe(
    'BEGIN;\nUPDATE a SET b = 1;\nCOMMIT ;',
  );
});

describe('an event about WAL', () => {
  const apply = (body: Readonly<Record<string, unknown>>) => other({ seq: 1 }, { layer: 'apply', ...body });
  const range = { timeline: 3, start: 0x3000000, end: 0x3000400 };

  test('is one line', () => {
    expect(describeEvent(apply({ name: 'Ship', label: 'a/1', ...range }))).toBe(
      '1 KB of WAL: 0/3000000 – 0/3000400, timeline 3 · a/1',
    );
    expect(describeEvent(apply({ name: 'CheckPrefix', outcome: 'parted', position: 0x3000400 }))).toBe(
      'others went another way · its WAL ends at 0/3000400',
    );
    expect(
      describeEvent(
        apply({ name: 'TellOutcome', xid: '9', leadership: ballot(2, 'r1'), outcome: 'unknown' }),
      ),
    ).toBe('transaction 9 of ballot 2·r1: nobody can tell');
  });

  test('names the slot that it is about, and none where a position is meant', () => {
    expect(slotsOf(apply({ name: 'Feed', slot: 9, ...range }))).toEqual({ from: 9, to: 9 });
    expect(slotsOf(apply({ name: 'FlushStandby', slot: 9, position: 1 }))).toBeNull();
    expect(slotsOf(apply({ name: 'Replay', flushed: 1, replayed: 1 }))).toBeNull();
  });

  test('stands out when a leadership begins or ends, or a wait does', () => {
    expect(
      ['BeginLeadership', 'Promote', 'Depose', 'EndWait', 'Feed'].map((name) => weightOf(apply({ name }))),
    ).toEqual(['notable', 'notable', 'alarming', 'alarming', 'plain']);
    expect(weightOf(apply({ name: 'CheckPrefix', outcome: 'parted' }))).toBe('alarming');
    expect(isRoutine(apply({ name: 'Replay', flushed: 1, replayed: 1 }))).toBe(true);
  });
});

test('a bar of WAL grows by doublings, between its bounds', () => {
  const heights = [1, 128, 256, 4096, 256 * 1024, 2 ** 30].map((bytes) => walBarHeight(bytes, 3, 20));
  expect(heights).toEqual([...heights].sort((a, b) => a - b));
  expect([heights[0], heights.at(-1)]).toEqual([3, 20]);
  expect(heights[3]).toBeGreaterThan(heights[2]!);
});
