/**
 * Checks a PostgreSQL's files by PostgreSQL's own means: the checksums of all pages, and amcheck's functions over every table and B-tree of all databases.
 *
 * Reads only, but for the extension that `installAmcheck` makes.
 */
import { open, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Client } from 'pg';
import { isWholePage, pageBytes, segmentPages } from '../copy/page.ts';
import { connectPg, quoteIdentifier } from '../pg-client.ts';

const ownSchema = 'amcheck_of_barista';
/** A database's owner may have set them for all sessions, and not all are known to each version. */
const ownSettings = `SELECT set_config(name, '0', false) FROM pg_settings
  WHERE name IN ('default_transaction_read_only', 'transaction_timeout', 'lock_timeout')`;
const undefinedTable = '42P01';
const undefinedObject = '42704';
const featureNotSupported = '0A000';
const undefinedFile = '58P01';

export interface RunningPostgres {
  readonly socketDir: string;
}

/** Makes what `checkRelations` needs, in every database. On a primary, whose standbys have it a moment later. False: this PostgreSQL has no amcheck. */
export async function installAmcheck(primary: RunningPostgres): Promise<boolean> {
  try {
    await inEveryDatabase(primary, async (client) => {
      await client.query(`CREATE SCHEMA IF NOT EXISTS ${ownSchema}`);
      // Somebody may have it elsewhere, and in an older version.
      await client.query(`CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA ${ownSchema}`);
      await client.query('ALTER EXTENSION amcheck UPDATE');
    });
    return true;
  } catch (error) {
    const { code } = error as { readonly code?: string };
    if (code === featureNotSupported || code === undefinedFile) return false;
    throw error;
  }
}

/** Of a running primary or standby; each complaint names its database. Empty: nothing is wrong. @throws Error if it is away, or `installAmcheck` has not come to it */
export async function checkRelations(server: RunningPostgres): Promise<readonly string[]> {
  const complaints: string[] = [];
  await inEveryDatabase(server, async (client, database) => {
    const schema = await schemaOfAmcheck(client, database);
    const found = [...(await checkHeaps(client, schema)), ...(await checkTrees(client, schema))];
    complaints.push(...found.map((complaint) => `${database}: ${complaint}`));
  });
  return complaints;
}

async function schemaOfAmcheck(client: Client, database: string): Promise<string> {
  const sql = `SELECT nspname AS name FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'amcheck'`;
  const { rows } = await client.query<{ name: string }>(sql);
  if (rows[0] === undefined) throw new Error(`amcheck is not in the database ${database} yet`);
  return quoteIdentifier(rows[0].name);
}

async function checkHeaps(client: Client, schema: string): Promise<string[]> {
  const names = await namesOf(client, `c.relkind IN ('r', 't', 'm')`);
  const complaints: string[] = [];
  for (const { name, oid } of names) {
    await orComplaint(complaints, name, async () => {
      const { rows } = await client.query<{ block: string; msg: string }>(
        `SELECT blkno AS block, msg FROM ${schema}.verify_heapam($1::oid)`,
        [oid],
      );
      complaints.push(...rows.map(({ block, msg }) => `${name}, block ${block}: ${msg}`));
    });
  }
  return complaints;
}

/**
 * Each row of the table must be in the index, too. Not so where the index is over an expression, or has a condition: these would be evaluated, and they are clients' code, which may raise anything, or go on for ever.
 */
async function checkTrees(client: Client, schema: string): Promise<string[]> {
  const index = (columns: string): string => `c.relkind = 'i' AND c.relam = 403 AND EXISTS
    (SELECT FROM pg_index i WHERE i.indexrelid = c.oid AND i.indisvalid AND i.indisready AND (${columns}))`;
  const plain = 'i.indexprs IS NULL AND i.indpred IS NULL';
  const complaints: string[] = [];
  for (const [columns, isWithRows] of [
    [plain, true],
    [`NOT (${plain})`, false],
  ] as const) {
    for (const { name, oid } of await namesOf(client, index(columns))) {
      await orComplaint(complaints, name, () =>
        client.query(`SELECT ${schema}.bt_index_check($1::oid, $2)`, [oid, isWithRows]),
      );
    }
  }
  return complaints;
}

