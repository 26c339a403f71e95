/**
 * What files of relations are called, asked of the replica's own PostgreSQL, a primary or a standby.
 *
 * Responsible for: one connection to each database in question, for as long as the question takes. Remembers nothing: a file's name changes with the next TRUNCATE.
 * Invariants: never fails for want of a name; at most `databasesMax` databases are asked for one answer, each for at most `timeoutMs`.
 */
import type { Client } from 'pg';
import type { RelationName } from '../../../api/wal-summary.ts';
import type { RelationFile } from '../../../wal/record/block-references.ts';
import { fileKey } from '../../../payload/wal/summary/name-relations.ts';
import { ownSql } from '../../../pgwire/own-sql.ts';

const databasesMax = 4;
const timeoutMs = 1_000;

/** Files that nobody can name are missing. Never rejects. `connect`: as the superuser, to the database of this name, or of these bytes. */
export async function relationNames(
  files: readonly RelationFile[],
  connect: (database: string | Uint8Array) => Promise<Client>,
): Promise<ReadonlyMap<string, RelationName>> {
  const names = new Map<string, RelationName>();
  const byDatabase = new Map<number, RelationFile[]>();
  for (const file of files) byDatabase.set(file.database, [...(byDatabase.get(file.database) ?? []), file]);
  const oids = [...byDatabase.keys()].slice(0, databasesMax);
  try {
    const databases = await withClient(connect, 'postgres', (client) => databaseNames(client, oids));
    for (const oid of oids) {
      const database = oid === shared ? 'postgres' : databases.get(oid);
      if (database === undefined) continue;
      const found = await withClient(connect, database, (client) => ask(client, byDatabase.get(oid)!));
      for (const [key, name] of found) names.set(key, name);
    }
  } catch {
    // PostgreSQL is away, or does not let anybody into a database: what is known so far has to do.
  }
  return names;
}

/** Relations that belong to all databases. */
const shared = 0;

async function withClient<T>(
  connect: (database: string | Uint8Array) => Promise<Client>,
  database: string | Uint8Array,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = await connect(database);
  try {
    await client.query(`SET statement_timeout = ${timeoutMs}`);
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function databaseNames(client: Client, oids: readonly number[]): Promise<ReadonlyMap<number, Buffer>> {
  const sql = ownSql(
    'SELECT oid::bigint::pg_catalog.text AS oid, pg_catalog.namesend(datname) AS bytes FROM pg_catalog.pg_database WHERE oid = ANY ($1::pg_catalog.oid[])',
  );
  const { rows } = await client.query<{ oid: string; bytes: Buffer }>(sql, [oids]);
  return new Map(rows.map(({ oid, bytes }) => [Number(oid), bytes]));
}

interface Row {
  readonly index: number;
  readonly kind: string;
  readonly schema: string;
  readonly name: string;
  readonly table: string | null;
  readonly isToast: boolean;
  readonly isSystem: boolean;
}

/** `t`: the table that an index is on; `o`: the one whose long values are kept there. Objects of PostgreSQL's own have numbers below 16384. */
const sql = ownSql(`
  SELECT f.index::int AS index, c.relkind AS kind, n.nspname AS schema, c.relname AS name,
         coalesce(o.relname, t.relname) AS table, o.oid IS NOT NULL AS "isToast",
         coalesce(o.oid, t.oid, c.oid) < 16384 OR n.nspname = 'information_schema' OR n.nspname = 'pg_barista' AS "isSystem"
    FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.oid[]), pg_catalog.unnest($2::pg_catalog.oid[])) WITH ORDINALITY AS f(tablespace, file, index)
    JOIN pg_catalog.pg_class c ON c.oid = pg_catalog.pg_filenode_relation(f.tablespace, f.file)
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
    LEFT JOIN pg_catalog.pg_class t ON t.oid = i.indrelid
    LEFT JOIN pg_catalog.pg_class o ON o.reltoastrelid = coalesce(i.indrelid, c.oid)`);

async function ask(
  client: Client,
  files: readonly RelationFile[],
): Promise<readonly (readonly [string, RelationName])[]> {
  const { rows } = await client.query<Row>(sql, [
    files.map(({ tablespace }) => tablespace),
    files.map(({ relation }) => relation),
  ]);
  return rows.map((row) => [fileKey(files[row.index - 1]!), toName(row)]);
}

function toName({ kind, schema, name, table, isToast, isSystem }: Row): RelationName {
  const isPlain = schema === 'public' || schema === 'pg_catalog' || schema === 'pg_toast';
  return {
    name: isPlain ? name : `${schema}.${name}`,
    kind: isToast ? 'toast' : kindOf(kind),
    table,
    isSystem,
  };
}

function kindOf(relkind: string): RelationName['kind'] {
  if (relkind === 'r' || relkind === 'm') return 'table';
  if (relkind === 'i') return 'index';
  if (relkind === 'S') return 'sequence';
  return relkind === 't' ? 'toast' : 'other';
}
