import { describe, expect, it } from 'vitest';
import type { Lsn } from '../../../wal/lsn.ts';
import { RememberedSizes, type FileSize } from './remembered-sizes.ts';

const lsn = (value: number): Lsn => value as Lsn;
const file = (name: string, pages: number): FileSize => ({ path: `base/5/${name}`, pages });

function round(
  sizes: RememberedSizes,
  files: readonly FileSize[],
  { database = 5, at = 100, redo = 50 } = {},
): void {
  sizes.beginRound(database, { at: lsn(at), redo: lsn(redo) });
  sizes.take(database, files);
  sizes.endRound(database);
}

const decode = (text: string, { of = 'this', at = 500, filesMax = 10 } = {}): RememberedSizes =>
  RememberedSizes.decode(text, { of, at: lsn(at), filesMax });

describe('remembered sizes', () => {
  it('tell files that have fewer pages than in the last whole round, and from where on that must be explained', () => {
    const sizes = new RememberedSizes(10);
    round(sizes, [file('1', 3), file('2', 4)]);
    const found = sizes.shorter(5, [file('1', 3), file('2', 3), file('3', 0)]);
    expect(found).toEqual([{ path: 'base/5/2', pages: 3, before: 4, from: 100 }]);
    expect(sizes.shorter(6, [file('2', 3)])).toEqual([]);
  });

  it('count from the beginning of a round on, and only once it has ended', () => {
    const sizes = new RememberedSizes(10);
    round(sizes, [file('1', 3)]);
    sizes.beginRound(5, { at: lsn(200), redo: lsn(150) });
    sizes.take(5, [file('1', 2)]);
    expect(sizes.shorter(5, [file('1', 2)])).toMatchObject([{ before: 3, from: 100 }]);
    sizes.endRound(5);
    expect(sizes.shorter(5, [file('1', 2)])).toEqual([]);
    expect(sizes.shorter(5, [file('1', 1)])).toMatchObject([{ before: 2, from: 200 }]);
  });

  it('forget a file that a whole round has not met, and a database that was not looked at between two listings', () => {
    const sizes = new RememberedSizes(10);
    round(sizes, [file('1', 3), file('2', 4)]);
    round(sizes, [file('1', 3)], { at: 200 });
    expect(sizes.shorter(5, [file('2', 1)])).toEqual([]);
    sizes.beginCycle();
    expect(sizes.files).toBe(1);
    round(sizes, [file('1', 3)], { database: 6 });
    sizes.beginCycle();
    expect(sizes.shorter(5, [file('1', 1)])).toEqual([]);
    expect(sizes.shorter(6, [file('1', 1)])).toHaveLength(1);
  });

  it('take no file of another database, nor of a round that was broken off by a new listing', () => {
    const sizes = new RememberedSizes(10);
    sizes.beginRound(5, { at: lsn(1), redo: lsn(1) });
    sizes.take(6, [file('1', 3)]);
    sizes.endRound(6);
    sizes.beginRound(5, { at: lsn(1), redo: lsn(1) });
    sizes.beginCycle();
    sizes.take(5, [file('1', 3)]);
    sizes.endRound(5);
    expect(sizes.files).toBe(0);
  });

  it('are bounded over all databases', () => {
    const sizes = new RememberedSizes(3);
    const files = ['1', '2', '3', '4', '5'].map((name) => file(name, 2));
    round(sizes, files.slice(0, 2));
    round(sizes, files, { database: 6 });
    expect(sizes.files).toBe(3);
    round(sizes, files.slice(0, 2));
    expect(sizes.files).toBe(3);
    expect(decode(sizes.encode('this'), { filesMax: 2 }).files).toBe(2);
  });

  it('must be explained from the last checkpoint on after a restart', () => {
    const sizes = new RememberedSizes(10);
    round(sizes, [file('1', 3)]);
    round(sizes, [file('1', 2)], { database: 6, at: 120, redo: 130 });
    const text = sizes.encode('this');
    expect(decode(text).shorter(5, [file('1', 1)])).toMatchObject([{ before: 3, from: 50 }]);
    expect(decode(text).shorter(6, [file('1', 1)])).toMatchObject([{ before: 2, from: 120 }]);
    // Whoever has written it is gone, so that this is the first listing.
    const again = decode(text);
    again.beginCycle();
    expect(again.files).toBe(2);
  });

  it('are forgotten of another database, where WAL has gone back, and where they cannot be understood', () => {
    const sizes = new RememberedSizes(10);
    round(sizes, [file('1', 3)]);
    const text = sizes.encode('this');
    expect(decode(text).files).toBe(1);
    for (const other of [
      decode(text, { of: 'that' }),
      decode(text, { at: 49 }),
      decode(text.slice(0, -1)),
      decode(text.replace('"version":1', '"version":2')),
      decode(text.replace('"base/5/1":3', '"base/5/1":-3')),
    ])
      expect(other.files).toBe(0);
  });
});
