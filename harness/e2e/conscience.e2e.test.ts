/**
 * The demo's own load, and its conscience: what was acknowledged is at every replica, also behind a wipe; what is not there is found.
 *
 * Real processes, a real disk that is lost. The page is a WebSocket that reads the frames.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { LoadStatus } from '../../server/src/api/load.ts';
import type { ClusterStatus } from '../../server/src/api/status.ts';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';
import { ReplicaClients } from './replica-clients.ts';

let cluster: LocalCluster;
let clients: ReplicaClients;
let page: WebSocket;
let load: LoadStatus | null = null;

function watch(): Promise<WebSocket> {
  const socket = new WebSocket(`${cluster.dashboardUrl.replace('http', 'ws')}/api/stream`);
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as { type: string; load?: LoadStatus };
    if (frame.type === 'load') load = frame.load ?? null;
  });
  return new Promise((resolve, reject) => {
    socket.on('open', () => resolve(socket));
    socket.on('error', reject);
  });
}

beforeAll(async () => {
  cluster = await startCluster({ args: ['--no-dashboard'] });
  clients = new ReplicaClients(cluster);
  page = await watch();
});

afterAll(async () => {
  page?.close();
  await clients?.end();
  await cluster?.stop();
});

async function until(is: (status: LoadStatus) => boolean, what: string): Promise<LoadStatus> {
  for (let tries = 0; tries < 600; tries += 1) {
    if (load !== null && is(load)) return load;
    await sleep(100);
  }
  throw new Error(`${what}: ${JSON.stringify(load)}`);
}

/** Every replica was looked through behind the moment at which so much was acknowledged. */
async function checked(beyond: number): Promise<LoadStatus> {
  await until(({ counts }) => counts.acknowledged >= beyond, `${beyond} acknowledged`);
  const sinceMs = performance.now();
  return until(
    ({ replicas }) =>
      replicas.every(
        ({ checkedAgoMs, problem }) =>
          problem === null && checkedAgoMs !== null && checkedAgoMs < performance.now() - sinceMs,
      ),
    'every replica is looked through',
  );
}

/** All of them: under load they are never all at the same slot. */
async function serving(): Promise<void> {
  const states = async (): Promise<unknown> => {
    const response = await fetch(`${cluster.dashboardUrl}/api/cluster`);
    const { replicas } = (await response.json()) as ClusterStatus;
    return replicas.map(({ status }) => [status?.state, status?.recovery]);
  };
  const well = ['serving', null];
  await expect.poll(states).toEqual([well, well, well]);
}

async function set(settings: unknown): Promise<number> {
  const { status } = await fetch(`${cluster.dashboardUrl}/api/load`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(settings),
  });
  return status;
}

it('begins when somebody watches, and has everything at every replica', async () => {
  expect(await checked(30)).toMatchObject({ lost: 0, risen: 0, settings: { isRunning: true } });
});

it('has lost nothing behind the wipe of a disk under load', async () => {
  expect(await set({ isRunning: true, clients: 8, perSecond: 200, readShare: 0.3 })).toBe(200);
  await until(({ settings }) => settings.clients === 8, 'eight clients');
  await cluster.fault({ action: 'wipe', replica: (await cluster.leader()).id, what: 'both' });
  await serving();
  const healed = load!.counts.acknowledged;
  const status = await checked(healed + 100);
  const { lost, lostIds, risen } = status;
  expect({ lost, lostIds, risen }).toEqual({ lost: 0, lostIds: [], risen: 0 });
  expect(status.counts.reads).toBeGreaterThan(0);
});

it('finds what is not there', async () => {
  const client = await clients.connect(0);
  const { rows } = await client.query<{ id: string }>(
    'DELETE FROM lab.load WHERE id = (SELECT max(id) - 20 FROM lab.load) RETURNING id',
  );
  const status = await until(({ lost }) => lost > 0, 'something is lost');
  expect(status.lostIds).toEqual(rows.map(({ id }) => Number(id)));
});

it('refuses settings that are none, rests when it is told to, and while nobody watches', async () => {
  expect(await set({ isRunning: true, clients: 0, perSecond: 20, readShare: 0 })).toBe(400);
  expect(await set({ isRunning: true, clients: 8, perSecond: 20, readShare: 2 })).toBe(400);
  expect(await set({ isRunning: false, clients: 8, perSecond: 20, readShare: 0 })).toBe(200);
  const sessions = async (): Promise<number> => {
    const client = await clients.connect(0);
    const { rows } = await client.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name IN ('barista load', 'barista conscience')`,
    );
    await client.end();
    return rows[0]!.n;
  };
  await expect.poll(sessions).toBe(0);
  expect(await set({ isRunning: true, clients: 2, perSecond: 50, readShare: 0 })).toBe(200);
  await expect.poll(sessions).toBeGreaterThan(0);
  page.close();
  await expect.poll(sessions).toBe(0);
});
