/** For tests: statements of many kinds, drawn from a seed, so that a data directory holds a bit of everything. */
import type { Client } from 'pg';
import type { PlainPostgres } from './plain-postgres.ts';

export type Random = () => number;

export function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)]!;
}

interface Drawn {
  readonly random: Random;
  /** One of a few names, so that what one session makes another one uses. */
  readonly name: string;
  readonly number: number;
}

type Statement = (drawn: Drawn) => string;

const make: Statement = ({ name }) =>
  `CREATE TABLE IF NOT EXISTS ${name} (id bigserial PRIMARY KEY, n int, t text DEFAULT repeat('x', 40), doc jsonb DEFAULT '{"a": 1}')`;
const insert: Statement = ({ name, number }) =>
  `INSERT INTO ${name} (n) SELECT generate_series(1, ${number})`;

/** Each of them may fail, for want of its table say. */
const statements: readonly Statement[] = [
  make,
  make,
  insert,
  insert,
  insert,
  ({ name, number }) => `UPDATE ${name} SET n = n + 1 WHERE id % 7 = ${number % 7}`,
  ({ name, number }) =>
    `UPDATE ${name} SET t = repeat('y', ${number}), doc = '{"b": ${number}}' WHERE id % 11 = 3`,
  ({ name, number }) => `DELETE FROM ${name} WHERE id % 5 = ${number % 5}`,
  ({ name }) =>
    `INSERT INTO ${name} (n, t) SELECT 1, string_agg(md5(i::text), '') FROM generate_series(1, 400) i`,
  ({ name }) => `SELECT count(*), sum(n) FROM ${name}`,
  ({ name, number }) =>
    `SET enable_seqscan = off; SELECT count(*) FROM ${name} WHERE id < ${number * 10}; RESET enable_seqscan`,
  ({ name }) => `BEGIN; INSERT INTO ${name} (n) SELECT generate_series(1, 300); ROLLBACK`,
  ({ name }) =>
    `BEGIN; SAVEPOINT a; DELETE FROM ${name}; ROLLBACK TO a; INSERT INTO ${name} (n) VALUES (5); COMMIT`,
  ({ name }) => `BEGIN; SELECT FROM ${name} WHERE id % 3 = 0 FOR UPDATE; COMMIT`,
  ({ name }) =>
    `BEGIN; SELECT FROM ${name} WHERE id % 3 = 1 FOR KEY SHARE; UPDATE ${name} SET n = 0 WHERE id = 4; COMMIT`,
  ({ name, number }) =>
    `BEGIN; UPDATE ${name} SET n = 7 WHERE id % 13 = 2; PREPARE TRANSACTION 'p${number % 9}'`,
  ({ number }) => `COMMIT PREPARED 'p${number % 9}'`,
  ({ number }) => `ROLLBACK PREPARED 'p${number % 9}'`,
  ({ name }) => `TRUNCATE ${name}`,
  ({ name }) => `DROP TABLE ${name}`,
  ({ name }) => `VACUUM ${name}`,
  ({ name }) => `VACUUM (FREEZE) ${name}`,
  ({ name }) => `VACUUM FULL ${name}`,
  () => 'CHECKPOINT',
  () => 'SELECT pg_switch_wal()',
  ({ name, number }) => `CREATE INDEX ON ${name} (n) WHERE n > ${number}`,
  ({ name }) => `CREATE INDEX ON ${name} USING gin (doc)`,
  ({ name }) => `CREATE INDEX ON ${name} USING brin (id)`,
  ({ name }) => `CREATE INDEX ON ${name} USING hash (n)`,
  ({ name }) => `CREATE INDEX ON ${name} USING gist (int4range(0, n))`,
  ({ name }) => `CREATE INDEX ON ${name} USING spgist (t)`,
  ({ name }) => `REINDEX TABLE ${name}`,
  ({ name, number }) =>
    `ALTER TABLE ${name} ADD COLUMN IF NOT EXISTS extra${number % 3} numeric DEFAULT random()`,
  ({ name }) => `CREATE TABLE IF NOT EXISTS ${name}_copy AS SELECT * FROM ${name}`,
  ({ name }) => `DROP TABLE ${name}_copy`,
  ({ name }) =>
    `CREATE MATERIALIZED VIEW IF NOT EXISTS ${name}_view AS SELECT n, count(*) FROM ${name} GROUP BY n`,
  ({ name }) => `REFRESH MATERIALIZED VIEW ${name}_view`,
  ({ name }) => `CREATE UNLOGGED TABLE IF NOT EXISTS ${name}_unlogged AS SELECT * FROM ${name}`,
  ({ name }) =>
    `CREATE TEMP TABLE passing AS SELECT * FROM ${name}; INSERT INTO passing SELECT * FROM passing; DROP TABLE passing`,
  ({ number }) => `CREATE SEQUENCE IF NOT EXISTS s${number % 3}`,
  ({ number }) => `SELECT nextval('s${number % 3}') FROM generate_series(1, ${number})`,
  ({ number }) =>
    `SELECT lo_from_bytea(${900_000 + (number % 5)}, decode(repeat('ab', ${number * 20}), 'hex'))`,
  ({ number }) => `SELECT lo_unlink(${900_000 + (number % 5)})`,
  ({ number }) => `CREATE DATABASE d${number % 3} STRATEGY ${number % 2 === 0 ? 'wal_log' : 'file_copy'}`,
  ({ number }) => `DROP DATABASE d${number % 3} WITH (FORCE)`,
  ({ number }) => `CREATE ROLE role${number % 4}`,
  ({ number }) => `DROP ROLE role${number % 4}`,
  ({ name }) => `COPY ${name} TO STDOUT`,
];

