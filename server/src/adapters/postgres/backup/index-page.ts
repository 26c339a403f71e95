/**
 * Which rows of its table a page of an index names: the leaf pages of B-tree, GIN, hash, GiST and SP-GiST indexes, as PostgreSQL 14 and later lay them out.
 *
 * Pure; evaluates nothing, and knows nothing of keys. Never throws: what does not fit into the page is passed over, for checksums and amcheck judge that. Little-endian, as page.ts.
 */
import { pageBytes } from '../copy/page.ts';
import { visitKeyEntry, visitLists } from './gin-page.ts';
import { blockAt, type VisitRow, visitRow } from './row-pointer.ts';

export type IndexKind = 'btree' | 'gin' | 'hash' | 'gist' | 'spgist';

const lowerAt = 12;
const upperAt = 14;
const specialAt = 16;
const headerBytes = 24;
const pointerBytes = 4;
const rowBytes = 6;
const specialBytes: Readonly<Record<IndexKind, number>> = {
  btree: 16,
  gin: 8,
  hash: 16,
  gist: 16,
  spgist: 8,
};

/** How many rows the page of a table has room for in its list, of which some may be gone; 0: it is new. */
export function rowsOfPage(bytes: Buffer, at: number): number {
  return Math.max(0, Math.floor((bytes.readUInt16LE(at + lowerAt) - headerBytes) / pointerBytes));
}

/** Calls `visit` for each row that the page at `at` names, also of entries that are marked as dead: a query that does not find a row marks its entry so. */
export function visitRows(kind: IndexKind, bytes: Buffer, at: number, visit: VisitRow): void {
  if (bytes.readUInt16LE(at + upperAt) === 0) return;
  const special = bytes.readUInt16LE(at + specialAt);
  const lower = bytes.readUInt16LE(at + lowerAt);
  if (special !== pageBytes - specialBytes[kind] || lower > special) return;
  if (kind === 'gin' && isListPage(bytes, at + special))
    return visitLists(bytes, at + listsAt, at + lower, visit);
  const first = firstEntry[kind](bytes, at + special);
  if (first === null) return;
  // Rows that are not sorted in yet have an entry each.
  const ofEntry = kind === 'gin' && isPendingPage(bytes, at + special) ? plain : visitors[kind];
  for (let pointerAt = headerBytes + (first - 1) * pointerBytes; pointerAt + pointerBytes <= lower; ) {
    const pointer = bytes.readUInt32LE(at + pointerAt);
    pointerAt += pointerBytes;
    const [offset, length] = [pointer & 0x7fff, pointer >>> 17];
    const hasStorage = length >= entryBytesMin && offset >= lower && offset + length <= special;
    if (hasStorage) ofEntry(bytes, at + offset, length, visit);
  }
}

const entryBytesMin = 12;
/** Behind the header, and the last row that the page may name. */
const listsAt = 32;

const gin = { data: 1, leaf: 2, deleted: 4, meta: 8, pending: 16, compressed: 128 } as const;

/** It has rows of one key alone. */
function isListPage(bytes: Buffer, special: number): boolean {
  const { data, leaf, deleted, compressed } = gin;
  return (
    (bytes.readUInt16LE(special + 6) & (data | leaf | deleted | compressed)) === (data | leaf | compressed)
  );
}

const isPendingPage = (bytes: Buffer, special: number): boolean =>
  (bytes.readUInt16LE(special + 6) & gin.pending) !== 0;

/** `special`: where the page says what it is. Null: it is none with entries of rows. */
const firstEntry: Readonly<Record<IndexKind, (bytes: Buffer, special: number) => number | null>> = {
  btree(bytes, special) {
    const flags = bytes.readUInt16LE(special + 12);
    const [leaf, deletedMetaOrHalfDead] = [1, 4 | 8 | 16];
    if ((flags & leaf) === 0 || (flags & deletedMetaOrHalfDead) !== 0) return null;
    // All but the rightmost begin with a bound of their keys, which names no row.
    return bytes.readUInt32LE(special + 4) === 0 ? 1 : 2;
  },
  gin(bytes, special) {
    const flags = bytes.readUInt16LE(special + 6);
    if ((flags & (gin.data | gin.deleted | gin.meta)) !== 0) return null;
    return (flags & (gin.leaf | gin.pending)) === 0 ? null : 1;
  },
  hash(bytes, special) {
    const overflowOrBucket = 1 | 2;
    return (bytes.readUInt16LE(special + 12) & overflowOrBucket) === 0 ? null : 1;
  },
  gist(bytes, special) {
    const [leaf, deleted] = [1, 2];
    return (bytes.readUInt16LE(special + 12) & (leaf | deleted)) === leaf ? 1 : null;
  },
  spgist(bytes, special) {
    const [meta, deleted, leaf] = [1, 2, 4];
    return (bytes.readUInt16LE(special) & (meta | deleted | leaf)) === leaf ? 1 : null;
  },
};

type VisitEntry = (bytes: Buffer, entry: number, length: number, visit: VisitRow) => void;

const plain: VisitEntry = (bytes, entry, _length, visit) => visitRow(bytes, entry, visit);

const visitors: Readonly<Record<IndexKind, VisitEntry>> = {
  btree(bytes, entry, length, visit) {
    const isPlain = (bytes.readUInt16LE(entry + 6) & 0x2000) === 0;
    if (isPlain) return visitRow(bytes, entry, visit);
    // Many rows with one key: in the place of a row stand where their list begins, and how many they are.
    const [listAt, posting] = [blockAt(bytes, entry), bytes.readUInt16LE(entry + 4)];
    const count = posting & 0x0fff;
    if ((posting & 0x2000) === 0 || listAt + count * rowBytes > length) return undefined;
    for (let n = 0; n < count; n += 1) visitRow(bytes, entry + listAt + n * rowBytes, visit);
    return undefined;
  },
  gin: visitKeyEntry,
  hash: plain,
  gist: plain,
  spgist(bytes, entry, _length, visit) {
    const isLive = (bytes.readUInt32LE(entry) & 3) === 0;
    if (isLive) visitRow(bytes, entry + 6, visit);
  },
};
