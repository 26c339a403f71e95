/**
 * What a real cluster recorded while its leader was killed and disks were wiped under load, in the middle of a bulk load first, and a leader was killed right behind a switch of segments, is a behaviour of the specs, and the same
 * record with one event altered is not.
 */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../server/src/api/events.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { segmentBytes } from '../../server/src/wal/lsn.ts';
import { startCluster, type LocalCluster } from '../cluster/local-cluster.ts';
import { pgbench, psqlSocket } from '../cluster/pg-tools.ts';
import { checkLeaseTrace } from '../conformance/lease/lease-trace.ts';
import { checkApplyTrace } from '../conformance/trace/apply-trace.ts';
import { checkTrace } from '../conformance/trace/check-trace.ts';
import { mutate } from '../conformance/trace/mutate.ts';
import { readEvents } from '../conformance/trace/trace-files.ts';

const TRANSACTIONS = 25;
/** Some tens of megabytes of WAL in one transaction. */
const BULK = ['-i', '-q', '-s', '3', '-I', 'G'];
const WIPES = ['log', 'both'] as const;
const REPLICAS = ['r1', 'r2', 'r3'] as ReplicaId[];
const DELAY_MS = 15;
/** So much later psql has connected and asked, and some of the rest is chosen, as a rule. */
const SWITCH_MS = 130;
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

/** How many ranges were shipped while one copy was under way. */
function shippedDuringCopies(events: readonly TraceEvent[]): number {
  const applied = events.filter((event) => event.layer === 'apply').sort((a, b) => a.atUs - b.atUs);
  const during = (begun: number): number => {
    const { replica } = applied[begun]!;
    const isOver = ({ name, replica: of }: (typeof applied)[number]): boolean =>
      of === replica && name === 'EndCopy';
    const behind = applied.slice(begun);
    return behind.slice(0, Math.max(0, behind.findIndex(isOver))).filter(({ name }) => name === 'Ship')
      .length;
  };
  return Math.max(...applied.flatMap(({ name }, index) => (name === 'BeginCopy' ? [during(index)] : [])));
}

/** The empty rest of a segment is on its way when the leader dies: its messages take their time. */
async function killBehindSwitch(cluster: LocalCluster): Promise<void> {
  const { id, postgres } = await cluster.leader();
  for (const to of REPLICAS.filter((other) => other !== id))
    await cluster.fault({ action: 'delay', from: id, to, amount: DELAY_MS });
  const switched = psqlSocket(postgres, 'SELECT pg_switch_wal()');
  await sleep(SWITCH_MS);
  await cluster.fault({ action: 'crash', replica: id });
  await switched;
  await cluster.fault({ action: 'heal' });
  await pgbench((await cluster.leader()).pgwire.port, ['-n', '-c', '2', '-t', '10']);
  await cluster.fault({ action: 'restart', replica: id });
  await cluster.settled();
}

/** How many timelines begin at the end of a segment of whose empty rest not all was chosen. */
function forksBehindRest(events: readonly TraceEvent[]): number {
  const applied = events.filter((event) => event.layer === 'apply');
  const forks = new Set(
    applied.flatMap((event) => (event.name === 'BeginLeadership' && !event.resumes ? [event.fork] : [])),
  );
  const ends = new Set<number>(applied.flatMap((event) => (event.name === 'Feed' ? [event.end] : [])));
  return [...forks].filter((fork) => fork % segmentBytes === 0 && !ends.has(fork)).length;
}

describe('the trace of a cluster whose disks are wiped, and whose leader is killed, under load', () => {
  let cluster: LocalCluster;
  let events: TraceEvent[];
  /** With which code the bulk load has ended. */
  let filled: number | null;

  beforeAll(async () => {
    cluster = await startCluster({ args: ['--trace'] });
    const leader = await cluster.leader();
    const [port, wiped] = cluster.pgwirePorts.filter((candidate) => candidate !== leader.pgwire.port);
    await pgbench(port!, ['-i', '-q', '-s', '3', '-I', 'dtp']);
    const filling = pgbench(port!, BULK);
    await sleep(500);
    const copied = `r${cluster.pgwirePorts.indexOf(wiped!) + 1}` as ReplicaId;
    await cluster.fault({ action: 'wipe', replica: copied, what: 'database' });
    filled = (await filling).code;
    const load = pgbench(port!, ['-n', '-c', '4', '-t', String(TRANSACTIONS)]);
    await sleep(500);
    await cluster.fault({ action: 'crash', replica: leader.id });
    await load;
    await cluster.leader();
    await pgbench(port!, ['-n', '-c', '4', '-t', String(TRANSACTIONS)]);
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
    await killBehindSwitch(cluster);
    await cluster.interrupt();
    events = readEvents(statuses.map(({ id }) => join(cluster.dataDir, id, 'trace')));
  });
  afterAll(async () => {
    await cluster?.stop();
  });

  it('is accepted at all layers', async () => {
    const consensus = await checkTrace(events, { workers: 2 });
    expect(await rejection(consensus, events)).toBeNull();
    const lives = new Set(events.filter(({ layer }) => layer === 'consensus').map(({ replica }) => replica));
    // Two of the three lost their logs, and came back as somebody else.
    expect(lives.size).toBe(5);
    expect(filled).toBe(0);
    expect(shippedDuringCopies(events)).toBeGreaterThan(20);
    const apply = await checkApplyTrace(events);
    expect(await rejection(apply, events)).toBeNull();
    expect(await rejection(await checkLeaseTrace(events), events)).toBeNull();
    console.log(`${events.length} events recorded, ${forksBehindRest(events)} timelines begin behind a rest`);
  });

  it('is rejected with one vote altered', async () => {
    const altered = mutate(events, 'vote-label');
    expect((await checkTrace(altered.events, { workers: 2 })).kind).toBe('rejected');
  });
});
