/**
 * Where the sequences of all databases stand, exactly: PostgreSQL's WAL has them up to 32 numbers ahead, so that a database which has replayed it goes on with other numbers than one that has not.
 *
 * Invariant: behind `setSequences` each sequence gives the number next that it would have given where they were read. Unlogged and temporary ones are not looked at.
 */
import type { Client } from 'pg';
import { answerMs, connectPg } from '../pg-client.ts';
import { ownSql } from '../../../pgwire/own-sql.ts';

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
    ownSql('SELECT seqcache::pg_catalog.text AS cache FROM pg_catalog.pg_sequence WHERE seqrelid = $1'),
    [oid],
  );
  const isDrawn = isCalled && rows[0]?.cache === '1';
  await client.query('SELECT pg_catalog.setval($1::pg_catalog.oid::pg_catalog.regclass, $2::bigint, $3)', [
    oid,
    value,
    isCalled && !isDrawn,
  ]);
  if (isDrawn)
    await client.query('SELECT pg_catalog.nextval($1::pg_catalog.oid::pg_catalog.regclass)', [oid]);
}

/** From version 18 on PostgreSQL tells it by the number of the sequence. */
const standingSql = ownSql(`SELECT c.oid, s.last_value::pg_catalog.text AS value, s.is_called AS "isCalled"
  FROM pg_catalog.pg_class c, LATERAL pg_catalog.pg_get_sequence_data(c.oid::pg_catalog.regclass) s
  WHERE c.relkind = 'S' AND c.relpersistence = 'p' ORDER BY c.oid`);
const namesSql =
  ownSql(`SELECT oid, oid::pg_catalog.regclass::pg_catalog.text AS name FROM pg_catalog.pg_class
  WHERE relkind = 'S' AND relpersistence = 'p' ORDER BY oid`);

async function readWithin(client: Client): Promise<readonly Standing[]> {
  const version = await client.query<{ is: boolean }>(
    ownSql("SELECT pg_catalog.current_setting('server_version_num')::int >= 180000 AS is"),
  );
  if (version.rows[0]!.is) return (await client.query<Standing>(standingSql)).rows;
  const { rows } = await client.query<{ oid: number; name: string }>(namesSql);
  const all: Standing[] = [];
  for (let from = 0; from < rows.length; from += namesMax) {
    const asked = rows
      .slice(from, from + namesMax)
      .map(
        ({ oid, name }) =>
          `SELECT ${oid}::pg_catalog.oid AS oid, last_value::pg_catalog.text AS value, is_called AS "isCalled" FROM ${name}`,
      );
    all.push(...(await client.query<Standing>(asked.join(' UNION ALL '))).rows);
  }
  return all;
}

function databasesOf(socketDir: string): Promise<readonly string[]> {
  return within(socketDir, 'postgres', async (client) => {
    const { rows } = await client.query<{ datname: string }>(
      ownSql(
        'SELECT datname FROM pg_catalog.pg_database WHERE datallowconn AND datconnlimit <> -2 ORDER BY datname',
      ),
    );
    return rows.map(({ datname }) => datname);
  });
}

async function within<T>(
  socketDir: string,
  database: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = await connectPg({ socketDir, database, silentMsMax: answerMs.thorough });
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
