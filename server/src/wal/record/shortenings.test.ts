import { describe, expect, it } from 'vitest';
import { segmentBytes, walPageBytes, type Lsn, type Timeline } from '../lsn.ts';
import { Shortenings } from './shortenings.ts';
import { encodeRecord, type NewRecord } from './testing/encode-record.ts';
import { beginWalkAt } from './walk-position.ts';
import { WalWalker } from './wal-walker.ts';

const start = (5 * segmentBytes) as Lsn;
const wanted = [
  { database: 5, relation: 16384 },
  { database: 5, relation: 16385 },
  { database: 7, relation: 16384 },
];
const [table, index, elsewhere] = wanted as [(typeof wanted)[0], (typeof wanted)[0], (typeof wanted)[0]];

function numbers(...values: readonly number[]): Uint8Array {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [i, value] of values.entries()) bytes.writeUInt32LE(value, 4 * i);
  return bytes;
}

const record = (manager: number, info: number, main: Uint8Array): NewRecord => ({
  manager,
  info,
  xid: 0n,
  main,
});
const truncation = (pages: number, { database = 5, relation = 16384, forks = 7 } = {}): NewRecord =>
  record(2, 0x20, numbers(pages, 1663, database, relation, forks));

/** What is found in these records, cut into pieces of so many bytes. */
function found(records: readonly NewRecord[], cut = walPageBytes): Shortenings {
  let [at, previous] = [start, start];
  const pieces: Buffer[] = [];
  for (const one of records) {
    const place = { at, previous, timeline: 1 as Timeline, system: 1n };
    const { bytes, end, start: begun } = encodeRecord(place, one);
    pieces.push(bytes);
    [at, previous] = [end, begun];
  }
  const wal = Buffer.concat(pieces);
  const shortenings = new Shortenings(wanted);
  const walker = new WalWalker(beginWalkAt(start), shortenings);
  for (let from = 0; from < wal.length; from += cut)
    expect(walker.add(wal.subarray(from, from + cut))).toBeNull();
  return shortenings;
}

describe('what WAL makes shorter', () => {
  it('is a file of which a truncation leaves as many pages as there are, or fewer', () => {
    const shortenings = found([truncation(9), truncation(4), truncation(6)]);
    expect([3, 4, 5, 9].map((pages) => shortenings.explains(table, pages))).toEqual([
      false,
      true,
      true,
      true,
    ]);
    expect(shortenings.explains(index, 9)).toBe(false);
    expect(shortenings.explains(elsewhere, 9)).toBe(false);
  });

  it('is found wherever the WAL is cut, and wherever a page ends', () => {
    for (let filler = 8000; filler < 8200; filler += 8)
      for (const cut of [13, 24, 25, 40, walPageBytes]) {
        const long = record(21, 0, new Uint8Array(filler));
        expect(found([long, truncation(4), long], cut).explains(table, 4)).toBe(true);
      }
  });

  it('is no other fork, no other relation, and nothing that looks like it', () => {
    const { main } = truncation(0);
    const shortenings = found([
      truncation(0, { forks: 6 }),
      truncation(0, { relation: 16386 }),
      truncation(0, { database: 6 }),
      record(2, 0x10, main),
      record(3, 0x20, main),
      record(2, 0x20, main.subarray(0, 16)),
    ]);
    expect(wanted.map((fork) => shortenings.explains(fork, 1_000))).toEqual([false, false, false]);
  });

  it('is each file of a database whose files are copied from those of another', () => {
    const shortenings = found([record(4, 0x00, numbers(5, 1663, 1, 1663)), record(4, 0x20, numbers(7, 1))]);
    expect(wanted.map((fork) => shortenings.explains(fork, 0))).toEqual([true, true, false]);
  });
});
