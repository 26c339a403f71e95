/**
 * The leader is killed under pgbench, with its PostgreSQL, again and again; each time it must come back by itself. In the end all replicas must be the same, and nothing in their files wrong.
 *
 * Responsible for: the kills, what each took, and the last look. A command to be run by hand: `npm run nemesis -- --leader-kills 50`.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { VerifyResult } from '../../server/src/api/status.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { checkRelations, installAmcheck } from '../../server/src/adapters/postgres/backup/check-database.ts';
import { checkPages } from '../../server/src/adapters/postgres/backup/check-pages.ts';
import { copiesSince, healed, logMark, type CopySize } from '../cluster/healing.ts';
import { startCluster, type LocalCluster } from '../cluster/local-cluster.ts';
import { pgbench } from '../cluster/pg-tools.ts';
import { signalAll } from './processes.ts';
import { OutageProbe, type Outage } from './outage-probe.ts';

export interface LeaderKillsOptions {
  readonly kills: number;
  readonly replicas: number;
  /** pgbench's. */
  readonly scale: number;
  /** For the cluster's files. */
  readonly directory: string;
  readonly bin?: string;
  readonly say: (line: string) => void;
}

interface Kill extends Outage {
  readonly leader: string;
  readonly backMs: number;
  /** Null: all that it had was chosen, or it led again. */
  readonly copy: CopySize | null;
}

const clients = 8;
const loadSeconds = 5;
const serveMsMax = 60_000;
const healMsMax = 180_000;
const settleMsMax = 180_000;
const verifyMsMax = 300_000;
const verifyAttempts = 4;
const verifyAgainMs = 5000;
/** How long PostgreSQL outlives its replica. */
const aloneMs = 50;
/** Between a replica's return and the next kill. */
const calmMs = 1500;

/** Exit code: 0 if every replica came back each time, and nothing was wrong in the end. */
export async function runLeaderKills(options: LeaderKillsOptions): Promise<number> {
  const { directory: dataDir, replicas, bin, say } = options;
  const cluster = await startCluster({ dataDir, replicas, ...(bin === undefined ? {} : { bin }) });
  const kills: Kill[] = [];
  let problems: readonly string[];
  try {
    problems = await killAgainAndAgain(cluster, options, kills);
  } catch (error) {
    problems = [error instanceof Error ? error.message : String(error)];
  } finally {
    await cluster.interrupt();
  }
  const ids = Array.from({ length: replicas }, (_, index) => `r${index + 1}`);
  for (const id of ids) {
    const { complaints: found } = await checkPages(join(dataDir, id, 'postgres', 'data'));
    problems = [...problems, ...found.map((complaint) => `${id}: ${complaint}`)];
  }
  for (const line of describeKills(kills)) say(line);
  for (const problem of problems) say(`PROBLEM: ${problem}`);
  const isClean = problems.length === 0 && kills.length === options.kills;
  say(isClean ? 'VERDICT: all replicas equal, nothing wrong in their files' : 'VERDICT: FAILED');
  return isClean ? 0 : 1;
}

async function killAgainAndAgain(
  cluster: LocalCluster,
  { kills: wanted, scale, say }: LeaderKillsOptions,
  kills: Kill[],
): Promise<readonly string[]> {
  const { code, stderr } = await pgbench(cluster.pgwirePorts[0]!, ['-i', '-q', '-s', String(scale)]);
  if (code !== 0) throw new Error(`pgbench -i failed: ${stderr}`);
  const probe = await OutageProbe.start(cluster.pgwirePorts);
  const stopLoad = startLoad(cluster);
  try {
    await sleep(calmMs);
    while (kills.length < wanted) {
      const kill = await killLeader(cluster, probe);
      kills.push(kill);
      say(`${String(kills.length).padStart(3)}  ${describeKill(kill)}`);
      await sleep(calmMs);
    }
  } finally {
    await probe.stop();
    await stopLoad();
  }
  return lastLook(cluster);
}

/** TPC-B at whoever leads. It ends with each leader, and is begun again. */
function startLoad(cluster: LocalCluster): () => Promise<void> {
  const over = new AbortController();
  async function load(): Promise<void> {
    while (!over.signal.aborted) {
      const leader = await cluster.leader(serveMsMax).catch(() => null);
      if (leader === null) continue;
      const { code } = await pgbench(leader.pgwire.port, [
        '-n',
        '-c',
        String(clients),
        '-T',
        String(loadSeconds),
      ]);
      if (code !== 0) await sleep(100);
    }
  }
  const loading = load();
  return async () => {
    over.abort();
    await loading;
  };
}

