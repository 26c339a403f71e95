/**
 * Requests without end under `payload: statements`: each fails at all replicas, by its bound or when its client cancels it, and everybody else goes on.
 *
 * Real processes, a real driver.
 */
import { connect as netConnect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ServedGroup } from '../cluster/served-group.ts';
import { ReplicaClients } from './replica-clients.ts';

let group: ServedGroup;
let clients: ReplicaClients;

beforeAll(async () => {
  group = await ServedGroup.found({ payload: 'statements', bounds: { statementSecondsMax: 20 } });
  clients = new ReplicaClients(group);
});

afterAll(async () => {
  await clients?.end();
  await group?.stop();
});

const endless = `DO $$ DECLARE n int := 0; BEGIN LOOP BEGIN LOOP n := (n + 1) % 1000; END LOOP; EXCEPTION WHEN query_canceled THEN n := 0; END; END LOOP; END $$`;

/** Until the replica serves: nothing of what is refused so was executed. */
async function again(client: Client, sql: string): Promise<unknown[]> {
  for (let tries = 0; ; tries += 1) {
    try {
      return (await client.query(sql)).rows;
    } catch (error) {
      if ((error as { code?: string }).code !== '57P03' || tries === 600) throw error;
      await sleep(200);
    }
  }
}

async function equalEverywhere(): Promise<unknown[]> {
  await group.settled();
  return clients.equalEverywhere('SELECT n, v FROM t ORDER BY n');
}

it('a statement that catches its cancel fails everywhere, and whoever waits behind it is served', async () => {
  const [one, other] = [await clients.connect(0), await clients.connect(1)];
  await one.query('CREATE TABLE t (n serial PRIMARY KEY, v int)');
  await other.query('INSERT INTO t (v) VALUES (1)');
  const sinceMs = performance.now();
  const fails = one.query(endless).catch((error: unknown) => error);
  await sleep(500);
  const waits = other.query('INSERT INTO t (v) VALUES (2) RETURNING n');
  expect(await fails).toMatchObject({ code: '57014' });
  expect(performance.now() - sinceMs).toBeGreaterThan(19_000);
  expect((await waits).rows).toEqual([{ n: 2 }]);
  expect(await again(one, 'SELECT count(*)::int AS n FROM t')).toEqual([{ n: 2 }]);
  expect(await equalEverywhere()).toMatchObject([{ v: 1 }, { v: 2 }]);
});

it('one in a block fails when its client cancels it, and what its block has done is gone', async () => {
  const [one, other] = [await clients.connect(0), await clients.connect(1)];
  await again(one, 'BEGIN');
  await one.query('INSERT INTO t (v) VALUES (3)');
  const cancelled = one
    .query('SELECT count(*) FROM generate_series(1, 1000000000000)')
    .catch((error: unknown) => error);
  await sleep(11_000);
  await cancel(one);
  expect(await cancelled).toMatchObject({ code: '57014' });
  await again(one, 'ROLLBACK');
  await again(other, 'INSERT INTO t (v) VALUES (4)');
  expect(await equalEverywhere()).toMatchObject([{ v: 1 }, { v: 2 }, { v: 4 }]);
});

/** As psql does. */
function cancel(client: Client): Promise<void> {
  const { processID, secretKey } = client as unknown as { processID: number; secretKey: number };
  const packet = Buffer.alloc(16);
  packet.writeInt32BE(16, 0);
  packet.writeInt32BE(80_877_102, 4);
  packet.writeInt32BE(processID, 8);
  packet.writeInt32BE(secretKey, 12);
  return new Promise((resolve, reject) => {
    const socket = netConnect({ host: '127.0.0.1', port: group.pgwirePort('r1') }, () =>
      socket.write(packet),
    );
    socket.on('close', () => resolve());
    socket.on('error', reject);
  });
}
