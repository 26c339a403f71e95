/**
 * PostgreSQL's pages of 8 KB, as far as copying needs to know them: the position of the last record that changed one, its checksum, whether it is empty, and what a page of a sequence looks like.
 *
 * Pure. Little-endian, as every platform is that Barista has binaries for. The checksum is PostgreSQL's own (storage/checksum): 32 sums of FNV-1a side by side, folded to 16 bits, so it finds a page that was
 * written half with 65,535 chances in 65,536. About 5 us a page.
 */
import type { Lsn } from '../../../wal/lsn.ts';

export const pageBytes = 8192;
/** Pages of one file of a relation; the next ones are in a file whose name ends in `.1`, and so on. */
export const segmentPages = 131_072;

const words = pageBytes / 4;
const lanes = 32;
/** pd_checksum stands in the lower half of the third word, and counts as zero. */
const checksumWord = 2;
const prime = 16_777_619;
const seeds = new Int32Array([
  0x5b1f36e9, 0xb8525960, 0x02ab50aa, 0x1de66d2a, 0x79ff467a, 0x9bb9f8a3, 0x217e7cd2, 0x83e13d2c, 0xf8d4474f,
  0xe39eb970, 0x42c6ae16, 0x993216fa, 0x7b093b5d, 0x98daff3c, 0xf718902a, 0x0b1c9cdb, 0xe58f764b, 0x187636bc,
  0x5d7b3bb1, 0xe73de7de, 0x92bec979, 0xcca6c0b2, 0x304a0979, 0x85aa43d4, 0x783125bb, 0x6ca8eaa2, 0xe407eac6,
  0x4b5cfc3e, 0x9fbf8c76, 0x15ca20be, 0xf2ca9fd3, 0x959bd756,
]);

const copyOfPage = new Int32Array(words);
const copyBytes = Buffer.from(copyOfPage.buffer);
const sums = new Int32Array(lanes);

/** What stands in the page's header if the page is whole. `at`: where the page begins in `bytes`. `block`: its number in the relation, counted over all of its files. */
export function pageChecksum(bytes: Buffer, at: number, block: number): number {
  // Numbers of 32 bits are read from a buffer that certainly begins where they may.
  bytes.copy(copyBytes, 0, at, at + pageBytes);
  copyOfPage[checksumWord]! &= 0xffff_0000;
  sums.set(seeds);
  for (let row = 0; row < words; row += lanes) {
    for (let lane = 0; lane < lanes; lane += 1) {
      const mixed = sums[lane]! ^ copyOfPage[row + lane]!;
      sums[lane] = Math.imul(mixed, prime) ^ (mixed >>> 17);
    }
  }
  let result = 0;
  for (let lane = 0; lane < lanes; lane += 1) {
    const once = Math.imul(sums[lane]!, prime) ^ (sums[lane]! >>> 17);
    result ^= Math.imul(once, prime) ^ (once >>> 17);
  }
  return (((result ^ block) >>> 0) % 65_535) + 1;
}

/** Where the record ends that changed the page last, but for hints; 0 in a page that was never changed by one. */
export function pageLsn(bytes: Buffer, at: number): Lsn {
  return (bytes.readUInt32LE(at) * 2 ** 32 + bytes.readUInt32LE(at + 4)) as Lsn;
}

/** A page that was added to a file and not used yet. */
export function isZeroPage(bytes: Buffer, at: number): boolean {
  return bytes.compare(zeros, 0, pageBytes, at, at + pageBytes) === 0;
}

const zeros = Buffer.alloc(pageBytes);

/** False if the page was written only in part, or its disk has changed it. */
export function isWholePage(bytes: Buffer, at: number, block: number): boolean {
  // Without a beginning of its free space it is new, or nothing.
  if (bytes.readUInt16LE(at + upperAt) === 0) return isZeroPage(bytes, at);
  return bytes.readUInt16LE(at + checksumAt) === pageChecksum(bytes, at, block);
}

const checksumAt = 8;
const upperAt = 14;
const specialAt = 16;
const sequenceMagic = 0x1717;
const sequenceSpecial = pageBytes - 8;

/** True of every page of a sequence, and now and then of another. */
export function looksLikeSequence(bytes: Buffer, at: number): boolean {
  return (
    bytes.readUInt16LE(at + specialAt) === sequenceSpecial &&
    bytes.readUInt32LE(at + sequenceSpecial) === sequenceMagic
  );
}
