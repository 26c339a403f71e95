/** For tests: whether a standby that was made by a copy holds what its primary holds, by what it answers, by amcheck, and by its pages. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type JudgedRelation, judgePages } from './page-judge.ts';
import type { PlainPostgres } from './plain-postgres.ts';

/** Needed on the primary, in each database, before the copy. */
export const installAmcheck = 'CREATE EXTENSION IF NOT EXISTS amcheck';

/** Ends what clients do to the primary, and autovacuum. Both are stopped afterwards. Empty: nothing is wrong. */
export async function differences(primary: PlainPostgres, standby: PlainPostgres): Promise<string[]> {
  await comeToRest(primary);
  await standby.caughtUp(primary);
  const databases = await databasesOf(primary);
  const problems: string[] = [];
  const relations: JudgedRelation[] = [];
  if (databases.join() !== (await databasesOf(standby)).join()) problems.push('there are other databases');
  for (const database of databases) {
    const [expected, found] = [await contentsOf(primary, database), await contentsOf(standby, database)];
    problems.push(...differingLines(expected, found).map((line) => `${database}: ${line}`));
    problems.push(...(await amcheck(standby, database)).map((problem) => `${database}: ${problem}`));
    relations.push(...(await primary.query<JudgedRelation>(relationsToJudge, database)));
  }
  // Its last checkpoint reaches the standby, which writes all its pages when it stops, but only if it has replayed it.
  await primary.stop('fast');
  await standby.replayedAll();
  await standby.stop('fast');
  return [...problems, ...judgePages(primary.dataDir, standby.dataDir, relations)];
}

/** They are read one after the other: what is written between makes them differ. */
async function comeToRest(primary: PlainPostgres): Promise<void> {
  await primary.set('autovacuum', 'off');
  const writers = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE backend_type IN ('client backend', 'autovacuum worker', 'autovacuum launcher') AND pid <> pg_backend_pid()`;
  const deadline = performance.now() + 60_000;
  while ((await primary.value(writers)) !== '0') {
    if (performance.now() > deadline) throw new Error('the primary does not come to rest');
    await sleep(50);
  }
}

async function databasesOf(postgres: PlainPostgres): Promise<string[]> {
  const rows = await postgres.query<{ name: string }>(
    'SELECT datname AS name FROM pg_database WHERE datallowconn AND datconnlimit <> -2 ORDER BY datname',
  );
  return rows.map(({ name }) => name);
}

const tables = `SELECT oid::regclass::text AS name FROM pg_class
  WHERE relkind IN ('r', 'm') AND relpersistence = 'p' AND relnamespace <> 'pg_catalog'::regnamespace
    AND relnamespace <> 'information_schema'::regnamespace
    OR oid IN ('pg_class'::regclass, 'pg_attribute'::regclass, 'pg_proc'::regclass, 'pg_database'::regclass, 'pg_authid'::regclass)
  ORDER BY 1`;
const sequences = `SELECT 'sequence ' || oid::regclass AS line FROM pg_class WHERE relkind = 'S' AND relpersistence = 'p' ORDER BY 1`;
const largeObjects = `SELECT 'large object ' || oid || ' ' || md5(lo_get(oid)) AS line FROM pg_largeobject_metadata ORDER BY 1`;

const relationsToJudge = `SELECT c.oid::regclass::text AS name, pg_relation_filepath(c.oid) AS path,
    CASE WHEN relkind IN ('r', 't', 'm') THEN 'table' WHEN amname IN ('btree', 'spgist') THEN amname ELSE 'other' END AS kind
  FROM pg_class c LEFT JOIN pg_am am ON am.oid = relam
  WHERE relkind IN ('r', 't', 'm', 'i') AND relpersistence = 'p' AND pg_relation_filepath(c.oid) IS NOT NULL`;

/** A line for each thing, with a digest of what is in it. */
async function contentsOf(postgres: PlainPostgres, database: string): Promise<string[]> {
  const client = await postgres.client(database);
  const lines: string[] = [];
  const names = (await client.query<{ name: string }>(tables)).rows.map(({ name }) => name);
  for (const name of names) {
    const digest =
      "SELECT count(*) || ' ' || coalesce(md5(string_agg(t::text, ',' ORDER BY t::text)), '') AS digest";
    const result = await client.query<{ digest: string }>(`${digest} FROM ${name} t`);
    lines.push(`${name} ${result.rows[0]?.digest}`);
  }
  for (const question of [sequences, largeObjects]) {
    lines.push(...(await client.query<{ line: string }>(question)).rows.map(({ line }) => line));
  }
  await client.end();
  return lines;
}

function differingLines(expected: readonly string[], found: readonly string[]): string[] {
  const [there, here] = [new Set(expected), new Set(found)];
  return [
    ...expected.filter((line) => !here.has(line)).map((line) => `lacks "${line}"`),
    ...found.filter((line) => !there.has(line)).map((line) => `has "${line}"`),
  ];
}

async function amcheck(postgres: PlainPostgres, database: string): Promise<string[]> {
  const there = await postgres.query("SELECT FROM pg_extension WHERE extname = 'amcheck'", database);
  if (there.length === 0) return [];
  const problems = await postgres.query<{ name: string; msg: string }>(
    `SELECT oid::regclass::text AS name, msg FROM pg_class, verify_heapam(oid) WHERE relkind IN ('r', 't', 'm') AND relpersistence = 'p'`,
    database,
  );
  const indexes = await postgres.query<{ name: string; oid: number }>(
    `SELECT c.oid::regclass::text AS name, c.oid FROM pg_class c JOIN pg_index ON indexrelid = c.oid
     WHERE relkind = 'i' AND relam = 403 AND relpersistence = 'p' AND indisvalid AND indisready`,
    database,
  );
  const found = problems.map(({ name, msg }) => `${name}: ${msg}`);
  for (const { name, oid } of indexes) {
    await postgres.query(`SELECT bt_index_check(${oid}, true)`, database).catch((error: unknown) => {
      found.push(`${name}: ${(error as Error).message}`);
    });
  }
  return found;
}
