/**
 * A replica whose database answers differently from the others' under `payload: statements`: it is found out, answers nothing more, and comes back with what the others have.
 *
 * Real processes, a real PostgreSQL that is altered behind its replica's back.
 */
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

it('a replica that answers differently tells nobody its answer, is fenced, and comes back with what the others have', async () => {
  const one = await clients.connect(0);
  const wrong = await clients.connect(2);
  await one.query('CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL)');
  await one.query('INSERT INTO account SELECT i, 100 FROM generate_series(1, 10) i');
  const status = (await cluster.settled()).find(({ id }) => id === 'r3');
  await alter(status!, 'UPDATE account SET balance = 7 WHERE id = 3');
  const ask = 'SELECT balance FROM account WHERE id = 3';
  await expect(wrong.query(ask)).rejects.toMatchObject({ code: expect.stringMatching(/^(57P01|08007)$/) });
  expect((await one.query(ask)).rows).toEqual([{ balance: 100 }]);
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

/** What each replica's own clients are told; null: it serves nobody. */
async function answers(sql: string): Promise<readonly (string | null)[]> {
  return Promise.all(
    [0, 1, 2].map(async (index) => {
      const client = await clients.connect(index).catch(() => null);
      if (client === null) return null;
      const told = await client.query<{ value: string }>(sql).catch(() => null);
      await client.end().catch(() => undefined);
      return told === null ? null : told.rows.map(({ value }) => value).join();
    }),
  );
}

it('where all differ the group goes on from one database, and leadership rests', async () => {
  for (const [index, status] of (await cluster.settled()).entries())
    await alter(status, `UPDATE account SET balance = ${index} WHERE id = 4`);
  const highest = async () =>
    Math.max(...(await cluster.status()).replicas.map(({ status }) => status?.ballot.round ?? 0));
  const before = await highest();
  const one = await clients.connect(0);
  const ask = 'SELECT balance AS value FROM account WHERE id = 4';
  // r1 goes on: its session lives. What others had is told to nobody.
  const told = new Set<string | null>();
  const noted = async () => {
    const all = await answers(ask);
    for (const one of all) told.add(one);
    return all;
  };
  const first = noted();
  expect((await one.query(ask)).rows).toEqual([{ value: 0 }]);
  await first;
  await expect.poll(noted, { interval: 500 }).toEqual(['0', '0', '0']);
  expect([...told].filter((value) => value !== null)).toEqual(['0']);
  expect((await one.query(ask)).rows).toEqual([{ value: 0 }]);
  // (A busy machine may bring about an election all the same.)
  expect((await highest()) - before).toBeLessThan(5);
  await one.end();
});

it('a statement that draws something else everywhere, which no rule knows, ends in one answer', async () => {
  const one = await clients.connect(0);
  await one.query('CREATE TABLE drawn (value text)');
  const draw = `DO $$ BEGIN EXECUTE 'INSERT INTO drawn SELECT curr' || 'ent_timestamp::text'; END $$`;
  await one.query(draw);
  await one.query('SELECT value FROM drawn');
  const ask = 'SELECT value FROM drawn ORDER BY value';
  const isOne = async () => {
    const told = await answers(ask);
    return told[0] !== null && told.every((value) => value === told[0]);
  };
  await expect.poll(isOne, { interval: 500 }).toBe(true);
  // All three at once, as they are: none has a copy of behind the adoption but perhaps one.
  const replicas = (await cluster.status()).replicas.map(({ id }) => id);
  for (const replica of replicas) await cluster.fault({ action: 'crash', replica, force: true });
  for (const replica of replicas) await cluster.fault({ action: 'restart', replica });
  await expect.poll(isOne, { interval: 500 }).toBe(true);
});
