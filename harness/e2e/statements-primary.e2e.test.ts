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
});

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

async function start3(level: string): Promise<void> {
  cluster = await startCluster({
    replicas: 3,
    args: ['--payload=statements', '--protocol=primary', `--replication=${level}`, '--no-dashboard'],
  });
  clients = new ReplicaClients(cluster);
}

const acknowledgeOf = async (client: Client): Promise<unknown> =>
  ((await client.query('SHOW barista.acknowledge')).rows[0] as Record<string, unknown>)[
    'barista.acknowledge'
  ];

describe('the level of a session', () => {
  it('is set, shown and heeded, at the primary and at a copy; what is wrong has a true SQLSTATE', async () => {
    await start3('majority');
    const at = await primary();
    const silent = [0, 1, 2].find((replica) => replica !== at)!;
    const copy = 3 - at - silent;
    const [one, other] = [await clients.connect(at), await clients.connect(copy)];
    await one.query('CREATE TABLE kept (n int PRIMARY KEY)');
    for (const client of [one, other]) {
      expect(await acknowledgeOf(client)).toBe('majority');
      await client.query("SET barista.acknowledge = 'sync'");
      expect(await acknowledgeOf(client)).toBe('sync');
      await expect(client.query("SET barista.acknowledge = 'most'")).rejects.toMatchObject({ code: '22023' });
      await expect(client.query('SET barista.acknowledge = none')).rejects.toMatchObject({ code: '22023' });
      await expect(client.query('SET barista.acknowledge = async')).rejects.toMatchObject({ code: '42501' });
      await expect(client.query('SET LOCAL barista.acknowledge = semi')).rejects.toMatchObject({
        code: '0A000',
      });
      await client.query('BEGIN');
      await expect(client.query('RESET barista.acknowledge')).rejects.toMatchObject({ code: '25001' });
      await expect(client.query('SELECT 1')).rejects.toMatchObject({ code: '25P02' });
      await client.query('ROLLBACK');
      expect(await acknowledgeOf(client)).toBe('sync');
    }
    const begun = await clients.connect(at, '-c barista.acknowledge=semi');
    expect(await acknowledgeOf(begun)).toBe('semi');
    await begun.query('SET barista.acknowledge = sync');
    await begun.query('RESET ALL');
    expect(await acknowledgeOf(begun)).toBe('semi');
    await expect(clients.connect(at, '-c barista.acknowledge=async')).rejects.toMatchObject({
      code: '42501',
    });
    // One copy is dead: a majority has what is written, and not every copy.
    await cluster.fault({ action: 'crash', replica: `r${silent + 1}` as never });
    await (await clients.connect(at)).query('INSERT INTO kept VALUES (1)');
    await (await clients.connect(copy)).query('INSERT INTO kept VALUES (2)');
    const waits = [one, other, begun].map((client, n) =>
      client.query('INSERT INTO kept VALUES ($1)', [10 + n]),
    );
    for (const outcome of await Promise.allSettled(waits))
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: '08007' } });
    for (const client of [one, other, begun]) await client.end().catch(() => undefined);
    const back = await clients.connect(at);
    await cluster.fault({ action: 'restart', replica: `r${silent + 1}` as never });
    await cluster.settled(120_000);
    await back.query("SET barista.acknowledge = 'sync'");
    await back.query('INSERT INTO kept VALUES (20)');
    expect(await clients.equalEverywhere('SELECT n FROM kept ORDER BY n')).toEqual(
      [1, 2, 10, 11, 12, 20].map((n) => ({ n })),
    );
  });
});

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
    await expect(clients.connect(other)).rejects.toThrow(/is not accepting connections now/);
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
  });

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
  });
});

const crash = (replica: number) => cluster.fault({ action: 'crash', replica: `r${replica + 1}` as never });
const restart = (replica: number) =>
  cluster.fault({ action: 'restart', replica: `r${replica + 1}` as never });

describe('two replicas, attacked', () => {
  it('are identical after kills in an open transaction, two in a row, and of both at once', async () => {
    await start(2);
    const first = await primary();
    const setUp = await clients.connect(first);
    await setUp.query('CREATE TABLE kept (n int PRIMARY KEY)');
    await setUp.query('CREATE TABLE counted (n serial PRIMARY KEY, what int)');
    const kept: number[] = [];
    const keep = async (replica: number, n: number): Promise<void> => {
      await (await clients.connect(replica)).query('INSERT INTO kept VALUES ($1)', [n]);
      kept.push(n);
    };
    await keep(first, 1);

    // The primary dies in an open transaction of its own client: that one is rolled back everywhere.
    const open = await clients.connect(first);
    await open.query('BEGIN');
    await open.query('INSERT INTO kept VALUES (100)');
    await open.query('INSERT INTO counted (what) VALUES (1), (2)');
    await crash(first);
    await expect(open.query('COMMIT')).rejects.toBeInstanceOf(Error);
    await restart(first);
    await cluster.settled(120_000);
    await keep(1 - first, 2);

    // A transaction of the other's client goes on in the middle of it.
    const second = await primary();
    const other = await clients.connect(1 - second);
    await other.query('BEGIN');
    await other.query('INSERT INTO kept VALUES (3)');
    await crash(second);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await restart(second);
    await other.query('INSERT INTO kept VALUES (4)');
    await other.query('COMMIT');
    kept.push(3, 4);

    // Killed while it comes back.
    await cluster.settled(120_000);
    const third = await primary();
    await crash(third);
    await restart(third);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await crash(third);
    await restart(third);
    await cluster.settled(120_000);
    await keep(third, 5);

    // Both at once.
    await Promise.all([crash(0), crash(1)]);
    await Promise.all([restart(0), restart(1)]);
    await cluster.settled(120_000);
    await keep(0, 6);
    await keep(1, 7);
    await cluster.settled(120_000);
    expect(await clients.equalEverywhere('SELECT n FROM kept ORDER BY n')).toEqual(kept.map((n) => ({ n })));
    await clients.equalEverywhere('SELECT * FROM counted ORDER BY n');
    await (await clients.connect(0)).query('INSERT INTO counted (what) VALUES (3)');
    await (await clients.connect(1)).query('INSERT INTO counted (what) VALUES (4)');
    expect(await clients.equalEverywhere('SELECT what FROM counted ORDER BY n')).toEqual([
      { what: 3 },
      { what: 4 },
    ]);
    await clients.equalEverywhere('SELECT * FROM counted ORDER BY n');
  });
});
