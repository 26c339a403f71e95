/**
 * A cluster that is checked while it runs: what it does under faults is as specified, and an event that no replica told is refused, and shown, while the cluster goes on.
 *
 * BARISTA_SCREENSHOTS=DIR keeps pictures of what the page showed.
 */
import { appendFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../../dashboard/dev/testing/browser-page.ts';
import type { CheckStatus } from '../../server/src/api/check.ts';
import type { TraceEvent } from '../../server/src/api/events.ts';
import { startCluster, type LocalCluster } from '../cluster/local-cluster.ts';
import { pgbench } from '../cluster/pg-tools.ts';

const polling = { interval: 500 };

describe('a cluster under --check', () => {
  let cluster: LocalCluster;

  beforeAll(async () => {
    cluster = await startCluster({ args: ['--check'] });
  });
  afterAll(async () => {
    await cluster?.stop();
  });

  const check = async (): Promise<CheckStatus> => {
    const found = (await cluster.status()).check;
    if (found === null) throw new Error('nobody checks the cluster');
    return found;
  };
  /** Once all is judged that was recorded by now. @returns how many events are as specified */
  const untilChecked = async (more: number): Promise<number> => {
    // Whole, so that a failure tells why.
    const settled = {
      checked: expect.toSatisfy((checked: number) => checked > more),
      refused: null,
      ended: null,
      skipped: 0,
    };
    await expect.poll(check, polling).toMatchObject(settled);
    return (await check()).checked;
  };

  it('that loses its leader, restarts it, and has a disk wiped is as specified, and the count grows', async () => {
    const before = await untilChecked(0);
    const leader = await cluster.leader();
    const port = cluster.pgwirePorts.find((candidate) => candidate !== leader.pgwire.port)!;
    await pgbench(port, ['-i', '-q', '-s', '1', '-I', 'dtpG']);
    await pgbench(port, ['-n', '-c', '2', '-t', '20']);
    const loaded = await untilChecked(before + 200);
    await cluster.fault({ action: 'crash', replica: leader.id });
    await cluster.leader();
    await pgbench(port, ['-n', '-c', '2', '-t', '5']);
    await cluster.fault({ action: 'restart', replica: leader.id });
    await cluster.settled();
    const restarted = await untilChecked(loaded + 50);
    await cluster.fault({ action: 'wipe', replica: leader.id, what: 'both' });
    const statuses = await cluster.settled();
    expect(statuses.find(({ id }) => id === leader.id)?.incarnation).toBe(2);
    const alive = await cluster.leader();
    await pgbench(alive.pgwire.port, ['-n', '-c', '2', '-t', '5']);
    await untilChecked(restarted + 50);
  });

  it('that is stopped, and started with the logs that it has, is as specified from there, disks lost again included', async () => {
    const { dataDir, pgwirePorts } = cluster;
    await cluster.interrupt();
    cluster = await startCluster({ args: ['--check'], dataDir, basePort: pgwirePorts[0]! });
    const begun = await untilChecked(0);
    const leader = await cluster.leader();
    const victim = (await cluster.settled()).find(({ id }) => id !== leader.id)!;
    await cluster.fault({ action: 'wipe', replica: victim.id, what: 'both' });
    await pgbench(leader.pgwire.port, ['-n', '-c', '2', '-t', '5']);
    await cluster.settled();
    expect(await untilChecked(begun + 50)).toBeGreaterThan(begun);
  });

  it('that is said to have done what it cannot is refused: the status and the page tell it, and the cluster goes on', async () => {
    const leader = await cluster.leader();
    const victim = (await cluster.settled()).find(({ id }) => id !== leader.id)!;
    await cluster.fault({ action: 'crash', replica: victim.id });
    const { file, last } = await lastRecorded(join(cluster.dataDir, victim.id, 'trace'));
    const planted = { ...last, name: 'Serve', seq: last.seq + 1, atUs: last.atUs + 1 };
    const state = { ...last.state, role: 'leader', serving: true };
    for (const field of ['from', 'message', 'votes', 'sent', 'base', 'configurations', 'reason'])
      Reflect.deleteProperty(planted, field);
    await appendFile(file, `${JSON.stringify({ ...planted, state })}\n`);
    await expect
      .poll(async () => (await check()).refused, polling)
      .toMatchObject({ replica: last.replica, action: 'Serve', run: last.run, seq: planted.seq });
    const answer = await fetch(`${cluster.dashboardUrl}/api/report`);
    expect(((await answer.json()) as { check: CheckStatus }).check.refused?.action).toBe('Serve');
    await showOnPage(cluster.dashboardUrl, last.replica);
    await cluster.fault({ action: 'restart', replica: victim.id });
    await cluster.settled();
    await pgbench((await cluster.leader()).pgwire.port, ['-n', '-c', '2', '-t', '5']);
  });
});

type ConsensusEvent = Extract<TraceEvent, { layer: 'consensus' }>;

/** The last event of the newest run there, with what it says of consensus as the last such event of it does. */
async function lastRecorded(dir: string): Promise<{ file: string; last: ConsensusEvent }> {
  const runs = await Promise.all(
    (await readdir(dir)).map(async (name) => {
      const file = join(dir, name);
      const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
      return { file, events: lines.map((line) => JSON.parse(line) as TraceEvent) };
    }),
  );
  const newest = runs.reduce((a, b) => (a.events.at(-1)!.atUs > b.events.at(-1)!.atUs ? a : b));
  const { seq, atUs } = newest.events.at(-1)!;
  const last = newest.events.findLast((event) => event.layer === 'consensus');
  return { file: newest.file, last: { ...last!, seq, atUs } };
}

async function showOnPage(url: string, replica: string): Promise<void> {
  const browser = await launchBrowser();
  const pictures = process.env.BARISTA_SCREENSHOTS ?? (await mkdtemp(join(tmpdir(), 'barista-check-')));
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 600 } });
    await page.goto(url);
    await expect
      .poll(() => page.getByTestId('banner-check').innerText(), polling)
      .toContain(`Serve of ${replica}`);
    expect(await page.getByTestId('check').getAttribute('data-state')).toBe('bad');
    await page.screenshot({ path: join(pictures, 'check-refused.png') });
  } finally {
    await browser.close();
    if (process.env.BARISTA_SCREENSHOTS === undefined) await rm(pictures, { recursive: true });
  }
}
