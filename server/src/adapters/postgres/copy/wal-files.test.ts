import { describe, expect, it } from 'vitest';
import { type Lsn, segmentBytes, type Timeline, walPageBytes } from '../../../wal/lsn.ts';
import { positionNone, type WalPosition } from '../../../wal/position.ts';
import { encodeRecord } from '../../../wal/record/testing/encode-record.ts';
import { bytesToCopy, keepChosen, walFilesFrom } from './wal-files.ts';

const MiB = 1024 * 1024;
const at = (mebibytes: number): Lsn => (mebibytes * MiB) as Lsn;
const forks = [
  { timeline: 2 as Timeline, at: at(20) },
  { timeline: 3 as Timeline, at: at(20) },
  { timeline: 4 as Timeline, at: at(48) },
];

function position(end: Lsn, timeline = 4): WalPosition {
  return { ...positionNone, timeline: timeline as Timeline, end, forks: forks.slice(0, timeline - 1) };
}

describe('the files of the chosen WAL', () => {
  it('are those of the newest timeline in each segment, up to the end', () => {
    expect(
      walFilesFrom(at(3), position(at(70))).map(({ name, start, end }) => [name, start / MiB, end / MiB]),
    ).toEqual([
      ['000000010000000000000000', 0, 16],
      ['000000030000000000000001', 16, 32],
      ['000000030000000000000002', 32, 48],
      ['000000040000000000000003', 48, 64],
      ['000000040000000000000004', 64, 70],
    ]);
  });

  it('are of the older one where nothing is chosen beyond a fork', () => {
    expect(walFilesFrom(at(17), position(at(20), 3)).map(({ name, end }) => [name, end / MiB])).toEqual([
      ['000000010000000000000001', 20],
    ]);
    expect(walFilesFrom(at(40), position(at(48))).map(({ name }) => name)).toEqual([
      '000000030000000000000002',
    ]);
    expect(walFilesFrom(at(48), position(at(48)))).toEqual([]);
  });
});

/** Pages with headers that say where they stand. */
function pagesFrom(start: Lsn, bytes: number): Buffer {
  const pages = Buffer.alloc(bytes, 5);
  for (let i = 0; i < bytes; i += walPageBytes) pages.writeBigUInt64LE(BigInt(start + i), i + 8);
  return pages;
}

describe('a file of WAL', () => {
  const [file] = walFilesFrom(at(64), position((at(64) + 3 * walPageBytes + 100) as Lsn));

  it('is cut where what is chosen ends: zeros follow', () => {
    expect(bytesToCopy(file!)).toBe(4 * walPageBytes);
    const pages = pagesFrom(at(64), 4 * walPageBytes);
    const before = Buffer.from(pages);
    keepChosen(file!)(pages, 0);
    const end = 3 * walPageBytes + 100;
    expect(pages.subarray(0, end).equals(before.subarray(0, end))).toBe(true);
    expect(pages.subarray(end).every((byte) => byte === 0)).toBe(true);
    expect(bytesToCopy(walFilesFrom(at(0), position(at(70)))[0]!)).toBe(segmentBytes);
  });

  it('has zeros behind a switch of segments, whatever the file held before', () => {
    const [whole] = walFilesFrom(at(32), position(at(48)));
    const place = { at: at(32), previous: (at(32) - 100) as Lsn, timeline: 3 as Timeline, system: 7n };
    // Two pages, and some.
    const filler = encodeRecord(place, { manager: 0, info: 0x20, xid: 0n, main: Buffer.alloc(20_000) });
    const after = { ...place, at: filler.end, previous: filler.start };
    const end = encodeRecord(after, { manager: 0, info: 0x40, xid: 0n, main: Buffer.alloc(0) });
    const wal = Buffer.concat([filler.bytes, end.bytes]);
    const old = pagesFrom(at(16), 8 * walPageBytes);
    wal.copy(old);
    const restAt = Math.ceil(wal.length / walPageBytes) * walPageBytes;
    for (const cut of [walPageBytes, restAt, old.length]) {
      const pages = Buffer.from(old);
      const keep = keepChosen(whole!);
      keep(pages.subarray(0, cut), 0);
      keep(pages.subarray(cut), cut);
      expect(pages.subarray(0, restAt).equals(old.subarray(0, restAt))).toBe(true);
      expect(pages.subarray(restAt).every((byte) => byte === 0)).toBe(true);
    }
    // Without the switch it is no WAL of this place.
    const broken = Buffer.from(old);
    filler.bytes.copy(broken);
    broken.fill(0, filler.bytes.length, restAt);
    expect(() => keepChosen(whole!)(broken, 0)).toThrow(/is not in 000000030000000000000002/);
  });

  it('that was used again for other WAL is told from it, and the zeros after a switch are not', () => {
    const other = pagesFrom(at(32), 4 * walPageBytes);
    expect(() => keepChosen(file!)(other, 0)).toThrow(/0\/4000000 is not in 000000040000000000000004/);
    const switched = pagesFrom(at(64), 4 * walPageBytes);
    switched.fill(0, walPageBytes);
    keepChosen(file!)(switched, 0);
    const second = pagesFrom((at(64) + walPageBytes) as Lsn, walPageBytes);
    keepChosen(file!)(second, walPageBytes);
    expect(second.readUInt8(100)).toBe(5);
  });
});
