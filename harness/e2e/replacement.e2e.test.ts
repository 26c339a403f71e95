/**
 * A replacement that was begun from the page and is under way when the demo is killed: the demo that is started again goes on with it.
 *
 * Real processes. The new replica is cut off until the demo dies, so that it cannot vote before.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ReplicaChangeStatus } from '../../server/src/api/replica-changes.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';
import { psql } from '../cluster/pg-tools.ts';

const args = ['--no-dashboard', '--no-load'];

let cluster: LocalCluster;
beforeAll(async () => {
  cluster = await startCluster({ args });
});
afterAll(() => cluster?.stop());

async function change(body?: object): Promise<ReplicaChangeStatus> {
  const init =
    body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  return (await fetch(`${cluster.dashboardUrl}/api/replicas`, init)).json() as Promise<ReplicaChangeStatus>;
}

const members = async (): Promise<string> => {
  const { membership } = await cluster.leader();
  return membership.members.map(({ replica, role }) => `${replica} ${role}`).join();
};

it('goes on after the demo was killed, and ends with the old replica gone', async () => {
  const { dataDir, pgwirePorts } = cluster;
  await psql(pgwirePorts[1]!, 'CREATE TABLE kept AS SELECT 7 AS n');
  expect(await change({ action: 'replace', replica: 'r1' })).toMatchObject({ ok: true, replica: 'r4' });
  await cluster.fault({ action: 'isolate', replica: 'r4' as ReplicaId });
  expect(await members()).toBe('r1 voter,r2 voter,r3 voter,r4 learner');

  const running = JSON.parse(await readFile(join(dataDir, 'running.json'), 'utf8')) as {
    readonly pid: number;
  };
  process.kill(running.pid, 'SIGKILL');
  await cluster.interrupt();
  cluster = await startCluster({
    dataDir,
    basePort: pgwirePorts[0]!,
    replicas: 4,
    args,
    untilOneServes: true,
  });
  expect(cluster.output()).toContain('r4 is to replace r1, as it was begun before');

  const seen = new Set<string>();
  let status = await change();
  const untilMs = performance.now() + 200_000;
  while (performance.now() < untilMs && status.state !== 'done' && status.state !== 'failed') {
    seen.add(`${status.state} ${status.added} ${status.replaced}`);
    await sleep(100);
    status = await change();
  }
  const { state, added } = status;
  if (state !== 'done') throw new Error(`${JSON.stringify(status)}\n${cluster.output()}`);
  expect(added).toBeNull();
  // Whoever waits for its end sees it under way, or removes the old one already.
  expect([...seen].filter((each) => !/^(joining r4 r1|asked null null)$/.test(each))).toEqual([]);
  expect(await members()).toBe('r2 voter,r3 voter,r4 voter');
  expect((await cluster.status()).replicas.map(({ id }) => id)).toEqual(['r2', 'r3', 'r4']);
  expect((await psql(pgwirePorts[1]!, 'SELECT n FROM kept')).stdout.trim()).toBe('7');
});
