/**
 * Checks a PostgreSQL's relations by PostgreSQL's own means: amcheck's functions over every table, B-tree and GIN index of all databases, and whether each relation has its file.
 *
 * No table of a client's is read by a statement: to plan it, PostgreSQL evaluates what indexes and statistics of that table are over, as the superuser.
 *
 * Reads only, but for the extension that `installAmcheck` makes.
 */
import { readdir, rm } from '../account-files.ts';
import { join } from 'node:path';
import type { Client } from 'pg';
import { segmentPages } from '../copy/page.ts';
import { listDatabases } from '../databases.ts';
import { extensionSchema, makeExtension } from '../own-extension.ts';
import { connectPg, mainDatabase } from '../pg-client.ts';
import {
  lackOf,
  listRelationFiles,
  type RelationFile,
  relationsMax,
  shortnessOf,
} from '../relation-files.ts';
import { ownSql } from '../../../pgwire/own-sql.ts';
import { complaintsMax, type HolesOfFiles } from './check-pages.ts';

const undefinedTable = '42P01';
const undefinedObject = '42704';
const featureNotSupported = '0A000';
const undefinedFile = '58P01';
/** Nobody keeps a check waiting for ever who has locked a table. */
const lockTimeoutMs = 30_000;

export interface RunningPostgres {
  readonly socketDir: string;
}

/**
 * Ends the transactions that are prepared in a restored database as if they had never been prepared: after a crash, too, one that neither committed nor is prepared counts as rolled back. Their locks would keep a check waiting.
 *
 * By their files, since SQL may not get there: they lock databases, and rows that say who may enter one. `dataDir`: was shut down in order, so that none is in the WAL only.
 * @throws the file system's error
 */
export async function dropPrepared(dataDir: string): Promise<void> {
  const directory = join(dataDir, 'pg_twophase');
  for (const name of await readdir(directory)) await rm(join(directory, name));
}

/** Of a restored database that nobody else uses, and in which nothing is prepared: lets Barista into every database. @throws Error of PostgreSQL; the signal's reason */
export async function openForChecks(server: RunningPostgres, signal?: AbortSignal): Promise<void> {
  await withClient(server, mainDatabase, signal, async (client) => {
    await client.query(
      'UPDATE pg_catalog.pg_database SET datallowconn = true WHERE NOT datallowconn AND datconnlimit OPERATOR(pg_catalog.<>) -2',
    );
  });
}

/** Makes what `checkRelations` needs, in every database. On a primary, whose standbys have it a moment later. False: this PostgreSQL has no amcheck. @throws Error of PostgreSQL; the signal's reason */
export async function installAmcheck(primary: RunningPostgres, signal?: AbortSignal): Promise<boolean> {
  try {
    await inEveryDatabase(primary, signal, (client) => makeExtension(client, 'amcheck'));
    return true;
  } catch (error) {
    const { code } = error as { readonly code?: string };
    if (code === featureNotSupported || code === undefinedFile) return false;
    throw error;
  }
}

/** Of a running primary or standby; each complaint names its database. Empty: nothing is wrong. @throws Error if it is away, or `installAmcheck` has not come to it; the signal's reason */
export async function checkRelations(
  server: RunningPostgres,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const complaints: string[] = [];
  const left = await inEveryDatabase(server, signal, async (client, database) => {
    const schema = await extensionSchema(client, 'amcheck');
    if (schema === null) throw new Error(`amcheck is not in the database ${database} yet`);
    const found = [
      ...(await checkFiles(client)),
      ...(await checkHeaps(client, schema)),
      ...(await checkTrees(client, schema)),
      ...(await checkGins(client, schema)),
    ];
    complaints.push(...found.map((complaint) => `${database}: ${complaint}`));
  });
  return [...complaints, ...left.map((database) => `${database}: not checked: it lets nobody in`)];
}

/** From PostgreSQL 18 on. Its operator classes are superusers' or extensions'. */
async function checkGins(client: Client, schema: string): Promise<string[]> {
  const { rows } = await client.query<{ isThere: boolean }>(hasGinCheckSql, [schema]);
  const complaints: string[] = [];
  if (rows[0]?.isThere !== true) return complaints;
  const which = `c.relkind = 'i' AND c.relam = 2742 AND EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indexrelid = c.oid AND i.indisvalid AND i.indisready
    AND i.indexprs IS NULL AND i.indpred IS NULL)`;
  for (const { name, oid } of await namesOf(client, which))
    await orComplaint(complaints, name, () => client.query(ginSql(schema), [oid]));
  return complaints;
}

/** All parameters are named and given, and each is of its own type: no other function of that name can be preferred. */
const heapSql = (schema: string): string =>
  `SELECT blkno AS block, msg FROM ${schema}.verify_heapam(relation => $1::pg_catalog.oid::pg_catalog.regclass, on_error_stop => false,
    check_toast => false, skip => 'none'::pg_catalog.text, startblock => NULL::bigint, endblock => NULL::bigint)`;
const treeSql = (schema: string): string =>
  `SELECT ${schema}.bt_index_check($1::pg_catalog.oid::pg_catalog.regclass, $2::boolean)`;

const ginSql = (schema: string): string =>
  `SELECT ${schema}.gin_index_check($1::pg_catalog.oid::pg_catalog.regclass)`;
/** $1: as an identifier. */
const hasGinCheckSql = ownSql(`SELECT EXISTS (SELECT FROM pg_catalog.pg_proc p
  WHERE p.proname = 'gin_index_check' AND p.pronamespace = $1::pg_catalog.regnamespace) AS "isThere"`);

