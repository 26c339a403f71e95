/**
 * `payload: statements` as a user meets it: psql-like clients at every replica, an open transaction that outlives the leader, and databases that are the same afterwards.
 *
 * Real processes, real signals, a real driver.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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

/** By the number of a replica. */
async function leaderIndex(): Promise<number> {
  const { id } = await cluster.leader();
  return Number(id.slice(1)) - 1;
}

describe('statements as payload', () => {
  it('are executed by every replica, in one order', async () => {
    const [one, two, three] = [await clients.connect(0), await clients.connect(1), await clients.connect(2)];
    await one.query(
      'CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL, changed timestamptz DEFAULT now())',
    );
    await two.query('INSERT INTO account (id, balance) SELECT i, 100 FROM generate_series(1, 10) i');
    const { rows } = await three.query(
      'SELECT count(*)::int AS count, sum(balance)::int AS sum FROM account',
    );
    expect(rows).toEqual([{ count: 10, sum: 1000 }]);
    await clients.equalEverywhere('SELECT id, balance, changed FROM account ORDER BY id');
  });

  it('have errors, places and all, as PostgreSQL tells them', async () => {
    const client = await clients.connect(1);
    await expect(client.query('SELECT now(), nothing FROM account')).rejects.toMatchObject({
      code: '42703',
      position: '15',
    });
    await expect(client.query('INSERT INTO account VALUES (1, 1)')).rejects.toMatchObject({ code: '23505' });
    await expect(client.query("SELECT pg_read_file('/etc/passwd')")).rejects.toMatchObject({
      code: expect.stringMatching(/0A000|42501/) as string,
    });
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('refuses what nothing would heed', async () => {
    const client = await clients.connect(0);
    await expect(client.query("SET barista.request_id = 'a'")).rejects.toMatchObject({ code: '0A000' });
    await expect(clients.connect(1, '-c barista.request_id=a')).rejects.toMatchObject({ code: '0A000' });
    await expect(client.query("CREATE ROLE r PASSWORD 'secret'")).rejects.toMatchObject({ code: '0A000' });
    await expect(client.query(`SELECT '${'x'.repeat(70_000)}'`)).rejects.toMatchObject({ code: '54000' });
  });

  it('goes on in the middle of a transaction when the leader is killed', async () => {
    const leader = await leaderIndex();
    const follower = (leader + 1) % 3;
    const client = await clients.connect(follower);
    await client.query('BEGIN');
    await client.query('UPDATE account SET balance = balance - 10 WHERE id = 1');
    await cluster.fault({ action: 'crash', replica: `r${leader + 1}` as never });
    await client.query('UPDATE account SET balance = balance + 10 WHERE id = 2');
    await client.query('COMMIT');
    const { rows } = await client.query('SELECT id, balance FROM account WHERE id < 3 ORDER BY id');
    expect(rows).toEqual([
      { id: 1, balance: 90 },
      { id: 2, balance: 110 },
    ]);
    await cluster.fault({ action: 'restart', replica: `r${leader + 1}` as never });
    await cluster.settled(120_000);
    await clients.equalEverywhere('SELECT id, balance, changed FROM account ORDER BY id');
  });
});
