/**
 * A replica whose database answers differently from the others' under `payload: statements`: it is found out, answers nothing more, and comes back with what the others have.
 *
 * Real processes, a real PostgreSQL that is altered behind its replica's back.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ReplicaStatus } from '../../server/src/api/status.ts';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';
import { ReplicaClients } from './replica-clients.ts';

let cluster: LocalCluster;
let clients: ReplicaClients;

beforeAll(async () => {
  cluster = await startCluster({ args: ['--payload=statements', '--no-dashboard'] });
  clients = new ReplicaClients(cluster);
});

afterAll(async () => {
  await clients?.end();
  await cluster?.stop();
});

/** Behind its replica's back. */
async function alter({ postgres }: ReplicaStatus, sql: string): Promise<void> {
  const behind = new Client({
    host: postgres.socketDir,
    port: postgres.port,
    user: 'postgres',
    database: 'barista',
  });
  await behind.connect();
  await behind.query(sql);
  await behind.end();
}

it('a replica that answers differently is fenced, and comes back with what the others have', async () => {
  const one = await clients.connect(0);
  const wrong = await clients.connect(2);
  await one.query('CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL)');
  await one.query('INSERT INTO account SELECT i, 100 FROM generate_series(1, 10) i');
  const status = (await cluster.settled()).find(({ id }) => id === 'r3');
  await alter(status!, 'UPDATE account SET balance = 7 WHERE id = 3');
  const ask = 'SELECT balance FROM account WHERE id = 3';
  expect((await one.query(ask)).rows).toEqual([{ balance: 100 }]);
  await expect
    .poll(() =>
      wrong.query('SELECT 1').then(
        () => 'answered',
        (error: Error) => error.name,
      ),
    )
    .toBe('error');
  await expect
    .poll(
      async () => {
        const again = await clients.connect(2);
        const { rows } = await again.query(ask);
        await again.end();
        return rows;
      },
      { interval: 500 },
    )
    .toEqual([{ balance: 100 }]);
  expect((await one.query(ask)).rows).toEqual([{ balance: 100 }]);
  await one.end();
});

it('where all differ nobody serves, all say why, and leadership rests', async () => {
  for (const [index, status] of (await cluster.settled()).entries())
    await alter(status, `UPDATE account SET balance = ${index} WHERE id = 4`);
  const one = await clients.connect(0);
  await one.query('SELECT balance FROM account WHERE id = 4');
  const seen = async () => (await cluster.status()).replicas.flatMap(({ status }) => status ?? []);
  await expect
    .poll(async () => (await seen()).map(({ state, message }) => [state, message?.slice(0, 28)]))
    .toEqual([1, 2, 3].map(() => ['diverged', 'The answers of r1, r2, r3 to']));
  const highest = async () => Math.max(...(await seen()).map(({ ballot }) => ballot.round));
  const before = await highest();
  // Ten looks of a replica at itself: it stepped down at each, and the next one was elected within 100 ms. (A busy machine may bring about an election all the same.)
  await sleep(3_000);
  expect((await highest()) - before).toBeLessThan(5);
});
