/**
 * What a real cluster recorded while its leader was killed and disks were wiped under load is a behaviour of the specs, and the same record with
 * one event altered is not. Needs Java (TLC).
 */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../server/src/api/events.ts';
import { startCluster, type LocalCluster } from '../cluster/local-cluster.ts';
import { pgbench } from '../cluster/pg-tools.ts';
import { checkApplyTrace } from '../conformance/trace/apply-trace.ts';
import { checkTrace } from '../conformance/trace/check-trace.ts';
import { mutate } from '../conformance/trace/mutate.ts';
import { readEvents } from '../conformance/trace/read-trace.ts';

const TRANSACTIONS = 25;
const WIPES = ['log', 'database', 'both'] as const;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Null if it was accepted; else where the record is kept, which no other run would make again, and what is said of it. */
async function rejection(
  result: { readonly kind: string } | null,
  events: readonly TraceEvent[],
): Promise<string | null> {
  if (result?.kind === 'accepted') return null;
  const path = join(await mkdtemp(join(tmpdir(), 'barista-rejected-')), 'trace.ndjson');
  await writeFile(path, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  return `${path}: ${JSON.stringify(result)}`;
}

describe('the trace of a cluster whose leader is killed, and whose disks are wiped, under load', () => {
  let cluster: LocalCluster;
  let events: TraceEvent[];

  beforeAll(async () => {
    cluster = await startCluster({ args: ['--trace'] });
    const leader = await cluster.leader();
    const port = cluster.pgwirePorts.find((candidate) => candidate !== leader.pgwire.port)!;
    await pgbench(port, ['-i', '-q', '-s', '1', '-I', 'dtp']);
    await pgbench(port, ['-i', '-q', '-s', '1', '-I', 'G']);
    const load = pgbench(port, ['-n', '-c', '4', '-t', String(TRANSACTIONS)]);
    await sleep(500);
    await cluster.fault({ action: 'crash', replica: leader.id });
    await load;
    await cluster.leader();
    await pgbench(port, ['-n', '-c', '4', '-t', String(TRANSACTIONS)]);
    await cluster.fault({ action: 'restart', replica: leader.id });
    const statuses = await cluster.settled();
    for (const [index, what] of WIPES.entries()) {
      const victim = statuses[index]!.id;
      const alive = await cluster.leader();
      const running = pgbench(alive.pgwire.port, ['-n', '-c', '2', '-t', '10']).catch(() => null);
      await cluster.fault({ action: 'wipe', replica: victim, what });
      // Its sessions end if the victim was the leader: what counts is what was recorded.
      await running;
      await cluster.settled();
    }
    await cluster.interrupt();
    events = readEvents(statuses.map(({ id }) => join(cluster.dataDir, id, 'trace')));
  });
  afterAll(async () => {
    await cluster?.stop();
  });

  it('is accepted by both specs', async () => {
    const consensus = await checkTrace(events, { workers: 2 });
    expect(await rejection(consensus, events)).toBeNull();
    const lives = new Set(events.filter(({ layer }) => layer === 'consensus').map(({ replica }) => replica));
    // Two of the three lost their logs, and came back as somebody else.
    expect(lives.size).toBe(5);
    const apply = await checkApplyTrace(events);
    expect(await rejection(apply, events)).toBeNull();
    console.log(`${events.length} events recorded`);
  });

  it('is rejected with one vote altered', async () => {
    const altered = mutate(events, 'vote-label');
    expect((await checkTrace(altered.events, { workers: 2 })).kind).toBe('rejected');
  });
});
