/** A standby that is configured lower than its primary, which streams to it directly. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectAlone, connectAs, makeData, openTestInstance } from '../testing/test-instance.ts';
import type { PostgresInstance } from './postgres-instance.ts';

let root = '';
let primary: PostgresInstance;
let standby: PostgresInstance;

const locks = { max_locks_per_transaction: '64' };

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-limits-'));
  await makeData(join(root, 'primary'));
  primary = await openTestInstance(join(root, 'primary'), { connectionsMax: 40, settings: locks });
  await primary.start({ kind: 'primary' });
  await write('CREATE TABLE drinks (name text)');
  await primary.stop('fast');
  await cp(primary.dataDir, join(root, 'standby', 'data'), { recursive: true });
  standby = await openTestInstance(join(root, 'standby'), {
    connectionsMax: 25,
    settings: { max_locks_per_transaction: '20', max_worker_processes: '2', max_wal_senders: '4' },
  });
});
afterAll(async () => {
  await standby.close();
  await primary.close();
  await rm(root, { recursive: true, force: true });
});

async function write(sql: string): Promise<void> {
  const client = await connectAlone(primary);
  await client.query(sql);
  await client.end();
}

function startStandby(): Promise<void> {
  const connectionInfo = `host='${primary.socketDir}' port=${primary.port} user=postgres`;
  return standby.start({ kind: 'standby', connectionInfo });
}

/** Null while it lets nobody in. */
async function ask(sql: string): Promise<unknown> {
  try {
    const client = await connectAs(standby.socketDir, 'postgres', 'postgres');
    const { rows } = await client.query<Record<string, unknown>>(sql);
    await client.end();
    return rows[0];
  } catch {
    return null;
  }
}

const inForce = `SELECT current_setting('max_connections') AS connections, current_setting('max_locks_per_transaction') AS locks,
  current_setting('max_worker_processes') AS workers, current_setting('max_wal_senders') AS senders`;

it('starts, with what the WAL in its directory asks for', async () => {
  await startStandby();
  await expect
    .poll(() => ask(inForce))
    .toEqual({ connections: '40', locks: '64', workers: '8', senders: '8' });
});

it('ends when its primary goes on with higher ones, and goes on itself when it is started again', async () => {
  const ended = new Promise<string>((resolve) => {
    standby.onExit(resolve);
  });
  primary = await openTestInstance(join(root, 'primary'), { connectionsMax: 60, settings: locks });
  await primary.start({ kind: 'primary' });
  await write("INSERT INTO drinks VALUES ('ristretto')");
  await ended;
  await startStandby();
  await expect.poll(() => ask('SELECT name FROM drinks')).toEqual({ name: 'ristretto' });
  expect(await ask(inForce)).toMatchObject({ connections: '60' });
});
