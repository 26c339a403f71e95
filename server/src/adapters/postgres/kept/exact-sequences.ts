/**
 * Where the sequences of all databases stand, exactly: PostgreSQL's WAL has them up to 32 numbers ahead, so that a database which has replayed it goes on with other numbers than one that has not.
 *
 * Invariant: behind `setSequences` each sequence gives the number next that it would have given where they were read. Unlogged and temporary ones are not looked at.
 */
import type { Client } from 'pg';
import { ownSql } from '../../../pgwire/own-sql.ts';
import { listDatabases } from '../databases.ts';
import { bytesOfName, exactName } from '../exact-name.ts';
import { answerMs, connectPg, mainDatabase } from '../pg-client.ts';

export interface ExactSequence {
  /** As `exactName` writes it. */
  readonly database: string;
  readonly oid: number;
  /** `last_value` and `is_called`. Numbers of 64 bits. */
  readonly value: string;
  readonly isCalled: boolean;
}

/** Of one question. */
const sequencesMax = 500;

export async function readSequences(socketDir: string): Promise<readonly ExactSequence[]> {
  const found: ExactSequence[] = [];
  for (const database of await databasesOf(socketDir)) {
    const read = await within(socketDir, database, readWithin);
    const name = exactName(database);
    for (const { oid, value, isCalled } of read) found.push({ database: name, oid, value, isCalled });
  }
  return found;
}

/** Nobody else may use them meanwhile. */
export async function setSequences(socketDir: string, all: readonly ExactSequence[]): Promise<void> {
  for (const database of new Set(all.map((one) => one.database)))
    await within(socketDir, bytesOfName(database), async (client) => {
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
/** Before, a sequence is read by its name, which is known in PostgreSQL alone: here it would be text, and in a database of another encoding another name. */
const oidsSql = ownSql(
  `SELECT oid FROM pg_catalog.pg_class WHERE relkind = 'S' AND relpersistence = 'p' ORDER BY oid`,
);
const readSql = (oids: readonly number[]): string => `DO $do$ DECLARE
  s pg_catalog.oid; v pg_catalog.text; c pg_catalog.bool; found pg_catalog.text := '';
BEGIN
  FOREACH s IN ARRAY '{${oids.join(',')}}'::pg_catalog.oid[] LOOP
    EXECUTE pg_catalog.format('SELECT last_value, is_called FROM %s', s::pg_catalog.regclass) INTO v, c;
    found := pg_catalog.concat(found, ' ', s, ':', v, ':', c);
  END LOOP;
  PERFORM pg_catalog.set_config('barista.standing', found, false);
END $do$`;
const toldSql = "SELECT pg_catalog.current_setting('barista.standing') AS told";

async function readWithin(client: Client): Promise<readonly Standing[]> {
  const version = await client.query<{ is: boolean }>(
    ownSql("SELECT pg_catalog.current_setting('server_version_num')::int >= 180000 AS is"),
  );
  if (version.rows[0]!.is) return (await client.query<Standing>(standingSql)).rows;
  return readOneByOne(client);
}

/** For tests: what `readSequences` does where PostgreSQL is older than 18. */
export async function readOneByOne(client: Client): Promise<readonly Standing[]> {
  const { rows } = await client.query<{ oid: number }>(oidsSql);
  const all: Standing[] = [];
  for (let from = 0; from < rows.length; from += sequencesMax) {
    await client.query(readSql(rows.slice(from, from + sequencesMax).map(({ oid }) => oid)));
    const { rows: answers } = await client.query<{ told: string }>(toldSql);
    for (const one of answers[0]!.told.trim().split(' ')) {
      const [oid = '', value = '', isCalled] = one.split(':');
      all.push({ oid: Number(oid), value, isCalled: isCalled === 't' });
    }
  }
  return all;
}

function databasesOf(socketDir: string): Promise<readonly Buffer[]> {
  return within(socketDir, mainDatabase, async (client) => {
    const listed = await listDatabases(client);
    return listed.filter(({ isOpen, isBroken }) => isOpen && !isBroken).map(({ bytes }) => bytes);
  });
}

async function within<T>(
  socketDir: string,
  database: string | Uint8Array,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = await connectPg({ socketDir, database, silentMsMax: answerMs.thorough });
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
