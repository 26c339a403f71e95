/**
 * The product as its users meet it: `barista demo`, psql, pgbench, kill -9 and partitions, all of them real.
 *
 * BARISTA_LOAD_SECONDS sets how long each load runs (default 8). BARISTA_LOG_STORE=zookeeper keeps the logs in a real Apache ZooKeeper.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReplicaStatus } from '../../server/src/api/status.ts';
import { comparableDump } from '../checkers/database-compare.ts';
import { freePorts } from '../../server/src/adapters/testing/ports.ts';
import { startCluster, type LocalCluster } from '../cluster/local-cluster.ts';
import { pgbench, psql, psqlSocket } from '../cluster/pg-tools.ts';
import {
  longestSilenceMs,
  startLedger,
  verdict,
  type Ledger,
  type LedgerResult,
} from '../workload/ledger.ts';
import { Random } from '../workload/seeded-random.ts';
import { brokenConditions } from '../workload/tpcc/consistency.ts';
import { startTerminals } from '../workload/tpcc/lasting-terminals.ts';
import { loadTpcc } from '../workload/tpcc/load-tpcc.ts';

const LOAD_SECONDS = Number(process.env.BARISTA_LOAD_SECONDS ?? 8);
const account = { host: '127.0.0.1', user: 'barista', password: 'barista', database: 'barista' };
/** Seconds on a quiet machine. */
const START_TWICE_MS = 600_000;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function expectIdentical(cluster: LocalCluster): Promise<void> {
  const statuses = await cluster.settled();
  const dumps = await Promise.all(statuses.map(({ postgres }) => comparableDump(postgres, 'barista')));
  for (const dump of dumps.slice(1)) expect(dump).toEqual(dumps[0]);
}

/** However long it takes until somebody leads again. */
async function goesOn(ledger: Ledger): Promise<void> {
  // What was on its way when the leader was lost counts for nothing.
  await sleep(500);
  const before = ledger.acknowledged();
  await expect.poll(() => ledger.acknowledged()).toBeGreaterThan(before);
}

/** Every acknowledged row is there, on every replica. */
async function expectLedgerKept(cluster: LocalCluster, result: LedgerResult): Promise<void> {
  expect(result.acknowledged.size).toBeGreaterThan(10);
  for (const { id, postgres } of await cluster.settled()) {
    const { stdout, stderr } = await psqlSocket(postgres, 'SELECT id FROM ledger');
    const present = new Set(stdout.trim().split('\n').map(Number));
    expect({ replica: id, stderr, faults: verdict(result, present) }).toEqual({
      replica: id,
      stderr: '',
      faults: [],
    });
  }
}

/** TPC-C, small: its conditions hold whatever happens, and every order that was acknowledged is there. */
async function openShop(ports: readonly number[]) {
  const scale = { warehouses: 1, customers: 60, items: 500 };
  const client = new pg.Client({ ...account, port: ports[0]! });
  await client.connect();
  const loaded = await loadTpcc(client, scale, new Random(1));
  await client.end();
  const terminals = startTerminals({ ports, terminals: 6, scale, loaded, seed: 1 });
  return {
    async close() {
      const { committed, inDoubt, connections, unexpected } = await terminals.stop();
      expect(unexpected).toEqual([]);
      const last = new pg.Client({ ...account, port: ports[0]! });
      await last.connect();
      expect(await brokenConditions(last)).toEqual([]);
      const { rows } = await last.query<{ orders: string }>('SELECT count(*) AS orders FROM tpcc.orders');
      await last.end();
      const orders = Number(rows[0]!.orders) - 10 * scale.customers;
      const acknowledged = committed.get('New-Order') ?? 0;
      console.log(`TPC-C: ${acknowledged} orders acknowledged, ${orders} there, ${connections} connections`);
      expect(orders).toBeGreaterThanOrEqual(acknowledged);
      expect(orders).toBeLessThanOrEqual(acknowledged + (inDoubt.get('New-Order') ?? 0));
      expect(acknowledged).toBeGreaterThan(0);
    },
  };
}

function portOf(cluster: LocalCluster, status: ReplicaStatus): number {
  const port = cluster.pgwirePorts.find((candidate) => candidate === status.pgwire.port);
  if (port === undefined) throw new Error(`${status.id} is on no known port`);
  return port;
}

