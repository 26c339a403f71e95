/** Pages of indexes that are damaged; whole ones are PostgreSQL's own, in check-entries.pg.test.ts. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { pageBytes } from '../copy/page.ts';
import { type IndexKind, rowsOfPage, visitRows } from './index-page.ts';

/** A leaf page of a B-tree, the rightmost one, with a row of its own and a list of two rows of one key. */
function leafPage(): Buffer {
  const page = Buffer.alloc(pageBytes);
  page.writeUInt16LE(24 + 2 * 4, 12);
  page.writeUInt16LE(8000, 14);
  page.writeUInt16LE(pageBytes - 16, 16);
  page.writeUInt16LE(1, pageBytes - 4);
  const put = (item: number, at: number, length: number): void => {
    page.writeUInt32LE(at + (1 << 15) + length * 2 ** 17, 24 + 4 * item);
  };
  const row = (at: number, block: number, offset: number): void => {
    page.writeUInt16LE(Math.floor(block / 65_536), at);
    page.writeUInt16LE(block % 65_536, at + 2);
    page.writeUInt16LE(offset, at + 4);
  };
  put(0, 8000, 16);
  row(8000, 70_000, 3);
  page.writeUInt16LE(16, 8006);
  put(1, 8016, 32);
  row(8016, 16, 0x2000 + 2);
  page.writeUInt16LE(32 + 0x2000, 8022);
  row(8032, 5, 1);
  row(8038, 6, 2);
  return page;
}

function rowsIn(kind: IndexKind, page: Buffer): string[] {
  const rows: string[] = [];
  visitRows(kind, page, 0, (block, offset) => rows.push(`${block},${offset}`));
  return rows;
}

it('a leaf page of a B-tree names the rows of its entries, and those of lists', () => {
  expect(rowsIn('btree', leafPage())).toEqual(['70000,3', '5,1', '6,2']);
});

it('the first entry of a leaf page that has a neighbour to its right is none', () => {
  const page = leafPage();
  page.writeUInt32LE(9, pageBytes - 12);
  expect(rowsIn('btree', page)).toEqual(['5,1', '6,2']);
});

it.each([
  ['deleted', 1 | 4],
  ['half-dead', 1 | 16],
  ['inner', 0],
])('a page that is %s names none', (_what, flags) => {
  const page = leafPage();
  page.writeUInt16LE(flags, pageBytes - 4);
  expect(rowsIn('btree', page)).toEqual([]);
});

it('a page of another kind, or a new one, names none', () => {
  expect(rowsIn('spgist', leafPage())).toEqual([]);
  expect(rowsIn('btree', Buffer.alloc(pageBytes))).toEqual([]);
  expect(rowsOfPage(Buffer.alloc(pageBytes), 0)).toBe(0);
  expect(rowsOfPage(leafPage(), 0)).toBe(2);
});

it('a page that is damaged is read within its bounds', () => {
  const changes = fc.array(fc.tuple(fc.nat(pageBytes - 1), fc.nat(255)), { maxLength: 40 });
  const near = fc.array(fc.tuple(fc.nat(40), fc.nat(255)), { maxLength: 10 });
  const kinds = fc.constantFrom<IndexKind>('btree', 'gin', 'hash', 'gist', 'spgist');
  fc.assert(
    fc.property(kinds, changes, near, (kind, everywhere, inHeader) => {
      const page = leafPage();
      if (kind === 'spgist' || kind === 'gin') page.writeUInt16LE(pageBytes - 8, 16);
      for (const [at, byte] of [...everywhere, ...inHeader]) page[at] = byte;
      expect(rowsIn(kind, page).length).toBeLessThanOrEqual(2048 * 1365);
    }),
  );
});
