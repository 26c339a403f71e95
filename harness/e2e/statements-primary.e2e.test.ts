/**
 * `protocol: primary` as a user meets it. Of two replicas the primary is killed: the other says why nobody serves, and goes on when it is back. Of three another takes over, and the old primary comes back as a copy with the same data.
 *
 * Real processes, real signals, a real driver.
 */
import type { Client } from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';
import { ReplicaClients } from './replica-clients.ts';

let cluster: LocalCluster;
let clients: ReplicaClients;

afterEach(async () => {
  await clients?.end();
  await cluster?.stop();
}, 60_000);

async function start(replicas: number): Promise<void> {
  cluster = await startCluster({
    replicas,
    args: ['--payload=statements', '--protocol=primary', '--no-dashboard'],
  });
  clients = new ReplicaClients(cluster);
}

async function primary(except = ''): Promise<number> {
  for (;;) {
    const { replicas } = await cluster.status();
    const at = replicas.findIndex(({ status }) => {
      const protocol = status?.protocol;
      return status?.id !== except && protocol?.name === 'primary' && protocol.role === 'primary';
    });
    if (at !== -1) return at;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Writes until it is told to stop; which values were acknowledged, and whether the connection ended. */
function writer(client: Client, from: number): { stop: () => Promise<number[]> } {
  const acknowledged: number[] = [];
  const until = { isOver: false };
  const work = (async () => {
    for (let n = from; !until.isOver; n += 1) {
      try {
        await client.query('INSERT INTO kept VALUES ($1)', [n]);
        acknowledged.push(n);
      } catch {
        return;
      }
    }
  })();
  return {
    stop: async () => {
      until.isOver = true;
      await work;
      return acknowledged;
    },
  };
}

describe('a primary and its copies', () => {
  it('of two none goes on alone, and both go on when the primary is back', async () => {
    await start(2);
    const first = await primary();
    const other = 1 - first;
    await (await clients.connect(first)).query('CREATE TABLE kept (n int PRIMARY KEY)');
    const client = await clients.connect(other);
    await client.query('INSERT INTO kept VALUES (1)');
    await cluster.fault({ action: 'crash', replica: `r${first + 1}` as never });
    await new Promise((resolve) => setTimeout(resolve, 4000));
    await expect(clients.connect(other)).rejects.toThrow(/no leader is known/);
    const { replicas } = await cluster.status();
    expect(replicas[other]!.status?.protocol).toMatchObject({ name: 'primary', replication: 'majority' });
    await cluster.fault({ action: 'restart', replica: `r${first + 1}` as never });
    await primary();
    await cluster.settled(120_000);
    await (await clients.connect(other)).query('INSERT INTO kept VALUES (2)');
    await (await clients.connect(first)).query('INSERT INTO kept VALUES (3)');
    expect(await clients.equalEverywhere('SELECT n FROM kept ORDER BY n')).toEqual([
      { n: 1 },
      { n: 2 },
      { n: 3 },
    ]);
  }, 300_000);

  it('of three another takes over, what was acknowledged stays, and the old primary is the same again', async () => {
    await start(3);
    const first = await primary();
    const name = `r${first + 1}`;
    await (await clients.connect(first)).query('CREATE TABLE kept (n int PRIMARY KEY)');
    const writers = [0, 1, 2].map(async (replica) =>
      writer(await clients.connect(replica), (replica + 1) * 100_000),
    );
    const running = await Promise.all(writers);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await cluster.fault({ action: 'crash', replica: name as never });
    const second = await primary(name);
    expect(second).not.toBe(first);
    await (await clients.connect(second)).query('INSERT INTO kept VALUES (1)');
    await cluster.fault({ action: 'restart', replica: name as never });
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const acknowledged = (await Promise.all(running.map((each) => each.stop()))).flat();
    await cluster.settled(120_000);
    const rows = await clients.equalEverywhere('SELECT n FROM kept ORDER BY n');
    const kept = new Set(rows.map((row) => (row as { n: number }).n));
    expect(acknowledged.length).toBeGreaterThan(20);
    expect(acknowledged.filter((n) => !kept.has(n))).toEqual([]);
    expect(kept.has(1)).toBe(true);
  }, 300_000);
});