describe('a cluster of three replicas', () => {
  let cluster: LocalCluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(async () => {
    await cluster?.stop();
  });

  it('keeps its logs where it was told', () => {
    const inFiles = ['r1', 'r2', 'r3'].filter((id) => existsSync(join(cluster.dataDir, id, 'log')));
    expect(inFiles).toHaveLength(process.env['BARISTA_LOG_STORE'] === 'zookeeper' ? 0 : 3);
  });

  it('lets psql create on one port, insert on another and read on the third', async () => {
    const [first, second, third] = cluster.pgwirePorts as [number, number, number];
    expect(await psql(first, 'CREATE TABLE greeting (id int PRIMARY KEY, word text)')).toMatchObject({
      code: 0,
    });
    expect(await psql(second, "INSERT INTO greeting VALUES (1, 'hello'), (2, 'world')")).toMatchObject({
      code: 0,
    });
    const read = await psql(third, 'SELECT word FROM greeting ORDER BY id');
    expect(read).toEqual({ code: 0, stdout: 'hello\nworld\n', stderr: '' });
    await expectIdentical(cluster);
  });

  it('runs pgbench without an error and leaves identical replicas', async () => {
    const [first, second] = cluster.pgwirePorts as [number, number];
    expect(await pgbench(second, ['-i', '-s', '5', '-q'])).toMatchObject({ code: 0 });
    const run = await pgbench(first, ['-c', '8', '-T', String(LOAD_SECONDS)]);
    expect(run.stderr).not.toMatch(/error/i);
    expect(run.stdout).toMatch(/number of failed transactions: 0/);
    expect(run.code).toBe(0);
    await expectIdentical(cluster);
  });

  it('keeps every acknowledged row when the leader is killed under load, and heals', async () => {
    const leader = await cluster.leader();
    const others = cluster.pgwirePorts.filter((port) => port !== portOf(cluster, leader));
    const ledger = await startLedger(others, 4);
    const shop = await openShop(others);
    await sleep((LOAD_SECONDS * 1000) / 4);
    const killedAtMs = performance.now();
    await cluster.fault({ action: 'crash', replica: leader.id });
    await sleep((LOAD_SECONDS * 1000) / 2);
    await goesOn(ledger);
    const result = await ledger.stop();
    await shop.close();
    const silenceMs = longestSilenceMs(result.acknowledgedAtMs, killedAtMs, performance.now());
    console.log(`writes were away for ${Math.round(silenceMs)} ms; ${result.acknowledged.size} acknowledged`);
    expect(result.acknowledgedAtMs.at(-1)).toBeGreaterThan(killedAtMs);
    await cluster.fault({ action: 'restart', replica: leader.id });
    await expectLedgerKept(cluster, result);
    await expectIdentical(cluster);
  });

  it('stops a leader that is cut off from answering, goes on with the majority, and heals', async () => {
    const leader = await cluster.leader();
    const old = portOf(cluster, leader);
    const session = new pg.Client({ ...account, port: old });
    session.on('error', () => {});
    await session.connect();
    await session.query('CREATE TABLE cut (who text)');
    await cluster.fault({ action: 'isolate', replica: leader.id });
    const majority = cluster.pgwirePorts.find((port) => port !== old)!;
    // Neither a write nor a read of the old session may succeed from here on, once the lease has run out.
    await sleep(1500);
    const refused = /terminat|leader|closed|unknown/i;
    await expect(session.query("INSERT INTO cut VALUES ('old leader')")).rejects.toThrow(refused);
    await expect(session.query('SELECT count(*) FROM cut')).rejects.toThrow(refused);
    // The election may take its time.
    await expect.poll(() => psql(majority, 'SELECT 1')).toMatchObject({ code: 0 });
    const write = await psql(majority, "INSERT INTO cut VALUES ('majority')");
    expect(write).toMatchObject({ code: 0 });
    expect(await psql(old, 'SELECT 1')).toMatchObject({ code: 2 });
    await cluster.fault({ action: 'heal' });
    await cluster.settled();
    expect((await psql(old, 'SELECT who FROM cut')).stdout).toBe('majority\n');
    await expectIdentical(cluster);
  });

  it('hands over when the PostgreSQL of the leader is killed', async () => {
    const leader = await cluster.leader();
    const ledger = await startLedger(cluster.pgwirePorts, 4);
    await sleep(1000);
    await cluster.fault({ action: 'killPostgres', replica: leader.id });
    await goesOn(ledger);
    await sleep(1000);
    await expectLedgerKept(cluster, await ledger.stop());
    await expectIdentical(cluster);
  });

  it('refuses clients the superuser and the internals', async () => {
    const [port] = cluster.pgwirePorts as [number];
    const superuser = spawnSync('psql', [
      '-h',
      '127.0.0.1',
      '-p',
      String(port),
      '-U',
      'postgres',
      '-c',
      'SELECT 1',
    ]);
    expect(superuser.status).not.toBe(0);
    expect(superuser.stderr.toString()).toContain('postgres');
    expect((await psql(port, "COPY (SELECT 1) TO PROGRAM 'true'")).stderr).toMatch(/permission denied/);
    expect((await psql(port, "SELECT pg_read_file('pg_hba.conf')")).stderr).toMatch(/permission denied/);
    expect((await psql(port, 'SELECT pg_promote()')).stderr).toMatch(/permission denied/);
    expect((await psql(port, 'SET session_replication_role = replica')).stderr).toMatch(/permission denied/);
  });
});

describe('the demo', () => {
  it(
    'finds its data again after Ctrl-C, and leaves no process',
    async () => {
      const dataDir = await mkdtemp(join(tmpdir(), 'barista-twice-'));
      const basePort = await freePorts(220);
      const first = await startCluster({ dataDir, basePort });
      await psql(basePort, 'CREATE TABLE kept AS SELECT 42 AS answer');
      const pids = (await first.status()).replicas.flatMap(({ status }) => [
        status!.pid,
        status!.postgres.pid!,
      ]);
      expect(await first.interrupt()).toBe(0);
      for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
      const second = await startCluster({ dataDir, basePort });
      expect((await psql(basePort + 1, 'SELECT answer FROM kept')).stdout).toBe('42\n');
      await second.stop();
    },
    START_TWICE_MS,
  );
});
