/** WAL that a real PostgreSQL wrote, with what its own pg_walinspect says of it: files of the folder `goldens`, made by capture-goldens.ts. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { formatLsn, parseLsn, type Lsn } from '../../lsn.ts';
import type { WalRecord } from '../wal-record.ts';

/** What pg_walinspect says of a record. */
export interface InspectedRecord {
  readonly lsn: string;
  readonly end: string;
  readonly previous: string;
  readonly xid: number;
  readonly manager: string;
  readonly operation: string;
  readonly length: number;
  readonly mainBytes: number;
  readonly imageBytes: number;
  /** Such as `1663/5/1259 main 0`: tablespace, database, relation, fork, block. */
  readonly blocks: readonly string[];
  /** Of a transaction's end only. */
  readonly description: string | null;
}

/** A row of pg_get_wal_records_info. */
export interface RecordsInfo {
  readonly start_lsn: string;
  readonly end_lsn: string;
  readonly prev_lsn: string;
  readonly xid: string;
  readonly resource_manager: string;
  readonly record_type: string;
  readonly record_length: number;
  readonly main_data_length: number;
  readonly fpi_length: number;
  readonly description: string | null;
  readonly block_ref: string | null;
}

export function toInspected(row: RecordsInfo): InspectedRecord {
  return {
    lsn: row.start_lsn,
    end: row.end_lsn,
    previous: row.prev_lsn,
    xid: Number(row.xid),
    manager: row.resource_manager,
    operation: row.record_type,
    length: row.record_length,
    mainBytes: row.main_data_length,
    imageBytes: row.fpi_length,
    blocks: [...(row.block_ref ?? '').matchAll(/blkref #\d+: rel (\S+) (?:fork (\w+) )?blk (\d+)/g)].map(
      ([, file, fork = 'main', block]) => `${file} ${fork} ${block}`,
    ),
    description: row.resource_manager === 'Transaction' ? shorten(row.description ?? '') : null,
  };
}

/** The invalidations are counted. */
function shorten(description: string): string {
  return description.replace(/inval msgs: ([^;]*)/, (_, list: string) => {
    return `inval msgs: ${[...list.matchAll(/catcache|catalog|relcache|smgr|relmap|snapshot|relsync/g)].length}`;
  });
}

/** The same of a record that was read here. `description` is of the one to compare with. */
export function describeRecord(record: WalRecord, description: string | null): InspectedRecord {
  const { xid, manager, operation, length, mainBytes, imageBytes } = record;
  return {
    lsn: formatLsn(record.lsn),
    end: formatLsn(record.end),
    previous: formatLsn(record.previous),
    xid,
    manager,
    operation,
    length,
    mainBytes,
    imageBytes,
    blocks: record.blocks.map(
      ({ tablespace, database, relation, fork, block }) =>
        `${tablespace}/${database}/${relation} ${fork} ${block}`,
    ),
    description,
  };
}

export interface GoldenFile {
  readonly version: string;
  /** Where the bytes begin and how many there are; between one piece and the next there is nothing but zeros. */
  readonly pieces: readonly { readonly start: string; readonly bytes: number }[];
  readonly records: readonly InspectedRecord[];
}

export interface Golden {
  readonly version: string;
  readonly start: Lsn;
  readonly bytes: Uint8Array;
  readonly records: readonly InspectedRecord[];
}

export const goldenNames = ['postgres-15', 'postgres-16', 'postgres-17', 'postgres-18'] as const;

export function goldenPath(name: string): string {
  return fileURLToPath(new URL(`../goldens/${name}`, import.meta.url));
}

export function readGolden(name: string): Golden {
  const { version, pieces, records } = JSON.parse(
    readFileSync(goldenPath(`${name}.json`), 'utf8'),
  ) as GoldenFile;
  const file = readFileSync(goldenPath(`${name}.wal`));
  const start = parseLsn(pieces[0]!.start);
  const last = pieces.at(-1)!;
  const bytes = new Uint8Array(parseLsn(last.start) + last.bytes - start);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(file.subarray(at, at + piece.bytes), parseLsn(piece.start) - start);
    at += piece.bytes;
  }
  return { version, start, bytes, records };
}
