/**
 * Checks a PostgreSQL's files from outside, by PostgreSQL's own means: amcheck's functions over every table and B-tree of all databases, and the checksums of all pages.
 *
 * Replicas are the same byte by byte but for hints, so what a failover or a copy could damage shows here though every query answers. Reads only, but for the extension that `installAmcheck` makes.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { Client } from 'pg';
import { isWholePage, pageBytes, segmentPages } from '../../server/src/adapters/postgres/copy/page.ts';
import type { PostgresAddress } from './database-compare.ts';

const schema = 'amcheck_of_tests';

/** Makes what `checkRelations` needs, in every database. On the primary, whose standbys have it a moment later. */
export async function installAmcheck(primary: PostgresAddress): Promise<void> {
  await inEveryDatabase(primary, async (client) => {
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await client.query(`CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA ${schema}`);
  });
}

/** Of a running primary or standby; each complaint names its database. Empty: nothing is wrong. @throws Error if it is away, or `installAmcheck` has not come to it */
export async function checkRelations(server: PostgresAddress): Promise<readonly string[]> {
  const complaints: string[] = [];
  await inEveryDatabase(server, async (client, database) => {
    await expectInstalled(client, database);
    const found = [...(await checkHeaps(client)), ...(await checkTrees(client))];
    complaints.push(...found.map((complaint) => `${database}: ${complaint}`));
  });
  return complaints;
}

async function expectInstalled(client: Client, database: string): Promise<void> {
  const sql = `SELECT to_regproc('${schema}.verify_heapam') IS NOT NULL AS is`;
  const { rows } = await client.query<{ is: boolean }>(sql);
  if (rows[0]?.is !== true) throw new Error(`amcheck is not in the database ${database} yet`);
}

async function checkHeaps(client: Client): Promise<string[]> {
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

/** Each row of the table must be in the index, too. */
async function checkTrees(client: Client): Promise<string[]> {
  const btree = `c.relkind = 'i' AND c.relam = 403 AND EXISTS
    (SELECT FROM pg_index i WHERE i.indexrelid = c.oid AND i.indisvalid AND i.indisready)`;
  const complaints: string[] = [];
  for (const { name, oid } of await namesOf(client, btree)) {
    await orComplaint(complaints, name, () =>
      client.query(`SELECT ${schema}.bt_index_check($1::oid, true)`, [oid]),
    );
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
const undefinedTable = '42P01';
const undefinedObject = '42704';

async function inEveryDatabase(
  server: PostgresAddress,
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
  { socketDir, port = 5432 }: PostgresAddress,
  database: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({ host: socketDir, port, user: 'postgres', database });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Every fork of every relation; of one that is larger than a file, `.1` is the second file. */
const relationFile = /^\d+(?:_(?:fsm|vm|init))?(?:\.(\d+))?$/;

/** Of a PostgreSQL that was shut down: pages with a wrong checksum, and files that end within a page. Empty: nothing is wrong. */
export async function checkPages(dataDir: string): Promise<readonly string[]> {
  const complaints: string[] = [];
  const base = join(dataDir, 'base');
  const databases = (await readdir(base)).map((name) => join(base, name));
  for (const directory of [join(dataDir, 'global'), ...databases]) {
    for (const file of (await readdir(directory)).toSorted()) {
      const match = relationFile.exec(file);
      if (match === null) continue;
      const path = join(directory, file);
      const found = pagesOf(await readFile(path), Number(match[1] ?? 0) * segmentPages);
      complaints.push(...found.map((complaint) => `${relative(dataDir, path)}: ${complaint}`));
    }
  }
  return complaints;
}

function pagesOf(bytes: Buffer, firstBlock: number): string[] {
  if (bytes.length % pageBytes !== 0) return [`${bytes.length} bytes are no whole pages`];
  const complaints: string[] = [];
  for (let at = 0; at < bytes.length; at += pageBytes) {
    const block = firstBlock + at / pageBytes;
    if (!isWholePage(bytes, at, block)) complaints.push(`the checksum of block ${block} is wrong`);
  }
  return complaints;
}
