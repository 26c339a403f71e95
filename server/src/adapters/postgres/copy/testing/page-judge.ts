/**
 * For tests: compares the pages of two PostgreSQLs that have been shut down at the same position of the WAL, and says where they differ in more than replication allows.
 *
 * What PostgreSQL changes without a WAL record may differ: hints, flags of free space, what lies between a page's items. Hints must be true, though: each is compared with what became of the transaction.
 * Knows tables and B-trees; of other kinds of relations it compares positions and checksums.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isWholePage, isZeroPage, pageBytes, pageLsn, segmentPages } from '../page.ts';

export interface JudgedRelation {
  readonly name: string;
  /** Relative to the data directory. */
  readonly path: string;
  readonly kind: 'table' | 'btree' | 'other';
}

/** Of the relations' main forks and visibility maps. Empty: nothing is wrong. `judged`, of which `reference` is believed. */
export function judgePages(
  reference: string,
  judged: string,
  relations: readonly JudgedRelation[],
): string[] {
  const statusOf = transactionStatus(reference);
  return relations.flatMap((relation) => judgeRelation(reference, judged, relation, statusOf));
}

type StatusOf = (xid: number) => 'committed' | 'notCommitted' | 'forgotten';

function judgeRelation(
  reference: string,
  judged: string,
  relation: JudgedRelation,
  statusOf: StatusOf,
): string[] {
  const problems: string[] = [];
  for (let segment = 0; ; segment += 1) {
    const path = segment === 0 ? relation.path : `${relation.path}.${segment}`;
    const [expected, found] = [readFile(join(reference, path)), readFile(join(judged, path))];
    if (expected === null && found === null) break;
    if (expected === null || found === null || expected.length !== found.length) {
      problems.push(`${relation.name} (${path}): ${found?.length} bytes, not ${expected?.length}`);
      continue;
    }
    for (let at = 0; at < found.length; at += pageBytes) {
      const block = segment * segmentPages + at / pageBytes;
      const problem = judgePage(expected, found, at, block, relation.kind, statusOf);
      if (problem !== null) problems.push(`${relation.name} (${path}), block ${block}: ${problem}`);
    }
  }
  problems.push(...judgeMap(reference, judged, relation));
  return problems;
}

/**
 * A page that is called all-visible, or all-frozen, and is not, hides rows. More may be called so than in the reference, where it is true: a standby that replays CREATE DATABASE with the strategy wal_log begins with empty maps (what
 * they hold lies where a page's image in the WAL is left out), and the primary's are full.
 */
function judgeMap(reference: string, judged: string, { name, path }: JudgedRelation): string[] {
  const [known, found] = [reference, judged].map((directory) => readFile(join(directory, `${path}_vm`)));
  if (found == null) return [];
  const problems: string[] = [];
  for (let at = 0; at < found.length; at += 1) {
    if (at % pageBytes < mapHeaderBytes) continue;
    const more = found[at]! & ~(known?.[at] ?? 0);
    if (more === 0) continue;
    const first = (Math.floor(at / pageBytes) * mapBytes + (at % pageBytes) - mapHeaderBytes) * blocksPerByte;
    for (let i = 0; i < blocksPerByte; i += 1) {
      const bits = (more >>> (2 * i)) & 3;
      const page = bits === 0 ? null : pageOf(join(reference, path), first + i);
      if (bits !== 0 && (page === null || !deserves(page, bits)))
        problems.push(
          `${name} (${path}), block ${first + i}: the visibility map says ${bits} more of it, and it is not so`,
        );
    }
  }
  return problems;
}

const mapHeaderBytes = 24;
const mapBytes = pageBytes - mapHeaderBytes;
const blocksPerByte = 4;
const allVisible = 1;
const allFrozen = 2;
/** In a page's flags. */
const isAllVisible = 0x0004;
const flagsAt = 10;

function pageOf(path: string, block: number): Buffer | null {
  const segment = Math.floor(block / segmentPages);
  const file = readFile(segment === 0 ? path : `${path}.${segment}`);
  const at = (block % segmentPages) * pageBytes;
  return file === null || at + pageBytes > file.length ? null : file.subarray(at, at + pageBytes);
}

function deserves(page: Buffer, bits: number): boolean {
  if ((bits & allVisible) !== 0 && (page.readUInt16LE(flagsAt) & isAllVisible) === 0) return false;
  return (bits & allFrozen) === 0 || itemsOf(page).every((item) => isFrozen(page, item));
}

function isFrozen(page: Buffer, { at, flags }: Item): boolean {
  if (flags !== normal) return true;
  const infomask = page.readUInt16LE(at + infomaskAt);
  const noDeleter = page.readUInt32LE(at + 4) === 0 || (infomask & xmaxInvalid) !== 0;
  return noDeleter && (page.readUInt32LE(at) < firstNormalXid || (infomask & xminFrozen) === xminFrozen);
}

function readFile(path: string): Buffer | null {
  return existsSync(path) ? readFileSync(path) : null;
}

function judgePage(
  expected: Buffer,
  found: Buffer,
  at: number,
  block: number,
  kind: JudgedRelation['kind'],
  statusOf: StatusOf,
): string | null {
  if (!isWholePage(found, at, block)) return 'its checksum is wrong';
  if (isZeroPage(found, at) && isZeroPage(expected, at)) return null;
  if (pageLsn(found, at) !== pageLsn(expected, at)) {
    return `its position is ${pageLsn(found, at).toString(16)}, not ${pageLsn(expected, at).toString(16)}`;
  }
  if (kind === 'other') return null;
  const page = found.subarray(at, at + pageBytes);
  const lie = kind === 'table' ? lieIn(page, statusOf) : null;
  if (lie !== null) return lie;
  const masked = [masks[kind](expected.subarray(at, at + pageBytes)), masks[kind](page)] as const;
  return masked[0].equals(masked[1]) ? null : `it differs from byte ${firstDifference(...masked)} on`;
}

