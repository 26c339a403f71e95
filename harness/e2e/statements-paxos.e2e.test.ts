/**
 * `protocol: paxos` as a user meets it: clients at all replicas at once, each of which proposes; one replica is killed in the middle of a transaction at another, and comes back; databases that are the same afterwards.
 *
 * Real processes, real signals, a real driver.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';
import { ReplicaClients } from './replica-clients.ts';

const clientsEach = 2;
const transfersEach = 15;
let cluster: LocalCluster;
let clients: ReplicaClients;

beforeAll(async () => {
  cluster = await startCluster({ args: ['--payload=statements', '--protocol=paxos', '--no-dashboard'] });
  clients = new ReplicaClients(cluster);
});

afterAll(async () => {
  await clients?.end();
  await cluster?.stop();
});

describe('statements over single-decree Paxos', () => {
  it('are proposed by every replica at once, and executed in one order', async () => {
    const one = await clients.connect(0);
    await one.query('CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL)');
    await one.query('INSERT INTO account SELECT i, 100 FROM generate_series(1, 6) i');
    await one.query('CREATE TABLE history (n serial PRIMARY KEY, who text, at timestamptz DEFAULT now())');
    const work = async (replica: number, which: number): Promise<void> => {
      const client = await clients.connect(replica);
      for (let n = 0; n < transfersEach; n += 1) {
        const [from, to] = [1 + ((n + which) % 6), 1 + ((n + which + replica + 1) % 6)];
        await client.query(
          `UPDATE account SET balance = balance + CASE WHEN id = ${from} THEN -1 ELSE 1 END WHERE id IN (${from}, ${to}) AND ${from} <> ${to}`,
        );
        await client.query(`INSERT INTO history (who) VALUES ('r${replica + 1}.${which}.${n}')`);
      }
    };
    const all = cluster.pgwirePorts.flatMap((_, replica) =>
      Array.from({ length: clientsEach }, (__, which) => work(replica, which)),
    );
    await Promise.all(all);
    await cluster.settled(60_000);
    expect(await clients.equalEverywhere('SELECT sum(balance)::int AS sum FROM account')).toEqual([
      { sum: 600 },
    ]);
    await clients.equalEverywhere('SELECT * FROM account ORDER BY id');
    expect(await clients.equalEverywhere('SELECT count(*)::int AS count FROM history')).toEqual([
      { count: 3 * clientsEach * transfersEach },
    ]);
    await clients.equalEverywhere('SELECT * FROM history ORDER BY n');
    const { replicas } = await cluster.status();
    for (const { status } of replicas) {
      const protocol = status?.protocol;
      if (protocol?.name !== 'paxos') throw new Error('no Paxos');
      expect(protocol.counts.proposals).toBeGreaterThan(2 * clientsEach * transfersEach);
    }
  });

  it('go on in the middle of a transaction when another replica is killed, which comes back', async () => {
    const client = await clients.connect(0);
    await client.query('BEGIN');
    await client.query('UPDATE account SET balance = balance - 10 WHERE id = 1');
    await cluster.fault({ action: 'crash', replica: 'r2' as never });
    await client.query('UPDATE account SET balance = balance + 10 WHERE id = 2');
    await client.query('COMMIT');
    const other = await clients.connect(2);
    await other.query("INSERT INTO history (who) VALUES ('while r2 is away')");
    await cluster.fault({ action: 'restart', replica: 'r2' as never });
    await cluster.settled(120_000);
    expect(await clients.equalEverywhere('SELECT * FROM account ORDER BY id')).toHaveLength(6);
    expect(await clients.equalEverywhere('SELECT * FROM history ORDER BY n')).toHaveLength(
      3 * clientsEach * transfersEach + 1,
    );
  });
});
