/**
 * For tests: compares the pages of two PostgreSQLs that have been shut down at the same position of the WAL, and says where they differ in more than replication allows.
 *
 * What PostgreSQL changes without a WAL record may differ: hints, flags of free space, what lies between a page's items. Hints must be true, though: each is compared with what became of the transaction.
 * Knows tables and B-trees; of other kinds of relations it compares positions and checksums, and of SP-GiST indexes knows which positions may differ.
 */
import { join } from 'node:path';
import { lsnNone } from '../../../../wal/lsn.ts';
import { isWholePage, isZeroPage, pageBytes, pageLsn, segmentPages } from '../page.ts';
import { judgeMap, readFile } from './map-judge.ts';
import {
  dead,
  firstNormalXid,
  infomaskAt,
  type Item,
  itemsOf,
  normal,
  xmaxInvalid,
  xminFrozen,
} from './page-items.ts';

export interface JudgedRelation {
  readonly name: string;
  /** Relative to the data directory. */
  readonly path: string;
  readonly kind: 'table' | 'btree' | 'spgist' | 'other';
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
    if (kind === 'spgist' && wasMadeAnew(expected, at, block) && isEmptyPage(found, at)) return null;
    return `its position is ${pageLsn(found, at).toString(16)}, not ${pageLsn(expected, at).toString(16)}`;
  }
  if (kind === 'other' || kind === 'spgist') return null;
  const page = found.subarray(at, at + pageBytes);
  const lie = kind === 'table' ? lieIn(page, statusOf) : null;
  if (lie !== null) return lie;
  const masked = [masks[kind](expected.subarray(at, at + pageBytes)), masks[kind](page)] as const;
  return masked[0].equals(masked[1]) ? null : `it differs from byte ${firstDifference(...masked)} on`;
}

/** Meta page and roots are never free. */
const firstFreeBlock = 3;

/**
 * A primary that looks for a page of an SP-GiST index makes a free one anew in memory, without a record, and looks for another if that one's number does not fit. What was to be written all the same is written so, without a position; a
 * standby's page has that of the record before, and is as empty.
 */
function wasMadeAnew(bytes: Buffer, at: number, block: number): boolean {
  return block >= firstFreeBlock && pageLsn(bytes, at) === lsnNone && isEmptyPage(bytes, at);
}

function isEmptyPage(bytes: Buffer, at: number): boolean {
  return isZeroPage(bytes, at) || itemsOf(bytes.subarray(at, at + pageBytes)).length === 0;
}

function firstDifference(one: Buffer, other: Buffer): number {
  return one.findIndex((byte, i) => byte !== other[i]);
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

const hintBits = 0x0f00;
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
