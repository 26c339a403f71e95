/**
 * Replicas of the demo that come and go while clients write, and a backup from the page's request: nothing that was acknowledged is lost, what is written down holds after a restart, and the backup can be restored.
 *
 * Real processes. The page is a WebSocket that reads the load's frames.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { parse, stringify } from 'yaml';
import type { Activity } from '../../server/src/api/activity.ts';
import type { LoadStatus } from '../../server/src/api/load.ts';
import type { BackupsStatus, ReplicaChangeStatus } from '../../server/src/api/replica-changes.ts';
import { freePorts } from '../../server/src/adapters/testing/ports.ts';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';
import { psql } from '../cluster/pg-tools.ts';

const bin = join(import.meta.dirname, '..', '..', 'bin', 'barista.js');

let cluster: LocalCluster;
let page: WebSocket;
let load: LoadStatus | null = null;

beforeAll(async () => {
  cluster = await startCluster({ args: ['--no-dashboard'] });
  page = new WebSocket(`${cluster.dashboardUrl.replace('http', 'ws')}/api/stream`);
  page.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as { readonly type: string; readonly load?: LoadStatus };
    if (frame.type === 'load') load = frame.load ?? null;
  });
});
afterAll(async () => {
  page?.close();
  await cluster?.stop();
});

async function ask(path: string, body?: object): Promise<unknown> {
  const init =
    body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  return (await fetch(`${cluster.dashboardUrl}${path}`, init)).json();
}

async function until(is: () => Promise<boolean>, what: string): Promise<void> {
  for (let tries = 0; tries < 300; tries += 1) {
    if (await is()) return;
    await sleep(200);
  }
  throw new Error(`${what}: ${JSON.stringify(await cluster.status())}`);
}

const voters = async (): Promise<string> => {
  const { membership } = await cluster.leader();
  return membership.members
    .filter(({ role }) => role === 'voter')
    .map(({ replica }) => replica)
    .join();
};
const acknowledged = (): number => load?.counts.acknowledged ?? 0;

it('a fourth replica comes under load and votes, has all that was acknowledged, and goes again', async () => {
  await until(async () => acknowledged() > 20, 'clients write');
  expect(await ask('/api/replicas', { action: 'add' })).toMatchObject({ ok: true, replica: 'r4' });
  await until(async () => (await voters()) === 'r1,r2,r3,r4', 'r4 votes');
  const before = acknowledged();
  await until(async () => acknowledged() > before + 20, 'clients write on');
  await until(
    async () => load?.replicas.some(({ id, checkedAgoMs }) => id === 'r4' && checkedAgoMs !== null) === true,
    'r4 was looked through',
  );
  expect(load?.replicas.map(({ missing }) => missing)).toEqual([0, 0, 0, 0]);
  expect(await ask('/api/replicas', { action: 'remove', replica: 'r4' })).toMatchObject({ ok: true });
  expect(await voters()).toBe('r1,r2,r3');
  expect((await cluster.status()).replicas.map(({ id }) => id)).toEqual(['r1', 'r2', 'r3']);
});

/** Once it is there. */
async function takenBackup(): Promise<BackupsStatus> {
  await ask('/api/backups', {});
  let status: BackupsStatus | null = null;
  await until(async () => {
    status = (await ask('/api/backups')) as BackupsStatus;
    return status.running === null;
  }, 'the backup ends');
  return status as unknown as BackupsStatus;
}

it('a backup is taken, and is whole by what the command finds', async () => {
  const { last, problem } = await takenBackup();
  expect(problem).toBeNull();
  expect(last?.bytes).toBeGreaterThan(100_000);
  const { stdout } = await promisify(execFile)(process.execPath, [bin, 'backup', 'verify', last!.file]);
  expect(stdout).toContain('can be restored');
});

it('what PostgreSQL is at is told of the leader, with the statements that took most time once they are counted', async () => {
  const { id } = await cluster.leader();
  expect(await ask(`/api/activity/${id}/statements`, {})).toEqual({ ok: true });
  let activity: Activity | null = null;
  await until(async () => {
    activity = (await ask(`/api/activity/${id}`)) as Activity;
    return activity.sessions?.some(({ application }) => application === 'barista load');
  }, 'sessions of the load');
  const { database, statements } = activity as unknown as Activity;
  expect(database).toBe('primary');
  const told =
    statements.kind === 'told' ? statements.statements.map(({ sql }) => sql).join('\n') : statements.why;
  expect(told).toContain('lab.load');
});

it('a replacement of the first replica goes on by itself, and holds after a restart of the demo', async () => {
  expect(await ask('/api/replicas', { action: 'replace', replica: 'r1' })).toMatchObject({
    ok: true,
    replica: 'r4',
  });
  const change = async (): Promise<ReplicaChangeStatus> =>
    (await ask('/api/replicas')) as ReplicaChangeStatus;
  await until(async () => !['asked', 'joining'].includes((await change()).state), 'the replacement ends');
  expect(await change()).toMatchObject({ state: 'done' });
  expect(await voters()).toBe('r2,r3,r4');
  const { dataDir, pgwirePorts } = cluster;
  const [basePort, second] = pgwirePorts as readonly [number, number];
  page.close();
  expect(await cluster.interrupt()).toBe(0);
  cluster = await startCluster({ dataDir, basePort, args: ['--no-dashboard', '--no-load'] });
  expect(await voters()).toBe('r2,r3,r4');
  expect((await cluster.status()).replicas.map(({ id }) => id)).toEqual(['r2', 'r3', 'r4']);
  await until(async () => cluster.output().includes('psql '), 'people are told where it is');
  expect(cluster.output()).toContain(`@127.0.0.1:${second}/barista`);
});

it('the backup is restored into a new group, as its page says, and serves what was written', async () => {
  const { last } = (await takenBackup()) as { readonly last: { readonly file: string } };
  const dir = await mkdtemp(join(tmpdir(), 'barista-restored-'));
  const port = await freePorts(3);
  const place = { host: '127.0.0.1', port };
  const config = join(dir, 'new.yaml');
  const old = parse(await readFile(join(cluster.dataDir, 'r2.yaml'), 'utf8')) as Record<string, unknown>;
  const own = { host: '127.0.0.1', port: port + 1 };
  await writeFile(
    config,
    stringify({
      ...old,
      id: 'n1',
      dataDir: join(dir, 'n1'),
      peers: [{ id: 'n1', ...own, pgwire: place }],
      peerListen: own,
      pgwire: place,
      http: { ...(old['http'] as object), port: port + 2 },
    }),
    { mode: 0o600 },
  );
  const rows = async (at: number): Promise<string> =>
    (await psql(at, 'SELECT count(*) FROM lab.load')).stdout.trim();
  await promisify(execFile)(process.execPath, [bin, 'restore', last.file, '--config', config]);
  const served = spawn(process.execPath, [bin, 'serve', '--config', config], { stdio: 'ignore' });
  const ended = new Promise((resolve) => served.once('exit', resolve));
  try {
    let restored = '';
    await until(async () => {
      restored = await rows(port).catch(() => '');
      return restored !== '';
    }, 'the restored group serves');
    expect(restored).toBe(await rows(cluster.pgwirePorts[1]!));
  } finally {
    served.kill('SIGINT');
    await ended;
    await rm(dir, { recursive: true, force: true });
  }
});
