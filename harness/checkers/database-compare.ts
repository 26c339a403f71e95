/**
 * Compares databases of replicas from outside: what is in every table of a client's and of the catalogs, in any order, as text.
 *
 * Two replicas are identical if their dumps are deeply equal. It asks other questions than the product's own `verify` does, so that each can be wrong without the other. Reads only. Left out are what a primary writes at any time by itself
 * (statistics, columns of catalogs that VACUUM and ANALYZE change in place), and where sequences stand: a primary's go on before anything is chosen (see `sequencePositions`).
 */
import { Client } from 'pg';

/** Where a replica's own PostgreSQL listens. */
export interface PostgresAddress {
  readonly socketDir: string;
  readonly port?: number;
}

export interface ComparableDump {
  /** Per table: number of rows, and the sums of two hashes of their texts. */
  readonly tables: Readonly<Record<string, string>>;
}

const changedInPlace = [
  'relpages',
  'reltuples',
  'relallvisible',
  'relallfrozen',
  'relhasindex',
  'relhassubclass',
  'relfrozenxid',
  'relminmxid',
  'datfrozenxid',
  'datminmxid',
];

const tablesSql = `SELECT c.oid::regclass::text AS name, c.relnamespace = 'pg_catalog'::regnamespace AS is_catalog
  FROM pg_class c WHERE c.relkind IN ('r', 'm') AND c.relpersistence = 'p' AND c.relispopulated
    AND c.relname NOT IN ('pg_statistic', 'pg_statistic_ext_data')
  ORDER BY 1`;

function summarySql(name: string, isCatalog: boolean): string {
  const text = isCatalog ? `(to_jsonb(x) - '{${changedInPlace.join(',')}}'::text[])::text` : 'x::text';
  return `SELECT count(*) || ' rows, ' || concat(sum(hashtextextended(r, 0)), '/', sum(hashtextextended(r, 7432)))
    FROM (SELECT ${text} AS r FROM ONLY ${name} x) t`;
}

/** @throws Error if PostgreSQL refuses; a standby may end a query that its replay waits for */
export async function comparableDump(server: PostgresAddress, database: string): Promise<ComparableDump> {
  return withConnection(server, database, async (client) => {
    const tables: Record<string, string> = {};
    for (const [name, isCatalog] of await rowsOf(client, tablesSql)) {
      const [summary = []] = await rowsOf(client, summarySql(String(name), isCatalog === true));
      tables[String(name)] = String(summary[0]);
    }
    return { tables };
  });
}

/** Names of what is not the same in both. */
export function differencesOf(one: ComparableDump, other: ComparableDump): readonly string[] {
  return [...new Set([...Object.keys(one.tables), ...Object.keys(other.tables)])]
    .filter((name) => one.tables[name] !== other.tables[name])
    .map(
      (name) => `table ${name}: ${one.tables[name] ?? 'missing'} against ${other.tables[name] ?? 'missing'}`,
    );
}

/** Where each sequence stands, such as `5 called`. The same on all standbys; a primary's is lower by what it has logged ahead, or higher by what is not chosen. */
export async function sequencePositions(
  server: PostgresAddress,
  database: string,
): Promise<Record<string, string>> {
  return withConnection(server, database, async (client) => {
    const positions: Record<string, string> = {};
    const names = await rowsOf(
      client,
      "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'S' AND relpersistence = 'p' ORDER BY 1",
    );
    for (const [name] of names) {
      const [position = []] = await rowsOf(
        client,
        `SELECT concat(last_value, CASE WHEN is_called THEN ' called' END) FROM ${String(name)}`,
      );
      positions[String(name)] = String(position[0]);
    }
    return positions;
  });
}

async function withConnection<T>(
  server: PostgresAddress,
  database: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({
    host: server.socketDir,
    port: server.port ?? 5432,
    user: 'postgres',
    database,
  });
  await client.connect();
  try {
    // Names have their schemas then, and all that a text depends on is the same everywhere.
    await client.query("SET search_path = ''; SET extra_float_digits = 1; SET row_security = off");
    await client.query('BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    return await work(client);
  } finally {
    await client.end();
  }
}

async function rowsOf(client: Client, query: string): Promise<readonly (readonly unknown[])[]> {
  return (await client.query<unknown[]>({ text: query, rowMode: 'array' })).rows;
}