function firstDifference(one: Buffer, other: Buffer): number {
  return one.findIndex((byte, i) => byte !== other[i]);
}

const normal = 1;
const dead = 3;

interface Item {
  readonly pointerAt: number;
  readonly at: number;
  readonly flags: number;
  readonly length: number;
}

function itemsOf(page: Buffer): Item[] {
  const items: Item[] = [];
  for (let pointerAt = 24; pointerAt < page.readUInt16LE(12); pointerAt += 4) {
    const pointer = page.readUInt32LE(pointerAt);
    items.push({ pointerAt, at: pointer & 0x7fff, flags: (pointer >>> 15) & 3, length: pointer >>> 17 });
  }
  return items;
}

/** Header, item pointers, items and what the index keeps at the end: without checksum, flags, the hint for pruning, and what lies between the items. */
function maskPage(page: Buffer, items: readonly Item[]): Buffer {
  const masked = Buffer.alloc(pageBytes);
  page.copy(masked, 0, 0, page.readUInt16LE(12));
  masked.fill(0, 8, 12).fill(0, 20, 24);
  const special = page.readUInt16LE(16);
  page.copy(masked, special, special);
  for (const { at, length } of items) page.copy(masked, at, at, at + length);
  return masked;
}

const infomaskAt = 20;
const hintBits = 0x0f00;
const xminFrozen = 0x0300;
const xmaxInvalid = 0x0800;
const firstNormalXid = 3;
const comboCid = 0x0020;

function maskTable(page: Buffer): Buffer {
  const items = itemsOf(page);
  const masked = maskPage(page, items);
  for (const { at, flags } of items) {
    if (flags !== normal) continue;
    // The command's number means something in its own transaction only.
    masked.fill(0, at + 8, at + 12);
    const infomask = page.readUInt16LE(at + infomaskAt);
    const isFrozen = (infomask & xminFrozen) === xminFrozen;
    masked.writeUInt16LE((infomask & ~(hintBits | comboCid)) | (isFrozen ? xminFrozen : 0), at + infomaskAt);
    // A token in the place of the address, of an INSERT ... ON CONFLICT that was under way.
    if (page.readUInt16LE(at + 16) === 0xfffe) masked.fill(0, at + 12, at + 18);
  }
  return masked;
}

const hasGarbage = 0x40;
/** What tells a vacuum of pages that were split meanwhile: who replays a split does not set it. */
const splitEnd = 0x20;
const deleted = 0x04;
/** The first page, which has no items. */
const isMeta = 0x08;

function maskBtree(page: Buffer): Buffer {
  const special = page.readUInt16LE(16);
  const flags = page.readUInt16LE(special + 12);
  const items = (flags & isMeta) === 0 ? itemsOf(page) : [];
  const masked = maskPage(page, items);
  if ((flags & deleted) !== 0) return masked.fill(0, 24, special);
  masked.writeUInt16LE(flags & ~(hasGarbage | splitEnd), special + 12);
  masked.writeUInt16LE(0, special + 14);
  for (const { pointerAt, flags: state } of items) {
    if (state === dead)
      masked.writeUInt32LE(((page.readUInt32LE(pointerAt) & ~(3 << 15)) | (normal << 15)) >>> 0, pointerAt);
  }
  return masked;
}

const masks = { table: maskTable, btree: maskBtree } as const;

const lockedOnly = 0x0080;
const isMulti = 0x1000;

/** A hint that is not true; null: there is none. */
function lieIn(page: Buffer, statusOf: StatusOf): string | null {
  for (const { at, flags } of itemsOf(page)) {
    if (flags !== normal) continue;
    const infomask = page.readUInt16LE(at + infomaskAt);
    const [xmin, xmax] = [page.readUInt32LE(at), page.readUInt32LE(at + 4)];
    const said = (committed: number, invalid: number): string => {
      const bits = infomask & (committed | invalid);
      return bits === committed ? 'committed' : bits === invalid ? 'notCommitted' : 'nothing';
    };
    for (const [what, xid, says] of [
      ['xmin', xmin, said(0x0100, 0x0200)],
      ['xmax', xmax, (infomask & (lockedOnly | isMulti)) === 0 ? said(0x0400, xmaxInvalid) : 'nothing'],
    ] as const) {
      const is = xid < firstNormalXid ? 'forgotten' : statusOf(xid);
      if (says !== 'nothing' && is !== 'forgotten' && says !== is)
        return `${what} ${xid} is hinted to be ${says}, and is ${is}`;
    }
  }
  return null;
}

const transactionsPerFile = 32 * pageBytes * 4;

function transactionStatus(dataDir: string): StatusOf {
  const files = new Map<number, Buffer | null>();
  return (xid) => {
    const number = Math.floor(xid / transactionsPerFile);
    if (!files.has(number)) {
      files.set(
        number,
        readFile(join(dataDir, 'pg_xact', number.toString(16).toUpperCase().padStart(4, '0'))),
      );
    }
    const byte = files.get(number)?.[Math.floor((xid % transactionsPerFile) / 4)];
    if (byte === undefined) return 'forgotten';
    return ((byte >> ((xid % 4) * 2)) & 3) === 1 ? 'committed' : 'notCommitted';
  };
}
