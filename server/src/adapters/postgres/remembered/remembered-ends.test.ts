import { describe, expect, it } from 'vitest';
import type { Lsn } from '../../../wal/lsn.ts';
import { pageBytes } from '../copy/page.ts';
import { RememberedEnds, transactionLogs, type CheckpointFacts, type LogFile } from './remembered-ends.ts';

const lsn = (value: number): Lsn => value as Lsn;
const perPage = transactionLogs.pg_xact.numbers;
const page = (byte: number): Buffer => Buffer.alloc(pageBytes, byte);

/** `settled`: in pages of each log. */
function checkpoint(redo: number, settled: number, next = settled): CheckpointFacts {
  return {
    redo: lsn(redo),
    next: next * perPage,
    settled: {
      pg_xact: settled * perPage,
      'pg_multixact/offsets': settled * transactionLogs['pg_multixact/offsets'].numbers,
      'pg_multixact/members': settled * transactionLogs['pg_multixact/members'].numbers,
    },
  };
}

const files = (...pages: number[]): LogFile[] => pages.map((count, file) => ({ file, pages: count }));

/** 01 is a commit, 10 a rollback, 11 a part of something that has not ended. */
const one = { running: 0b00, committed: 0b01, rolledBack: 0b10, part: 0b11 } as const;
type End = keyof typeof one;

