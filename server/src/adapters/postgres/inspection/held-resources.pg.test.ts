/** A full lock table and prepared transactions, in a real PostgreSQL with little room for both. */
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestPostgres, type TestPostgres } from '../../../gateways/pgwire/testing/postgres.ts';
import { HeldResourceWatch } from './held-resources.ts';

let pg: TestPostgres;
let watch: HeldResourceWatch;
const warned: object[] = [];
const never = 3_600_000;

beforeAll(async () => {
  pg = await startTestPostgres({
    max_connections: '20',
    max_prepared_transactions: '4',
    max_locks_per_transaction: '10',
  });
  watch = new HeldResourceWatch(pg, { warn: (fields) => warned.push(fields) }, never);
  await watch.look();
});
afterAll(async () => {
  watch.stop();
  await pg.stop();
});

async function connectClient(): Promise<Client> {
  const client = new Client({ host: pg.socketDir, port: pg.port, user: 'barista', database: pg.database });
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** The SQLSTATE of a log-in that fails; null: it succeeds. */
async function loginFailure(): Promise<string | null> {
  try {
    await (await connectClient()).end();
    return null;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

it('a session that fills the lock table is named and ended, though nobody can log in', async () => {
  expect(watch.report).toMatchObject({ locks: { max: 240 }, prepared: { count: 0, max: 4, oldest: null } });
  const hoarder = await connectClient();
  const { rows } = await hoarder.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const pid = rows[0]!.pid;
  const locks = `DO $$ DECLARE n bigint := 0; BEGIN
    LOOP n := n + 1; PERFORM pg_advisory_lock(n); END LOOP;
    EXCEPTION WHEN out_of_memory THEN RETURN; END $$`;
  // Locks of a session outlive the subtransaction in which they were taken.
  await hoarder.query(locks);
  expect(await loginFailure()).toBe('53200');
  await watch.look();
  const { held, max, holders } = watch.report!.locks;
  expect(held).toBeGreaterThanOrEqual(max);
  expect(holders[0]!.pid).toBe(pid);
  expect(warned).toHaveLength(1);
  expect(await watch.endSession(pid)).toBe(true);
  await expect.poll(loginFailure).toBeNull();
});

it('no session but a client’s is ended', async () => {
  const { rows } = await pg.superuser.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  expect(await watch.endSession(rows[0]!.pid)).toBe(false);
  expect(await watch.endSession(1)).toBe(false);
});

it('prepared transactions are counted, and the oldest is named', async () => {
  const client = await connectClient();
  for (const gid of ['first', 'second'])
    await client.query(`BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION '${gid}'`);
  await watch.look();
  expect(watch.report!.prepared).toMatchObject({ count: 2, oldest: { gid: 'first' } });
  for (const gid of ['first', 'second']) await client.query(`ROLLBACK PREPARED '${gid}'`);
  await client.end();
});