async function namesOf(client: Client, which: string): Promise<readonly { name: string; oid: number }[]> {
  const sql = `SELECT c.oid::regclass::text AS name, c.oid FROM pg_class c
    WHERE c.relpersistence = 'p' AND ${which} ORDER BY c.oid`;
  return (await client.query<{ name: string; oid: number }>(sql)).rows;
}

/** What was dropped meanwhile is no complaint. */
async function orComplaint(complaints: string[], name: string, check: () => Promise<unknown>): Promise<void> {
  try {
    await check();
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    if (code !== undefinedTable && code !== undefinedObject) complaints.push(`${name}: ${message}`);
  }
}

async function inEveryDatabase(
  server: RunningPostgres,
  work: (client: Client, database: string) => Promise<void>,
): Promise<void> {
  const names = await withClient(server, 'postgres', async (client) => {
    const sql =
      'SELECT datname AS name FROM pg_database WHERE datallowconn AND datconnlimit <> -2 ORDER BY oid';
    return (await client.query<{ name: string }>(sql)).rows.map(({ name }) => name);
  });
  for (const name of names) await withClient(server, name, (client) => work(client, name));
}

async function withClient<T>(
  { socketDir }: RunningPostgres,
  database: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = await connectPg({ socketDir, database });
  try {
    await client.query(ownSettings);
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Every fork of every relation; of one that is larger than a file, `.1` is the second file. */
const relationFile = /^\d+(?:_(?:fsm|vm|init))?(?:\.(\d+))?$/;
const chunkBytes = 128 * pageBytes;
const complaintsMax = 100;

export interface CheckedPages {
  readonly pages: number;
  /** The first of them: pages with a wrong checksum, and files that end within a page. */
  readonly complaints: readonly string[];
}

/** Of a PostgreSQL that was shut down. @throws the file system's error, or the signal's reason */
export async function checkPages(dataDir: string, signal?: AbortSignal): Promise<CheckedPages> {
  const complaints: string[] = [];
  let pages = 0;
  const base = join(dataDir, 'base');
  const databases = (await readdir(base)).map((name) => join(base, name));
  for (const directory of [join(dataDir, 'global'), ...databases]) {
    for (const file of (await readdir(directory)).toSorted()) {
      const match = relationFile.exec(file);
      if (match === null) continue;
      const path = join(directory, file);
      const found = await checkFile(path, Number(match[1] ?? 0) * segmentPages, signal);
      pages += found.pages;
      complaints.push(...found.complaints.map((complaint) => `${relative(dataDir, path)}: ${complaint}`));
      if (complaints.length >= complaintsMax) return { pages, complaints };
    }
  }
  return { pages, complaints };
}

async function checkFile(path: string, firstBlock: number, signal?: AbortSignal): Promise<CheckedPages> {
  const complaints: string[] = [];
  const chunk = Buffer.alloc(chunkBytes);
  const handle = await open(path, 'r');
  try {
    for (let from = 0; ; ) {
      signal?.throwIfAborted();
      const bytes = await readFully(handle, chunk, from);
      for (let at = 0; at + pageBytes <= bytes; at += pageBytes) {
        const block = firstBlock + (from + at) / pageBytes;
        if (!isWholePage(chunk, at, block)) complaints.push(`the checksum of block ${block} is wrong`);
      }
      from += bytes;
      if (bytes % pageBytes !== 0) complaints.push(`${from} bytes are no whole pages`);
      if (bytes < chunkBytes) return { pages: Math.floor(from / pageBytes), complaints };
    }
  } finally {
    await handle.close();
  }
}

type Readable = Pick<Awaited<ReturnType<typeof open>>, 'read'>;

/** As much as there is room for, or there is. */
async function readFully(handle: Readable, chunk: Buffer, from: number): Promise<number> {
  let bytes = 0;
  while (bytes < chunk.length) {
    const { bytesRead } = await handle.read(chunk, bytes, chunk.length - bytes, from + bytes);
    if (bytesRead === 0) break;
    bytes += bytesRead;
  }
  return bytes;
}