describe('remembered ends of transactions', () => {
  it.each<[End, End, boolean]>([
    ['running', 'committed', true],
    ['running', 'rolledBack', true],
    ['running', 'part', true],
    ['part', 'committed', true],
    ['part', 'rolledBack', true],
    ['committed', 'committed', true],
    ['committed', 'running', false],
    ['committed', 'rolledBack', false],
    ['committed', 'part', false],
    ['rolledBack', 'rolledBack', true],
    ['rolledBack', 'running', false],
    ['rolledBack', 'committed', false],
    ['rolledBack', 'part', false],
  ])('in the newest pages: what was %s may be %s later: %s', (before, now, can) => {
    for (const shift of [0, 2, 4, 6]) {
      const ends = new RememberedEnds();
      ends.takeGrowing(new Map([[0, page(one[before] << shift)]]), lsn(1));
      expect([shift, ends.isGrowingPage(0, page(one[now] << shift))]).toEqual([shift, can]);
    }
  });

  it('miss a page that its file does not reach any more', () => {
    const ends = new RememberedEnds();
    ends.begin(checkpoint(1, 1), lsn(1));
    ends.begin(checkpoint(2, 2), lsn(1));
    ends.takeSettled('pg_xact', 0, page(1));
    ends.takeGrowing(new Map([[2, page(1)]]), lsn(1));
    expect(ends.plan('pg_xact', files(1))).toEqual({ settled: [0], growing: [0, 2] });
    expect(ends.isGrowingPage(2, null)).toBe(false);
    expect(ends.isSettledPage('pg_xact', 0, null)).toBe(false);
  });

  it('have a page settled by the checkpoint before the last one, and by no other', () => {
    const ends = new RememberedEnds();
    ends.begin(checkpoint(1, 1), lsn(1));
    expect(ends.plan('pg_xact', files(4)).settled).toEqual([]);
    ends.begin(checkpoint(1, 1), lsn(1));
    expect(ends.plan('pg_xact', files(4)).settled).toEqual([]);
    ends.begin(checkpoint(2, 3), lsn(1));
    expect(ends.plan('pg_xact', files(4)).settled).toEqual([0]);
    expect(ends.plan('pg_multixact/offsets', files(4)).settled).toEqual([0]);
    ends.begin(checkpoint(3, 4), lsn(1));
    expect(ends.plan('pg_multixact/members', files(4)).settled).toEqual([0, 1, 2]);
  });

  it('do not take a page for settled where a checkpoint does not tell which transactions were open', () => {
    const ends = new RememberedEnds();
    ends.begin({ ...checkpoint(1, 3), settled: { ...checkpoint(1, 3).settled, pg_xact: null } }, lsn(1));
    ends.begin(checkpoint(2, 3), lsn(1));
    expect(ends.plan('pg_xact', files(4)).settled).toEqual([]);
    expect(ends.plan('pg_multixact/offsets', files(4)).settled).toEqual([0, 1, 2]);
  });

  it('let nothing change in a settled page', () => {
    const ends = new RememberedEnds();
    expect(ends.isSettledPage('pg_multixact/offsets', 0, page(1))).toBe(true);
    ends.takeSettled('pg_multixact/offsets', 0, page(1));
    expect(ends.isSettledPage('pg_multixact/offsets', 0, page(1))).toBe(true);
    expect(ends.isSettledPage('pg_multixact/offsets', 0, page(3))).toBe(false);
    expect(ends.isSettledPage('pg_multixact/members', 0, page(3))).toBe(true);
  });

  it('look at 64 settled pages at once, at the next ones the next time, and at the newest 32 each time', () => {
    const ends = new RememberedEnds();
    ends.begin(checkpoint(1, 100), lsn(1));
    ends.begin(checkpoint(2, 100), lsn(1));
    const all = files(32, 32, 32, 10);
    const first = ends.plan('pg_xact', all);
    expect([first.settled[0], first.settled.at(-1), first.settled.length]).toEqual([0, 63, 64]);
    expect([first.growing[0], first.growing.at(-1), first.growing.length]).toEqual([74, 105, 32]);
    const second = ends.plan('pg_xact', all);
    expect([second.settled[0], second.settled.at(-1)]).toEqual([64, 99]);
    expect(ends.plan('pg_xact', all).settled[0]).toBe(0);
  });

  it('know the newest pages where numbers begin anew', () => {
    const ends = new RememberedEnds();
    const last = 2 ** 32 / perPage - 1;
    ends.begin(checkpoint(1, last - 1), lsn(1));
    ends.begin(checkpoint(2, last), lsn(1));
    const { settled, growing } = ends.plan('pg_xact', [
      { file: 0, pages: 2 },
      { file: Math.floor(last / 32), pages: 32 },
    ]);
    expect(growing.slice(-3)).toEqual([last, 0, 1]);
    expect([settled[0], settled.at(-1)]).toEqual([last - 31, last - 2]);
  });

  it('look at the newest 256 files of a log, also where numbers begin anew', () => {
    const ends = new RememberedEnds();
    const last = 2 ** 32 / perPage / 32 - 1;
    ends.begin(checkpoint(1, 32 * 10), lsn(1));
    const all = [
      ...Array.from({ length: 11 }, (_, file) => file),
      ...Array.from({ length: 400 }, (_, n) => last - n),
    ];
    const newest = ends.newestFiles('pg_xact', all);
    expect([newest.length, newest[0], newest.at(-1)]).toEqual([256, last - 244, 10]);
    expect(ends.newestFiles('pg_xact', [3, 1])).toEqual([3, 1]);
  });

  it('forget the pages of a file that is gone', () => {
    const ends = new RememberedEnds();
    ends.begin(checkpoint(1, 40), lsn(1));
    ends.takeSettled('pg_xact', 0, page(1));
    ends.takeSettled('pg_xact', 32, page(1));
    expect(ends.plan('pg_xact', [{ file: 1, pages: 8 }]).settled).toEqual([32]);
    expect(ends.pages).toBe(1);
    expect(ends.isSettledPage('pg_xact', 0, page(2))).toBe(true);
  });

  it('outlast a restart; the newest pages count once the WAL is where it was', () => {
    const before = new RememberedEnds();
    before.takeSettled('pg_xact', 3, page(1));
    before.takeGrowing(new Map([[7, page(0b1001)]]), lsn(200));
    const ends = RememberedEnds.decode(before.encode('this'), 'this');
    expect(ends.isSettledPage('pg_xact', 3, page(2))).toBe(false);
    expect(ends.begin(checkpoint(1, 1), lsn(199))).toBe(false);
    expect(ends.begin(checkpoint(1, 1), lsn(200))).toBe(true);
    expect(ends.isGrowingPage(7, page(0))).toBe(false);
    // The rollback beside it may not have been flushed.
    expect(ends.isGrowingPage(7, page(0b0001))).toBe(true);
    expect(ends.isGrowingPage(7, page(0b1000))).toBe(false);
    expect(ends.encode('this')).toBe(before.encode('this'));
  });

  it.each([
    ['another database', (text: string) => text, 'other'],
    ['no JSON', (text: string) => text.slice(1), 'this'],
    ['a page that is too short', (text: string) => text.replace('AQEB', ''), 'this'],
    ['another version', (text: string) => text.replace('"version":1', '"version":2'), 'this'],
  ])('remember nothing of %s', (_what, change, of) => {
    const before = new RememberedEnds();
    before.takeSettled('pg_xact', 3, page(1));
    before.takeGrowing(new Map([[7, page(1)]]), lsn(200));
    const ends = RememberedEnds.decode(change(before.encode('this')), of);
    expect([ends.pages, ends.isGrowingPage(7, page(0)), ends.begin(checkpoint(1, 1), lsn(1))]).toEqual([
      0,
      true,
      true,
    ]);
  });
});
