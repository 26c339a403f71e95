/**
 * A replica whose database answers differently from the others' under `payload: statements`: it is found out, answers nothing more, and comes back with what the others have.
 *
 * Real processes, a real PostgreSQL that is altered behind its replica's back.
 */
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
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

it('a replica that answers differently is fenced, and comes back with what the others have', async () => {
  const one = await clients.connect(0);
  const wrong = await clients.connect(2);
  await one.query('CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL)');
  await one.query('INSERT INTO account SELECT i, 100 FROM generate_series(1, 10) i');
  const status = (await cluster.settled()).find(({ id }) => id === 'r3');
  const behind = new Client({
    host: status?.postgres?.socketDir ?? '',
    port: status?.postgres?.port ?? 0,
    user: 'postgres',
    database: 'barista',
  });
  await behind.connect();
  await behind.query('UPDATE account SET balance = 7 WHERE id = 3');
  await behind.end();
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
