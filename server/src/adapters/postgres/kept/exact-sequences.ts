/**
 * Where the sequences of all databases stand, exactly: PostgreSQL's WAL has them up to 32 numbers ahead, so that a database which has replayed it goes on with other numbers than one that has not.
 *
 * Invariant: behind `setSequences` each sequence gives the number next that it would have given where they were read. Unlogged and temporary ones are not looked at.
 */
import type { Client } from 'pg';
import { connectPg } from '../pg-client.ts';

export interface ExactSequence {
  readonly database: string;
  readonly oid: number;
  /** `last_value` and `is_called`. Numbers of 64 bits. */
  readonly value: string;
  readonly isCalled: boolean;
}

/** Of one question. */
const namesMax = 500;

export async function readSequences(socketDir: string): Promise<readonly ExactSequence[]> {
  const found: ExactSequence[] = [];
  for (const database of await databasesOf(socketDir)) {
    const read = await within(socketDir, database, readWithin);
    for (const { oid, value, isCalled } of read) found.push({ database, oid, value, isCalled });
  }
  return found;
}

/** Nobody else may use them meanwhile. */
export async function setSequences(socketDir: string, all: readonly ExactSequence[]): Promise<void> {
  for (const database of new Set(all.map((one) => one.database)))
    await within(socketDir, database, async (client) => {
      const now = new Map((await readWithin(client)).map((one) => [one.oid, one]));
      for (const { oid, value, isCalled } of all.filter((one) => one.database === database)) {
        const found = now.get(oid);
        if (found === undefined) throw new Error(`there is no sequence ${oid} in ${database}`);
        if (found.value !== value || found.isCalled !== isCalled) await set(client, { oid, value, isCalled });
      }
    });
}

type Standing = Pick<ExactSequence, 'oid' | 'value' | 'isCalled'>;

/** By a number that is drawn where that is possible: then it has numbers in hand, as one has that no crash has moved on. */
async function set(client: Client, { oid, value, isCalled }: Standing): Promise<void> {
  const { rows } = await client.query<{ cache: string }>(
    'SELECT seqcache::text AS cache FROM pg_catalog.pg_sequence WHERE seqrelid = $1',
    [oid],
  );
  const isDrawn = isCalled && rows[0]?.cache === '1';
  await client.query('SELECT pg_catalog.setval($1::oid::regclass, $2::bigint, $3)', [
    oid,
    value,
    isCalled && !isDrawn,
  ]);
  if (isDrawn) await client.query('SELECT pg_catalog.nextval($1::oid::regclass)', [oid]);
}

async function readWithin(client: Client): Promise<readonly Standing[]> {
  const { rows } = await client.query<{ oid: number; name: string }>(
    `SELECT oid, oid::regclass::text AS name FROM pg_catalog.pg_class WHERE relkind = 'S' AND relpersistence = 'p' ORDER BY oid`,
  );
  const all: Standing[] = [];
  for (let from = 0; from < rows.length; from += namesMax) {
    const asked = rows
      .slice(from, from + namesMax)
      .map(({ oid, name }) => `SELECT ${oid}::oid AS oid, last_value::text AS value, is_called FROM ${name}`);
    const answer = await client.query<{ oid: number; value: string; is_called: boolean }>(
      asked.join(' UNION ALL '),
    );
    all.push(...answer.rows.map(({ oid, value, is_called: isCalled }) => ({ oid, value, isCalled })));
  }
  return all;
}

function databasesOf(socketDir: string): Promise<readonly string[]> {
  return within(socketDir, 'postgres', async (client) => {
    const { rows } = await client.query<{ datname: string }>(
      'SELECT datname FROM pg_catalog.pg_database WHERE datallowconn AND datconnlimit <> -2 ORDER BY datname',
    );
    return rows.map(({ datname }) => datname);
  });
}

async function within<T>(
  socketDir: string,
  database: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = await connectPg({ socketDir, database });
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