async function checkFiles(client: Client): Promise<string[]> {
  const complaints: string[] = [];
  for await (const file of relationFiles(client)) {
    const lack = lackOf(file);
    if (lack !== null) complaints.push(`${file.name}: its file ${file.path} ${lack}`);
  }
  return complaints;
}

async function* relationFiles(client: Client): AsyncGenerator<RelationFile> {
  for (let above = '0', isLast = false; !isLast; ) {
    const files = await listRelationFiles(client, above);
    yield* files;
    isLast = files.length < relationsMax;
    above = files.at(-1)?.oid ?? above;
  }
}

/** Relations that may have lost rows, and have no index that would tell: their files are shorter than they were, or have empty pages among others. At most `complaintsMax`. @throws Error of PostgreSQL; the signal's reason */
export async function doubtfulRelations(
  server: RunningPostgres,
  holes: HolesOfFiles,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const doubts: string[] = [];
  await inEveryDatabase(server, signal, async (client, database) => {
    for await (const file of relationFiles(client)) {
      if (lackOf(file) !== null) continue;
      for (const doubt of [shortnessOf(file, segmentPages), holesOf(file, holes)])
        if (doubt !== null && doubts.length < complaintsMax)
          doubts.push(`${database}: ${file.name}: its file ${file.path} ${doubt}`);
    }
  });
  return doubts;
}

/** Several clients that fill a table at once, and a crash, leave empty pages too. */
function holesOf({ path, isTable, areRowsIndexed }: RelationFile, holes: HolesOfFiles): string | null {
  const found = path === null || !isTable || areRowsIndexed ? undefined : holes.get(path);
  if (found === undefined) return null;
  return found.count === 1
    ? `has an empty page among others, page ${found.first}`
    : `has ${found.count} empty pages among others, the first one page ${found.first}`;
}

async function checkHeaps(client: Client, schema: string): Promise<string[]> {
  const names = await namesOf(client, "(c.relkind = 'r' OR c.relkind = 't' OR c.relkind = 'm')");
  const complaints: string[] = [];
  for (const { name, oid } of names) {
    await orComplaint(complaints, name, async () => {
      const { rows } = await client.query<{ block: string; msg: string }>(heapSql(schema), [oid]);
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
    (SELECT FROM pg_catalog.pg_index i WHERE i.indexrelid = c.oid AND i.indisvalid AND i.indisready AND (${columns}))`;
  const plain = 'i.indexprs IS NULL AND i.indpred IS NULL';
  const complaints: string[] = [];
  for (const [columns, isWithRows] of [
    [plain, true],
    [`NOT (${plain})`, false],
  ] as const) {
    for (const { name, oid } of await namesOf(client, index(columns))) {
      await orComplaint(complaints, name, () => client.query(treeSql(schema), [oid, isWithRows]));
    }
  }
  return complaints;
}

async function namesOf(client: Client, which: string): Promise<readonly { name: string; oid: number }[]> {
  const sql =
    ownSql(`SELECT c.oid::pg_catalog.regclass::pg_catalog.text AS name, c.oid FROM pg_catalog.pg_class c
    WHERE c.relpersistence = 'p' AND ${which} ORDER BY c.oid`);
  const { rows } = await client.query<{ name: string; oid: number }>(sql);
  return rows;
}

/** What was dropped meanwhile is no complaint. */
async function orComplaint(complaints: string[], name: string, check: () => Promise<unknown>): Promise<void> {
  try {
    await check();
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    // Without a code the session has ended: nothing more is heard of in it.
    if (code === undefined) throw error;
    if (code !== undefinedTable && code !== undefinedObject) complaints.push(`${name}: ${message}`);
  }
}

/** Databases whose DROP DATABASE was interrupted: PostgreSQL lets nobody in for any purpose but to drop them, and some of their files may be gone. @throws Error of PostgreSQL; the signal's reason */
export async function invalidDatabases(
  server: RunningPostgres,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const listed = await withClient(server, mainDatabase, signal, listDatabases);
  return listed.filter(({ isBroken }) => isBroken).map(({ name }) => name);
}

/** Gives the names of those that let nobody in. @throws what `work` throws; Error of PostgreSQL; the signal's reason */
export async function inEveryDatabase(
  server: RunningPostgres,
  signal: AbortSignal | undefined,
  work: (client: Client, database: string) => Promise<void>,
): Promise<readonly string[]> {
  const listed = await withClient(server, mainDatabase, signal, listDatabases);
  const there = listed.filter(({ isBroken, isSealed }) => !isBroken && !isSealed);
  for (const database of there.filter(({ isOpen }) => isOpen))
    await withClient(server, database.bytes, signal, (client) => work(client, database.name));
  return there.filter(({ isOpen }) => !isOpen).map(({ name }) => name);
}

async function withClient<T>(
  { socketDir }: RunningPostgres,
  database: string | Uint8Array,
  signal: AbortSignal | undefined,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const settings = { lock_timeout: String(lockTimeoutMs) };
  // A check reads all of an index; the signal ends it.
  const client = await connectPg({ socketDir, database, settings, silentMsMax: null });
  // What it is doing has no end of its own, perhaps.
  const quit = (): void => void client.end().catch(() => undefined);
  signal?.addEventListener('abort', quit, { once: true });
  try {
    return await work(client);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', quit);
    await client.end().catch(() => undefined);
  }
}