const looks: readonly Statement[] = [
  ({ name }) => `SELECT count(*), sum(n) FROM ${name}`,
  ({ name, number }) =>
    `SET enable_seqscan = off; SELECT count(*) FROM ${name} WHERE id < ${number * 10}; RESET enable_seqscan`,
  ({ name }) => `SELECT count(*) FROM ${name}_copy`,
];

export interface Load {
  /** Sessions that run on until this is called; those that wait for something are left where they are. */
  stop(): Promise<void>;
}

const names = ['alpha', 'beta', 'gamma', 'delta'];

/** The statements that fail are part of it. */
export function startLoad(postgres: PlainPostgres, sessions: number, random: Random): Load {
  return start(postgres, sessions, statements, random);
}

/** Sessions that look at everything, and leave hints. */
export function startReaders(postgres: PlainPostgres, sessions: number, random: Random): Load {
  return start(postgres, sessions, looks, random);
}

function start(postgres: PlainPostgres, sessions: number, list: readonly Statement[], random: Random): Load {
  let stopped = false;
  const running = Array.from({ length: sessions }, () => runSession(postgres, list, random, () => stopped));
  return {
    async stop() {
      stopped = true;
      const patience = new Promise<void>((resolve) => setTimeout(resolve, 300));
      await Promise.race([Promise.all(running), patience]);
    },
  };
}

async function runSession(
  postgres: PlainPostgres,
  list: readonly Statement[],
  random: Random,
  isStopped: () => boolean,
): Promise<void> {
  let client: Client | null = null;
  for (let i = 0; !isStopped(); i += 1) {
    if (client === null || i % 20 === 0) {
      void client?.end().catch(() => undefined);
      const database = random() < 0.8 ? 'postgres' : `d${Math.floor(random() * 3)}`;
      client = await postgres.client(database).catch(() => null);
      if (client === null) continue;
      // A prepared transaction holds its locks for as long as it likes.
      await client.query("SET lock_timeout = '200ms'").catch(() => undefined);
      if (isStopped()) break;
    }
    const drawn = { random, name: pick(random, names), number: 1 + Math.floor(random() * 300) };
    const failed = await client.query(pick(random, list)(drawn)).then(
      () => false,
      () => true,
    );
    if (failed) await client.query('ROLLBACK').catch(() => undefined);
  }
  void client?.end().catch(() => undefined);
}

/** Ends what is prepared, one way or the other, and all sessions. */
export async function settle(postgres: PlainPostgres, random: Random): Promise<void> {
  await postgres.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
  );
  const prepared = await postgres.query<{ gid: string; database: string }>(
    'SELECT gid, database FROM pg_prepared_xacts',
  );
  for (const { gid, database } of prepared) {
    await postgres.query(`${random() < 0.5 ? 'COMMIT' : 'ROLLBACK'} PREPARED '${gid}'`, database);
  }
}
