/** What tests of named transactions share: a PostgreSQL, a gateway before it, and a client with a table. The bindings are live: those of the test that runs. */
import type { Client, ClientConfig, QueryResult } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { prepareRequests } from '../../../adapters/postgres/requests/request-schema.ts';
import { serviceOf, startGateway, type TestGateway } from './gateway.ts';
import { backends, holdCommits, sleep } from './helpers.ts';
import { startTestPostgres, type TestPostgres } from './postgres.ts';

export let pg: TestPostgres;
export let gateway: TestGateway;
export let client: Client;
/** What clients were told in passing. */
export let notices: string[];
/** Databases in which the functions for names were asked for. */
export let prepared: string[];
/** Set by `holdNamedCommits`. */
export let letCommitsGo: (() => Promise<void>) | null = null;

export const told =
  'RQ001 the transaction with this request_id was already committed: nothing was executed again';
export const insert = "INSERT INTO t VALUES (1, 'x')";

/** To be called once in each file. */
export function useNamedTransactions(): void {
  beforeAll(async () => {
    pg = await startTestPostgres();
    await pg.superuser.query("CREATE ROLE other LOGIN PASSWORD 'other'");
  });
  afterAll(async () => {
    await pg.stop();
  });
  beforeEach(async () => {
    const service = serviceOf(pg);
    prepared = [];
    service.prepare = async (database) => {
      prepared.push(database);
      const operator = await pg.connect(database);
      await prepareRequests(operator);
      await operator.end();
    };
    gateway = await startGateway(pg, { service });
    notices = [];
    client = await connect();
    await client.query('CREATE TABLE t (a int PRIMARY KEY, b text); GRANT ALL ON t TO other');
  });
  afterEach(async () => {
    await letCommitsGo?.();
    letCommitsGo = null;
    await client.end().catch(() => {});
    await gateway.listener.close();
    // A session that was cut off in a transaction ends a little later, and might hold what is dropped in another order.
    for (let left = 200; left > 0 && (await backends(pg)) > 0; left -= 1) await sleep(10);
    await pg.superuser.query('DROP TABLE IF EXISTS t CASCADE; DROP SCHEMA IF EXISTS pg_barista CASCADE');
  });
}

export async function connect(change: ClientConfig = {}, to = gateway): Promise<Client> {
  const fresh = await to.client(change);
  fresh.on('notice', (notice) => notices.push(`${notice.code} ${notice.message}`));
  return fresh;
}

/** Without what else is recorded where a statement has failed under the name (session/named/request-digest.ts). */
export async function recorded(): Promise<string[]> {
  const { rows } = await pg.superuser.query<{ line: string }>(
    "SELECT concat_ws(' ', role::regrole, id, split_part(tag, E'\\n', 1)) AS line FROM pg_barista.request ORDER BY position",
  );
  return rows.map(({ line }) => line);
}

export function name(id: string, on = client): Promise<QueryResult> {
  return on.query(`SET barista.request_id = '${id}'`);
}

/** Once the database is prepared, which is a commit, too. */
export async function holdNamedCommits(): Promise<void> {
  await name('prepared');
  letCommitsGo = await holdCommits(pg);
}
