/** A leader whose disk is slow, with real processes: each of its flushes takes two seconds longer. */
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCluster, type LocalCluster } from '../cluster/local-cluster.ts';
import { setSlowDisk, slowDiskEnvironment } from '../nemesis/slow-disk.ts';

const delayMs = 2000;
const lookMs = 5000;

const environment = await environmentOf();
let cluster: LocalCluster;
let acknowledged = 0;
const load = { isOver: false };
const clients: Promise<void>[] = [];

async function environmentOf() {
  const dataDir = await mkdtemp(join(tmpdir(), 'barista-slow-disk-'));
  return { dataDir, env: await slowDiskEnvironment(dataDir) };
}
const cannotBeSlowed = Object.keys(environment.env).length === 0;

beforeAll(async () => {
  if (!cannotBeSlowed) cluster = await startCluster(environment);
});
afterAll(async () => {
  load.isOver = true;
  await Promise.all(clients);
  await cluster?.stop();
});

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Writes one row after the other, wherever it is let in. */
async function write(port: number): Promise<void> {
  while (!load.isOver) {
    const client = new pg.Client({
      host: '127.0.0.1',
      port,
      user: 'barista',
      password: 'barista',
      database: 'barista',
    });
    client.on('error', () => {});
    try {
      await client.connect();
      while (!load.isOver) {
        await client.query('INSERT INTO written DEFAULT VALUES');
        acknowledged += 1;
        await sleep(100);
      }
    } catch {
      await sleep(200);
    } finally {
      await client.end().catch(() => {});
    }
  }
}

async function acknowledgedIn(ms: number): Promise<number> {
  const before = acknowledged;
  await sleep(ms);
  return acknowledged - before;
}

it.skipIf(cannotBeSlowed)(
  'a leader with a slow disk hands leadership over, and clients are as fast as before',
  async () => {
    const { id: sick, pgwire } = await cluster.leader();
    const setUp = new pg.Client({
      host: '127.0.0.1',
      port: pgwire.port,
      user: 'barista',
      password: 'barista',
      database: 'barista',
    });
    await setUp.connect();
    await setUp.query('CREATE TABLE written (n bigserial PRIMARY KEY)');
    await setUp.end();
    clients.push(...cluster.pgwirePorts.map((port) => write(port)));
    // Whoever leads for less than half a minute does not hand over for that.
    await sleep(30_000);
    const well = await acknowledgedIn(lookMs);
    await setSlowDisk(cluster.dataDir, sick, delayMs, '/');
    const whileSlow = await acknowledgedIn(lookMs);
    expect(whileSlow).toBeLessThan(well / 2);
    await expect
      .poll(async () => (await cluster.leader().catch(() => null))?.id ?? sick, { interval: 200 })
      .not.toBe(sick);
    await sleep(lookMs);
    const after = await acknowledgedIn(lookMs);
    expect(after).toBeGreaterThan(well / 2);
    if (process.env['BARISTA_FIGURES'] !== undefined) console.log({ well, whileSlow, after });
    await setSlowDisk(cluster.dataDir, sick, 0, '/');
    load.isOver = true;
    await Promise.all(clients);
    await cluster.settled(120_000);
  },
);
