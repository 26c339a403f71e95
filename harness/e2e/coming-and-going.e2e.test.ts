/**
 * Replicas of the demo that come and go while clients write, and a backup from the page's request: nothing that was acknowledged is lost, what is written down holds after a restart, and the backup can be restored.
 *
 * Real processes. The page is a WebSocket that reads the load's frames.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { Activity } from '../../server/src/api/activity.ts';
import type { LoadStatus } from '../../server/src/api/load.ts';
import type { BackupsStatus } from '../../server/src/api/replica-changes.ts';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';

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
}, 240_000);
afterAll(async () => {
  page?.close();
  await cluster?.stop();
}, 60_000);

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
}, 180_000);

it('a backup is taken, and can be restored by what the command finds', async () => {
  await ask('/api/backups', {});
  let status: BackupsStatus | null = null;
  await until(async () => {
    status = (await ask('/api/backups')) as BackupsStatus;
    return status.running === null;
  }, 'the backup ends');
  const { last, problem } = status as unknown as BackupsStatus;
  expect(problem).toBeNull();
  expect(last?.bytes).toBeGreaterThan(100_000);
  const { stdout } = await promisify(execFile)(process.execPath, [bin, 'backup', 'verify', last!.file]);
  expect(stdout).toContain('can be restored');
}, 180_000);

it('what PostgreSQL is at is told of the leader, with the statements that took most time', async () => {
  const { id } = await cluster.leader();
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
}, 60_000);
