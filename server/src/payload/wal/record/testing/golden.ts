/** WAL that a real PostgreSQL wrote, with what its own pg_walinspect says of it: files of the folder `goldens`, made by capture-goldens.ts. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseLsn, type Lsn } from '../../lsn.ts';

/** A row of pg_get_wal_records_info, the columns as PostgreSQL names them. */
export interface InspectedRecord {
  readonly start_lsn: string;
  readonly end_lsn: string;
  readonly prev_lsn: string;
  readonly xid: string;
  readonly resource_manager: string;
  readonly record_type: string;
  readonly record_length: number;
  readonly main_data_length: number;
  readonly fpi_length: number;
  readonly description: string;
  readonly block_ref: string;
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
