/**
 * Compares databases of replicas from outside: what is in every table, in any order, and how the schema looks.
 *
 * Two replicas are identical if their dumps are deeply equal. Barista's own schema is left out, for it belongs to the replica. So
 * are the positions of sequences: a leader's run ahead of what was agreed on (see sequencePositions). Reads only. What is compared, and how, stands in the
 * postgres adapter, whose `verify` asks the same.
 */
import { Client } from 'pg';
import {
  comparisonSettings,
  schemaQueries,
  tableDigestSql,
  tablesSql,
} from '../../server/src/adapters/postgres/digest/catalog-sql.ts';

/** Where a replica's own PostgreSQL listens. */
export interface PostgresAddress {
  readonly socketDir: string;
  readonly port?: number;
}

export interface ComparableDump {
  /** Per table: number of rows, and a sum of hashes of their texts. */
  readonly tables: Readonly<Record<string, string>>;
  /** One line per object, sorted. */
  readonly schema: readonly string[];
}

export async function comparableDump(server: PostgresAddress, database: string): Promise<ComparableDump> {
  return withConnection(server, database, async (client) => {
    const schema: string[] = [];
    for (const query of schemaQueries) {
      for (const [name, text] of await rowsOf(client, query)) schema.push(`${name ?? ''}: ${text ?? ''}`);
    }
    const tables: Record<string, string> = {};
    for (const [name = ''] of await rowsOf(client, tablesSql)) {
      const [sum = []] = await rowsOf(client, tableDigestSql(name ?? ''));
      tables[name ?? ''] = `${sum[0] ?? ''} rows, ${sum[1] ?? ''}`;
    }
    return { tables, schema: schema.sort() };
  });
}

/** Where each sequence stands, such as `5 called`. */
export async function sequencePositions(
  server: PostgresAddress,
  database: string,
): Promise<Record<string, string>> {
  return withConnection(server, database, async (client) => {
    const names = await rowsOf(
      client,
      'SELECT sequence::regclass::text FROM _barista.tracked_sequence ORDER BY 1',
    );
    const positions: Record<string, string> = {};
    for (const [name] of names) {
      const [position = []] = await rowsOf(
        client,
        `SELECT concat(last_value, CASE WHEN is_called THEN ' called' END) FROM ${name ?? ''}`,
      );
      positions[name ?? ''] = position[0] ?? '';
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
    for (const [name, value] of Object.entries(comparisonSettings)) {
      await client.query('SELECT set_config($1, $2, false)', [name, value]);
    }
    await client.query('BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    return await work(client);
  } finally {
    await client.end();
  }
}

async function rowsOf(client: Client, query: string): Promise<readonly (readonly (string | null)[])[]> {
  return (await client.query<(string | null)[]>({ text: query, rowMode: 'array' })).rows;
}
