import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { pageBytes, pageChecksum } from '../page.ts';
import { judgePages } from './page-judge.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'barista-judge-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const allVisible = 1;
const allFrozen = 2;

/** A page of a table with one row. */
function heapPage({ isAllVisible, isFrozen }: { isAllVisible: boolean; isFrozen: boolean }): Buffer {
  const page = Buffer.alloc(pageBytes);
  const [lower, upper, length] = [28, pageBytes - 32, 32];
  page.writeUInt32LE(100, 4);
  page.writeUInt16LE(isAllVisible ? 4 : 0, 10);
  page.writeUInt16LE(lower, 12);
  page.writeUInt16LE(upper, 14);
  page.writeUInt16LE(pageBytes, 16);
  page.writeUInt32LE(upper | (1 << 15) | (length << 17), 24);
  page.writeUInt32LE(700, upper);
  page.writeUInt16LE(isFrozen ? 0x0b00 : 0x0900, upper + 20);
  page.writeUInt16LE(pageChecksum(page, 0, 0), 8);
  return page;
}

/** What is wrong with a copy whose map says `bits` of the only page, where the reference's says nothing. */
function judged(page: Buffer, bits: number): string[] {
  for (const name of ['reference', 'copy']) {
    mkdirSync(join(root, name, 'base'), { recursive: true });
    writeFileSync(join(root, name, 'base', '1'), page);
    const map = Buffer.alloc(pageBytes);
    if (name === 'copy') map[24] = bits;
    writeFileSync(join(root, name, 'base', '1_vm'), map);
  }
  const relation = { name: 'one', path: 'base/1', kind: 'other' } as const;
  return judgePages(join(root, 'reference'), join(root, 'copy'), [relation]);
}

it('a map may say more than the reference does, where it is true', () => {
  expect(judged(heapPage({ isAllVisible: true, isFrozen: false }), allVisible)).toEqual([]);
  expect(judged(heapPage({ isAllVisible: true, isFrozen: true }), allVisible | allFrozen)).toEqual([]);
});

it.each([
  ['all-visible', heapPage({ isAllVisible: false, isFrozen: true }), allVisible],
  ['all-frozen', heapPage({ isAllVisible: true, isFrozen: false }), allVisible | allFrozen],
])('a page that is called %s and is not is found', (_, page, bits) => {
  expect(judged(page, bits)).toEqual([
    `one (base/1), block 0: the visibility map says ${bits} more of it, and it is not so`,
  ]);
});

it('a page that is not there is nothing of the kind', () => {
  expect(judged(heapPage({ isAllVisible: true, isFrozen: true }), allVisible << 2)).toHaveLength(1);
});

/** An empty leaf of an index. */
function indexPage(flags: number, cycle: number): Buffer {
  const page = Buffer.alloc(pageBytes);
  const special = pageBytes - 16;
  page.writeUInt32LE(100, 4);
  page.writeUInt16LE(24, 12);
  page.writeUInt16LE(special, 14);
  page.writeUInt16LE(special, 16);
  page.writeUInt16LE(flags, special + 12);
  page.writeUInt16LE(cycle, special + 14);
  page.writeUInt16LE(pageChecksum(page, 0, 0), 8);
  return page;
}

function judgedIndex(reference: Buffer, copy: Buffer): string[] {
  for (const [name, page] of Object.entries({ reference, copy })) {
    mkdirSync(join(root, name, 'base'), { recursive: true });
    writeFileSync(join(root, name, 'base', '2'), page);
  }
  const relation = { name: 'index', path: 'base/2', kind: 'btree' } as const;
  return judgePages(join(root, 'reference'), join(root, 'copy'), [relation]);
}

it('an index may tell a vacuum of splits, and hint at dead items, on one side only', () => {
  expect(judgedIndex(indexPage(0x01 | 0x20 | 0x40, 7), indexPage(0x01, 0))).toEqual([]);
});

it('a page of an index that is a root on one side only is found', () => {
  expect(judgedIndex(indexPage(0x01 | 0x02, 0), indexPage(0x01, 0))).toEqual([
    'index (base/2), block 0: it differs from byte 8188 on',
  ]);
});

/** A leaf of an SP-GiST index, with or without an item. */
function spgistPage(position: number, items: 0 | 1): Buffer {
  const page = Buffer.alloc(pageBytes);
  const special = pageBytes - 8;
  page.writeUInt32LE(position, 4);
  page.writeUInt16LE(24 + 4 * items, 12);
  page.writeUInt16LE(special - 32 * items, 14);
  page.writeUInt16LE(special, 16);
  if (items === 1) page.writeUInt32LE((special - 32) | (1 << 15) | (32 << 17), 24);
  return page;
}

function judgedSpgist(reference: Buffer, copy: Buffer, block = 4): string[] {
  for (const [name, page] of Object.entries({ reference, copy })) {
    mkdirSync(join(root, name, 'base'), { recursive: true });
    const file = Buffer.alloc((block + 1) * pageBytes);
    if (page.readUInt16LE(14) !== 0) page.writeUInt16LE(pageChecksum(page, 0, block), 8);
    page.copy(file, block * pageBytes);
    writeFileSync(join(root, name, 'base', '3'), file);
  }
  const relation = { name: 'index', path: 'base/3', kind: 'spgist' } as const;
  return judgePages(join(root, 'reference'), join(root, 'copy'), [relation]);
}

it('a free page of an SP-GiST index may have lost its position at the reference', () => {
  expect(judgedSpgist(spgistPage(0, 0), spgistPage(100, 0))).toEqual([]);
  expect(judgedSpgist(Buffer.alloc(pageBytes), spgistPage(100, 0))).toEqual([]);
});

it.each([
  ['has something in it', spgistPage(0, 0), spgistPage(100, 1), 4],
  ['has something in it at the reference', spgistPage(0, 1), spgistPage(100, 0), 4],
  ['has another position', spgistPage(200, 0), spgistPage(100, 0), 4],
  ['is a root', spgistPage(0, 0), spgistPage(100, 0), 2],
])('a page of an SP-GiST index with a position of its own is found where it %s', (_, reference, copy, at) => {
  expect(judgedSpgist(reference, copy, at)).toEqual([
    `index (base/3), block ${at}: its position is 64, not ${reference.readUInt32LE(4).toString(16)}`,
  ]);
});
