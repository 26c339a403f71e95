/**
 * Whether tables have the rows that their indexes name, found out from their files alone: a table that has lost pages, at its end or elsewhere, is as sound as any other to amcheck.
 *
 * Responsible for: B-tree, GIN, hash, GiST and SP-GiST indexes of ordinary tables. That a row is the right one is not looked at, nor what BRIN indexes hold.
 *
 * Rests on this: VACUUM takes a row's place in its page away, and the table's last pages, only when no index names them any more, and WAL has it in this order. (BRIN indexes go on to describe pages that are gone.)
 * Invariant: no statement reads a client's table. Memory is bounded for a table and its indexes, whatever their size.
 */
import { join } from 'node:path';
import type { Client } from 'pg';
import { ownSql } from '../../../pgwire/own-sql.ts';
import { inEveryDatabase, type RunningPostgres } from './check-database.ts';
import { type IndexKind, rowsOfPage, visitRows } from './index-page.ts';
import { eachPage } from './page-chunks.ts';

export interface IndexFile {
  readonly database: string;
  readonly name: string;
  readonly kind: IndexKind;
  /** Within the data directory, as the table's. */
  readonly path: string;
  readonly table: string;
  readonly tablePath: string;
}

/** Indexes that are not ready are not kept up to date. What is not permanent is empty after a restore. 2: PostgreSQL's own kind of table, whose rows are where its indexes say. */
const indexesSql =
  ownSql(`SELECT c.oid::pg_catalog.regclass::pg_catalog.text AS name, am.amname::pg_catalog.text AS kind, pg_catalog.pg_relation_filepath(c.oid) AS path,
    t.oid::pg_catalog.regclass::pg_catalog.text AS table, pg_catalog.pg_relation_filepath(t.oid) AS "tablePath"
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid JOIN pg_catalog.pg_class t ON t.oid = i.indrelid
    JOIN pg_catalog.pg_am am ON am.oid = c.relam
  WHERE c.relkind = 'i' AND c.relpersistence = 'p' AND c.relam = ANY ('{403,405,783,2742,4000}'::pg_catalog.oid[]) AND t.relam = 2 AND i.indisvalid AND i.indisready
  ORDER BY t.oid, c.oid`);

/** Of a database that nobody else uses, and that does not vacuum by itself. What its files held then is on the disk when this returns. @throws Error of PostgreSQL; the signal's reason */
export async function listIndexFiles(
  server: RunningPostgres,
  signal?: AbortSignal,
): Promise<readonly IndexFile[]> {
  // Those of shared catalogs are in every database.
  const found = new Map<string, IndexFile>();
  await inEveryDatabase(server, signal, async (client, database) => {
    for (const index of await listOf(client))
      if (!found.has(index.path)) found.set(index.path, { ...index, database });
    await client.query('CHECKPOINT');
  });
  return [...found.values()];
}

async function listOf(client: Client): Promise<readonly Omit<IndexFile, 'database'>[]> {
  return (await client.query<Omit<IndexFile, 'database'>>(indexesSql)).rows;
}

/** Of a PostgreSQL that was shut down behind `listIndexFiles`. @throws the file system's error, or the signal's reason */
export async function checkEntries(
  dataDir: string,
  indexes: readonly IndexFile[],
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const ofTables = new Map<string, IndexFile[]>();
  for (const index of indexes) {
    const ofTable = ofTables.get(index.tablePath);
    if (ofTable === undefined) ofTables.set(index.tablePath, [index]);
    else ofTable.push(index);
  }
  const complaints: string[] = [];
  for (const ofTable of ofTables.values()) complaints.push(...(await checkTable(dataDir, ofTable, signal)));
  return complaints;
}

/** Of a table at once, in two bytes each: 128 GB of it. For each further part its indexes are read again. */
const partPages = 2 ** 24;

async function checkTable(
  dataDir: string,
  indexes: readonly IndexFile[],
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const complaints: string[] = [];
  const path = join(dataDir, indexes[0]!.tablePath);
  let length = 0;
  for (let from = 0; from === 0 || from < length; from += partPages) {
    const rows = new RowCounts(from);
    length = await eachPage(path, (bytes, at, block) => rows.set(block, rowsOfPage(bytes, at)), signal);
    for (const index of indexes)
      complaints.push(...(await checkIndex(join(dataDir, index.path), index, rows, length, signal)));
  }
  return complaints;
}

/** How many rows each page of one part of a table has at most. */
class RowCounts {
  readonly from: number;
  private counts = new Uint16Array(1024);

  constructor(from: number) {
    this.from = from;
  }

  set(block: number, count: number): void {
    const at = block - this.from;
    if (at < 0 || at >= partPages) return;
    if (at >= this.counts.length) {
      const more = new Uint16Array(Math.min(partPages, 2 * this.counts.length));
      more.set(this.counts);
      this.counts = more;
    }
    this.counts[at] = count;
  }

  /** Null: it is in another part. */
  of(block: number): number | null {
    const at = block - this.from;
    return at < 0 || at >= partPages ? null : (this.counts[at] ?? 0);
  }
}

async function checkIndex(
  path: string,
  { database, name, kind, table }: IndexFile,
  rows: RowCounts,
  length: number,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  let [beyond, highest, lost] = [0, 0, 0];
  let first = '';
  const visit = (block: number, offset: number): void => {
    if (block >= length) {
      beyond += 1;
      highest = Math.max(highest, block);
      return;
    }
    const count = rows.of(block);
    if (count === null || (offset > 0 && offset <= count)) return;
    lost += 1;
    if (lost === 1) first = `(${block},${offset})`;
  };
  await eachPage(path, (bytes, at) => visitRows(kind, bytes, at, visit), signal);
  const complaints: string[] = [];
  // Said once, whatever the number of parts.
  if (beyond > 0 && rows.from === 0)
    complaints.push(
      `${database}: ${name}: ${beyond} of its entries name pages of ${table} beyond its end, up to page ${highest}, where ${table} has ${length}: it has lost pages`,
    );
  if (lost > 0)
    complaints.push(
      `${database}: ${name}: ${lost} of its entries name rows that ${table} does not have, the first one ${first}: it has lost rows`,
    );
  return complaints;
}
