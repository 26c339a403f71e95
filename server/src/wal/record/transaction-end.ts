/**
 * How a transaction ended, or was prepared, as its record says. Pure. Source: src/include/access/xact.h and src/backend/access/transam/twophase.c of PostgreSQL.
 *
 * commit, abort   i64 time; if the highest bit of `info` is set, u32 what else there is, and that in this order: database (u32 database, u32 tablespace), subtransactions (u32 count, u32 each), relations
 *                 removed (u32 count, 12 bytes each), statistics removed (u32 count, 12 bytes each, 16 since version 18), invalidations (u32 count, 16 bytes each), the prepared transaction's u32 id and
 *                 name ended by 0, origin (u64 position, i64 time)
 * prepare         72 bytes of fixed form, and the name
 */
import { relationFileBytes } from './block-references.ts';
import { readI64, readU16, readU32 } from './little-endian.ts';
import { aligned, operationMask } from './record-header.ts';
import type { WalRecord } from './wal-record.ts';

export interface TransactionEnd {
  /** `prepare` is none yet; the transaction ends by `commitPrepared` or `abortPrepared`. */
  readonly kind: 'commit' | 'abort' | 'prepare' | 'commitPrepared' | 'abortPrepared';
  /** Of the transaction that ends: where it was prepared, not of the one that ends it. The lower 32 bits of its full id. */
  readonly xid: number;
  /** Microseconds since 1970, by the clock of the machine that wrote it. */
  readonly atUs: number;
  readonly subtransactions: readonly number[];
  /** 0: it is not told; then the record names no relation. */
  readonly database: number;
  readonly relationsRemoved: number;
  readonly invalidations: number;
  /** The name of a prepared transaction, where it is told. */
  readonly name: string | null;
  /** It changed something for which a commit waits until it is durable, whatever the session's `synchronous_commit`. */
  readonly forcesDurability: boolean;
  /** It was replicated logically from elsewhere. */
  readonly hasOrigin: boolean;
}

const kinds = ['commit', 'prepare', 'abort', 'commitPrepared', 'abortPrepared'] as const;
const hasMore = 0x80;
const more = {
  database: 1,
  subtransactions: 2,
  relations: 4,
  invalidations: 8,
  prepared: 16,
  origin: 32,
  name: 128,
  statistics: 256,
  forcesDurability: 2 ** 31,
} as const;
/** From 1970 to 2000, where PostgreSQL's time begins. */
const epochUs = 946_684_800_000_000;

/** Null: the record neither ends nor prepares a transaction, was too long to be kept, or is not what it should be. */
export function readTransactionEnd(record: WalRecord): TransactionEnd | null {
  if (record.manager !== 'Transaction' || record.main === null) return null;
  const kind = kinds[(record.info & operationMask & ~hasMore) >>> 4];
  if (kind === undefined) return null;
  return kind === 'prepare' ? readPrepare(record.main) : readEnd(kind, record, record.main);
}

function readEnd(kind: TransactionEnd['kind'], record: WalRecord, main: Uint8Array): TransactionEnd | null {
  const flags = (record.info & hasMore) === 0 ? 0 : readU32(main, 8);
  const has = (part: number): boolean => (flags & part) !== 0;
  let at = (record.info & hasMore) === 0 ? 8 : 12;
  const database = has(more.database) ? readU32(main, at) : 0;
  if (has(more.database)) at += 8;

  /** Of a list, which is passed over. */
  function count(part: number, bytesEach: number): number {
    if (!has(part)) return 0;
    const items = readU32(main, at);
    at += 4 + items * bytesEach;
    return items;
  }
  const subtransactionsAt = at + 4;
  const subtransactionCount = count(more.subtransactions, 4);
  const relationsRemoved = count(more.relations, relationFileBytes);
  count(more.statistics, record.version >= 18 ? 16 : 12);
  const invalidations = count(more.invalidations, 16);
  const xid = has(more.prepared) ? readU32(main, at) : record.xid;
  if (has(more.prepared)) at += 4;
  if (at > main.length) return null;
  return {
    kind,
    xid,
    atUs: readI64(main, 0) + epochUs,
    subtransactions: readXids(main, subtransactionsAt, subtransactionCount),
    database,
    relationsRemoved,
    invalidations,
    name: has(more.name) ? readName(main, at, main.length) : null,
    forcesDurability: has(more.forcesDurability),
    hasOrigin: has(more.origin),
  };
}

const prepareBytes = 72;

function readPrepare(main: Uint8Array): TransactionEnd | null {
  if (main.length < prepareBytes) return null;
  const subtransactionCount = readU32(main, 28);
  const nameEnd = prepareBytes + readU16(main, 54);
  // What follows begins at multiples of 8.
  const subtransactionsAt = aligned(nameEnd);
  if (subtransactionsAt + 4 * subtransactionCount > main.length) return null;
  return {
    kind: 'prepare',
    xid: readU32(main, 8),
    atUs: readI64(main, 16) + epochUs,
    subtransactions: readXids(main, subtransactionsAt, subtransactionCount),
    database: readU32(main, 12),
    relationsRemoved: readU32(main, 32),
    invalidations: readU32(main, 48),
    name: readName(main, prepareBytes, nameEnd),
    forcesDurability: false,
    hasOrigin: readI64(main, 56) !== 0,
  };
}

function readXids(bytes: Uint8Array, at: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => readU32(bytes, at + 4 * i));
}

/** Up to the 0 that ends it. */
function readName(bytes: Uint8Array, from: number, to: number): string {
  const end = bytes.indexOf(0, from);
  return new TextDecoder().decode(bytes.subarray(from, end === -1 ? to : Math.min(end, to)));
}