async function killLeader(cluster: LocalCluster, probe: OutageProbe): Promise<Kill> {
  const leader = await cluster.leader(serveMsMax);
  const replica: ReplicaId = leader.id;
  const mark = await logMark(cluster, replica);
  const killedMs = performance.now();
  await cluster.fault({ action: 'crash', replica });
  // A little later, so that there is WAL which nobody has chosen. It may have ended by itself.
  await sleep(aloneMs);
  if (leader.postgres.pid !== null) signalAll([leader.postgres.pid], 'SIGKILL');
  const outage = await untilServed(probe, killedMs);
  const restartedMs = performance.now();
  await cluster.fault({ action: 'restart', replica });
  await healed(cluster, replica, leader.incarnation, healMsMax);
  const backMs = performance.now() - restartedMs;
  const copies = await copiesSince(cluster, replica, mark);
  return { leader: replica, backMs, ...outage, copy: copies.at(-1) ?? null };
}

async function untilServed(probe: OutageProbe, momentMs: number): Promise<Outage> {
  for (const deadline = momentMs + serveMsMax; performance.now() < deadline; await sleep(20)) {
    const outage = probe.outageSince(momentMs);
    if (outage !== null) return outage;
  }
  throw new Error(`no write succeeded within ${serveMsMax} ms of a leader's death`);
}

/** What is wrong with replicas that are up and have everything. */
async function lastLook(cluster: LocalCluster): Promise<readonly string[]> {
  await cluster.settled(settleMsMax);
  const leader = await cluster.leader();
  await installAmcheck(leader.postgres);
  const problems: string[] = [];
  for (const { id, postgres } of await cluster.settled(settleMsMax)) {
    const found = await checkRelations(postgres);
    problems.push(...found.map((complaint) => `${id}: ${complaint}`));
  }
  return [...problems, ...(await verifyPatiently(cluster))];
}

/** A standby that is busy, as after amcheck has read all of it, may not come to the position in time, and says so: then it is asked again, as a person would. */
async function verifyPatiently(cluster: LocalCluster): Promise<readonly string[]> {
  for (let attempt = 1; ; attempt++) {
    const problems = await verify(cluster);
    if (attempt === verifyAttempts || !problems.some((problem) => problem.includes(' noReport')))
      return problems;
    await sleep(verifyAgainMs);
  }
}

async function verify({ dashboardUrl }: LocalCluster): Promise<readonly string[]> {
  const response = await fetch(`${dashboardUrl}/api/verify`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ repair: false }),
    signal: AbortSignal.timeout(verifyMsMax),
  });
  if (!response.ok) return [`verify: ${await response.text()}`];
  const { replicas } = (await response.json()) as VerifyResult;
  return replicas
    .filter(({ outcome }) => outcome !== 'equal')
    .map(({ replica, outcome, detail }) => `verify: ${replica} ${outcome}: ${detail.join(', ')}`);
}

function describeKill({ leader, sinceMs, sinceFirstFailureMs, backMs, copy }: Kill): string {
  const times = `${ms(sinceFirstFailureMs)} from the first failed write to the first that succeeded, ${ms(sinceMs)} from the kill`;
  return `${leader} killed: ${times}; back after ${ms(backMs)}, ${copy === null ? 'without a copy' : describeCopy(copy)}`;
}

function describeCopy({ bytesReceived, bytesTotal }: CopySize): string {
  const share = ((100 * bytesReceived) / bytesTotal).toFixed(1);
  return `${mb(bytesReceived)} of ${mb(bytesTotal)} copied (${share} %)`;
}

function describeKills(kills: readonly Kill[]): readonly string[] {
  if (kills.length === 0) return ['no kill was completed'];
  const copies = kills.flatMap(({ copy }) => (copy === null ? [] : [copy]));
  const sum = (each: (copy: CopySize) => number): number =>
    copies.reduce((total, copy) => total + each(copy), 0);
  const all = { bytesReceived: sum((c) => c.bytesReceived), bytesTotal: sum((c) => c.bytesTotal) };
  return [
    `${kills.length} kills; ${copies.length} times a copy was needed${copies.length > 0 ? `: ${describeCopy(all)} in all` : ''}`,
    `  first failed to first successful write: ${describeSpread(kills.map((kill) => kill.sinceFirstFailureMs))}`,
    `  kill to first successful write:         ${describeSpread(kills.map((kill) => kill.sinceMs))}`,
    `  restart to whole again:                 ${describeSpread(kills.map((kill) => kill.backMs))}`,
  ];
}

function describeSpread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  return `median ${ms(sorted[Math.floor(sorted.length / 2)]!)}, worst ${ms(sorted.at(-1)!)}`;
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
