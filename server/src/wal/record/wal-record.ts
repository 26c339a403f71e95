/**
 * One whole record of the WAL: what its header and the headers of its parts say. Pure.
 *
 * Does not look into its data; transaction-end.ts does for the records that end transactions.
 */
import type { Lsn } from '../lsn.ts';
import { readParts, type BlockReference } from './block-references.ts';
import { readU32, readU64 } from './little-endian.ts';
import { managerName, operationName } from './operations.ts';
import type { PostgresVersion } from './page-header.ts';
import { offsetOf, recordHeaderBytes } from './record-header.ts';
import type { WalFault } from './wal-fault.ts';

export interface WalRecord {
  readonly version: PostgresVersion;
  /** Where it begins: at the beginning of a page, behind the page's header. */
  readonly lsn: Lsn;
  /** Where the next one may begin: aligned, and after a switch the end of the segment. */
  readonly end: Lsn;
  readonly previous: Lsn;
  /** 0: it belongs to no transaction. Of a subtransaction: that one's own. */
  readonly xid: number;
  /** As PostgreSQL names it, such as `Heap`. */
  readonly manager: string;
  /** As PostgreSQL names it, such as `INSERT+INIT`. */
  readonly operation: string;
  readonly info: number;
  /** Of the record itself, without page headers that it goes on over, and not aligned. */
  readonly length: number;
  /** Of the images of whole blocks, as they are in the WAL: perhaps compressed, without their holes. */
  readonly imageBytes: number;
  readonly blocks: readonly BlockReference[];
  readonly mainBytes: number;
  /** What is about no block. Null: the record was too long to be kept. Perhaps a view of what was read. */
  readonly main: Uint8Array | null;
  readonly topLevelXid: number | null;
  readonly origin: number;
}

export interface RecordPlace {
  readonly version: PostgresVersion;
  readonly lsn: Lsn;
  readonly end: Lsn;
}

/** `bytes` are the whole record, or as much of its beginning as was kept; `length` is the record's. */
export function readRecord(
  bytes: Uint8Array,
  length: number,
  { version, lsn, end }: RecordPlace,
): WalRecord | WalFault {
  const parts = readParts(bytes, length);
  if (typeof parts === 'string') return { code: 'content', at: lsn, text: parts };
  const manager = bytes[offsetOf.manager]!;
  const info = bytes[offsetOf.info]!;
  let imageBytes = 0;
  for (const block of parts.blocks) imageBytes += block.imageBytes;
  return {
    version,
    lsn,
    end,
    previous: readU64(bytes, offsetOf.previous) as Lsn,
    xid: readU32(bytes, offsetOf.xid),
    manager: managerName(version, manager),
    operation: operationName(version, manager, info),
    info,
    length,
    imageBytes,
    ...parts,
    main: bytes.length < length ? null : bytes.subarray(length - parts.mainBytes, length),
  };
}

/** The headers of a record's parts are never longer: 33 blocks of 27 bytes, and four more parts. */
export const partHeadersBytesMax = recordHeaderBytes + 33 * 27 + 32;
