import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  isWholePage,
  isZeroPage,
  looksLikeSequence,
  pageBytes,
  pageChecksum,
  pageLsn,
  segmentPages,
} from './page.ts';

/** Three pages that PostgreSQL 18 wrote: of a table (block 2), of a B-tree (block 1), of a sequence (block 0). */
const pages = gunzipSync(readFileSync(new URL('goldens/pages.gz', import.meta.url)));
const [table, btree, sequence] = [0, 1, 2].map((n) => n * pageBytes) as [number, number, number];

describe("PostgreSQL's pages", () => {
  it('are whole by their checksums, each as the block that it is and no other', () => {
    expect(isWholePage(pages, table, 2)).toBe(true);
    expect(isWholePage(pages, btree, 1)).toBe(true);
    expect(isWholePage(pages, sequence, 0)).toBe(true);
    for (const block of [0, 1, 3, segmentPages + 2]) expect(isWholePage(pages, table, block)).toBe(false);
  });

  it('are not whole with any one bit changed, or a half of another page', () => {
    for (let at = 0; at < pageBytes; at += 37) {
      const changed = Buffer.from(pages);
      changed[table + at] = (changed[table + at] ?? 0) ^ (1 << (at % 8));
      expect(isWholePage(changed, table, 2)).toBe(false);
    }
    const torn = Buffer.from(pages);
    pages.copy(torn, table + pageBytes / 2, btree + pageBytes / 2, btree + pageBytes);
    expect(isWholePage(torn, table, 2)).toBe(false);
  });

  it('have their checksum wherever they begin in memory', () => {
    const expected = pageChecksum(pages, table, 2);
    for (const shift of [1, 2, 3, 4, 7]) {
      const moved = Buffer.alloc(pageBytes + shift);
      pages.copy(moved, shift, table, table + pageBytes);
      expect(pageChecksum(moved, shift, 2)).toBe(expected);
    }
  });

  it('bear the position of their last record', () => {
    expect([table, btree].every((at) => pageLsn(pages, at) > 0x1000000)).toBe(true);
    const high = Buffer.alloc(pageBytes);
    high.writeUInt32LE(3, 0);
    high.writeUInt32LE(0xfedcba98, 4);
    expect(pageLsn(high, 0)).toBe(3 * 2 ** 32 + 0xfedcba98);
  });

  it('that are zeros are whole, and nothing but zeros is', () => {
    const zeros = Buffer.alloc(2 * pageBytes);
    expect(isZeroPage(zeros, pageBytes)).toBe(true);
    expect(isWholePage(zeros, pageBytes, 77)).toBe(true);
    zeros[2 * pageBytes - 1] = 1;
    expect(isWholePage(zeros, pageBytes, 77)).toBe(false);
    expect(isWholePage(zeros, 0, 77)).toBe(true);
  });

  it('of sequences are known by what stands at their end', () => {
    expect([table, btree, sequence].map((at) => looksLikeSequence(pages, at))).toEqual([false, false, true]);
  });
});
