/**
 * One run: a cluster, its workloads, the nemesis, peace, the last reads, and the verdict of every checker.
 *
 * Responsible for: the order of these, and for leaving nothing behind but the histories (and, if something was found, the replicas' logs).
 */
import { createWriteStream } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { checkHistory, type CheckedHistory, type WorkloadName } from '../checkers/check-history.ts';
import type { Anomaly } from '../checkers/anomaly.ts';
import { readHistory, writeHistory, type HistoryWriter } from '../checkers/history.ts';
import type { ReadMode } from '../checkers/read-terms.ts';
import { modesWithoutReads } from '../checkers/reads-tally.ts';
import { startCluster, type ClusterLogStore, type LocalCluster } from '../cluster/local-cluster.ts';
import { readEvents } from '../conformance/trace/trace-files.ts';
import { createWorkload } from '../workload/all-workloads.ts';
import { startWorkload, type WorkloadRun } from '../workload/run-workload.ts';
import { SqlSession } from '../workload/sql-session.ts';
import type { Workload } from '../workload/workload.ts';
import { ballastSetup } from './ballast.ts';
import { clockEnvironment } from './clock-faults.ts';
import { slowDiskEnvironment } from './slow-disk.ts';
import { protocolLines, replicasDiffer } from './compare-replicas.ts';
import { judgeTraces, type TraceVerdict } from './judge-traces.ts';
import { LinkTable } from './link-table.ts';
import { runNemesis, type NemesisEvent, type NemesisResult } from './nemesis.ts';
import { orderArgs, type Order } from './order.ts';
import type { Scene } from './scene.ts';
import type { PlannedFault } from './schedule.ts';
import { longestSilence, type Silence } from './silence.ts';
import { unmountAll } from './small-disk.ts';

export interface RunOptions {
  readonly seed: number;
  readonly durationMs: number;
  readonly replicas: number;
  readonly workloads: readonly WorkloadName[];
  readonly schedule: readonly PlannedFault[];
  readonly logStore: ClusterLogStore;
  readonly order?: Order;
  /** Transfers whose outcome is unknown are repeated under a request id. */
  readonly requestIds: boolean;
  /** For histories and, while it runs, the cluster. */
  readonly directory: string;
  readonly bin?: string;
  /** How long the healed cluster may take to be whole again. */
  readonly settleMs?: number;
  /** 2: load that is twice as dense. */
  readonly pace?: number;
  /** How clients read at all replicas, besides. Each mode must have been answered at a follower. */
  readonly readModes: readonly ReadMode[];
  /** Every replica records what it does, and the specs judge it in the end. For little load. */
  readonly trace?: boolean;
  /** It is altered as well, and none of that may be accepted. */
  readonly alter?: boolean;
  readonly say: (line: string) => void;
}

export interface RunResult {
  readonly checked: readonly CheckedHistory[];
  /** Of the cluster as a whole: replicas that differ, that do not come back, that did not notice damage. */
  readonly anomalies: readonly Anomaly[];
  readonly nemesis: NemesisResult | null;
  readonly silence: Silence;
  readonly errors: ReadonlyMap<string, number>;
  readonly historyFiles: readonly string[];
  /** What was found of the replicas' traces; empty if none were recorded. */
  readonly traces: readonly string[];
}

const settleMsMax = 120_000;
const finalMsMax = 30_000;
const progressMs = 10_000;
const interruptedCode = 130;
/** Faults that have waited begin no later than this before the end. */
const lastBeginMs = 15_000;
const processesPerWorkload = 1_000_000;

interface Load {
  readonly workload: Workload;
  readonly run: WorkloadRun;
  readonly history: HistoryWriter;
  readonly path: string;
}

export async function runOnce(options: RunOptions): Promise<RunResult> {
  const { directory, replicas, say } = options;
  const dataDir = join(directory, 'cluster');
  await mkdir(dataDir, { recursive: true });
  const cluster = await startCluster({
    dataDir,
    replicas,
    logStore: options.logStore,
    env: { ...clockEnvironment(), ...(await slowDiskEnvironment(dataDir)) },
    args: [...orderArgs(options.order ?? 'wal'), ...(options.trace === true ? ['--trace'] : [])],
    ...(options.bin === undefined ? {} : { bin: options.bin }),
  });
  say(`${replicas} replicas are up (${dataDir})`);
  let result: RunResult | null = null;
  const stopEarly = (): void => {
    const gone = cluster.interrupt().then(() => unmountAll(dataDir));
    void gone.finally(() => process.exit(interruptedCode));
  };
  process.once('SIGINT', stopEarly).once('SIGTERM', stopEarly);
  try {
    result = await strain(cluster, options);
    await cluster.interrupt();
    if (options.trace === true) result = await withTraces(result, cluster, options);
    return result;
  } finally {
    process.off('SIGINT', stopEarly).off('SIGTERM', stopEarly);
    await cluster.interrupt();
    await unmountAll(dataDir);
    if (result !== null && isClean(result)) await cluster.removeFiles();
    else say(`the cluster's files are kept in ${dataDir}`);
  }
}

/** Nothing was found, and everything decided. */
export function isClean({ checked, anomalies }: Pick<RunResult, 'checked' | 'anomalies'>): boolean {
  return (
    anomalies.length === 0 && checked.every((each) => each.anomalies.length === 0 && each.gaveUp === null)
  );
}

/** Modes of which the run says nothing: nobody was answered in them at a follower. */
export function untriedModes(checked: readonly CheckedHistory[]): readonly ReadMode[] {
  return modesWithoutReads(checked.flatMap(({ reads }) => reads));
}

async function strain(cluster: LocalCluster, options: RunOptions): Promise<RunResult> {
  const { schedule, durationMs, say, directory } = options;
  const { requestIds, order = 'wal' } = options;
  const workloads = options.workloads.map((name) =>
    createWorkload(name, { requestIds, inAdvance: order === 'wal' }),
  );
  await setUp(cluster, workloads);
  const startedMs = performance.now();
  const nowMs = (): number => performance.now() - startedMs;
  const okUs: number[] = [];
  const loads = workloads.map((workload, index) =>
    startLoad(workload, { ...options, index, ports: cluster.pgwirePorts, nowMs, okUs }),
  );
  const events = createWriteStream(join(directory, 'nemesis.ndjson'));
  const onEvent = (event: NemesisEvent): void => {
    events.write(`${JSON.stringify(event)}\n`);
    say(
      `${(event.atMs / 1000).toFixed(1).padStart(6)} s  #${event.number} ${event.kind} ${event.event}: ${event.what}`,
    );
  };
  const progress = setInterval(() => tellProgress(nowMs(), okUs, say), progressMs);
  const scene = createScene(cluster, options, () => nowMs() < durationMs - lastBeginMs);
  const anomalies: Anomaly[] = scene.anomalies;
  const nemesis = await runNemesis({ scene, schedule, nowMs, onEvent });
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, durationMs - nowMs())));
  const endUs = nowMs() * 1000;
  clearInterval(progress);
  say('stopping the clients, waiting for peace');
  await Promise.all(loads.map(({ run }) => run.stop()));
  await endInPeace(cluster, loads, anomalies, options);
  await Promise.all(loads.map(({ history }) => history.close()));
  events.end();
  const checked: CheckedHistory[] = [];
  for (const { path } of loads) checked.push(checkHistory(await readHistory(path)));
  return {
    checked,
    anomalies,
    nemesis,
    silence: longestSilence(okUs, 0, endUs),
    errors: sumErrors(loads),
    historyFiles: loads.map(({ path }) => path),
    traces: [],
  };
}

/** What the checkers of the histories found is not lost with a trace that cannot be judged. */
async function withTraces(result: RunResult, cluster: LocalCluster, options: RunOptions): Promise<RunResult> {
  const { anomalies, told } = await verdictOfTraces(cluster, options).catch(notJudged);
  return { ...result, anomalies: [...result.anomalies, ...anomalies], traces: told };
}

/** Traces are kept with the histories, whatever comes of them. */
async function verdictOfTraces(
  { dataDir, pgwirePorts }: LocalCluster,
  { directory, alter = false, say }: RunOptions,
): Promise<TraceVerdict> {
  const kept = pgwirePorts.map((_, index) => join(directory, `r${index + 1}.trace`));
  for (const [index, path] of kept.entries())
    await cp(join(dataDir, `r${index + 1}`, 'trace'), path, { recursive: true });
  const events = readEvents(kept);
  say(`${events.length} events are recorded; the specs judge them`);
  return judgeTraces(events, { alter, say });
}

function notJudged(error: unknown): TraceVerdict {
  const [first = '', ...detail] = String(error).split('\n');
  return { anomalies: [{ kind: 'trace-not-judged', summary: first, detail }], told: [] };
}

function createScene(
  cluster: LocalCluster,
  { replicas, logStore, trace = false, say }: RunOptions,
  mayBegin: () => boolean,
): Scene {
  return {
    cluster,
    ids: Array.from({ length: replicas }, (_, index) => `r${index + 1}`),
    links: new LinkTable(),
    logStore,
    claims: new Map(),
    losses: new Map(),
    clocks: new Map(),
    isTraced: trace,
    anomalies: [],
    mayBegin,
    say,
  };
}

async function setUp(cluster: LocalCluster, workloads: readonly Workload[]): Promise<void> {
  const session = await SqlSession.open({
    port: cluster.pgwirePorts[0]!,
    connectMs: 10_000,
    statementMs: 20_000,
  });
  for (const text of [ballastSetup, ...workloads.flatMap(({ setup }) => setup)])
    await session.statement(text, [], 'writes');
  session.close();
}

function startLoad(
  workload: Workload,
  options: RunOptions & {
    readonly index: number;
    readonly ports: readonly number[];
    readonly nowMs: () => number;
    readonly okUs: number[];
  },
): Load {
  const { index, seed, replicas, directory, nowMs, okUs, ports, readModes } = options;
  const path = join(directory, `${workload.name}.ndjson`);
  const history = writeHistory(path, {
    format: 'barista-history-1',
    workload: workload.name,
    seed,
    replicas,
    startedAt: new Date().toISOString(),
    options: workload.options,
    ...(workload.hasReads ? { readModes } : {}),
  });
  const run = startWorkload({
    workload,
    ports,
    seed: seed * 1000 + index,
    history,
    nowUs: () => Math.round(nowMs() * 1000),
    firstProcess: index * processesPerWorkload,
    pace: options.pace ?? 1,
    readModes,
    onOk: (timeUs) => void okUs.push(timeUs),
  });
  return { workload, run, history, path };
}

/** All replicas up and equal, all clients' last reads done. What does not succeed is an anomaly: a healed cluster must serve. */
async function endInPeace(
  cluster: LocalCluster,
  loads: readonly Load[],
  anomalies: Anomaly[],
  { order = 'wal', settleMs = settleMsMax, say }: RunOptions,
): Promise<void> {
  try {
    await cluster.settled(settleMs).catch(async (error: unknown) => {
      anomalies.push(...(await notSettled(cluster, error)));
    });
    for (const { run } of loads) await run.final(finalMsMax);
    if (anomalies.some(({ kind }) => kind === 'not-settled')) return;
    const statuses = await cluster.settled(settleMs);
    for (const line of protocolLines(statuses)) say(line);
    anomalies.push(...(await replicasDiffer(statuses, order)));
  } catch (error) {
    anomalies.push(...(await notSettled(cluster, error)));
  }
}

/** Why there is no peace; a replica that has seen that it differs is told by that name. */
async function notSettled(cluster: LocalCluster, error: unknown): Promise<readonly Anomaly[]> {
  const [summary, ...detail] = (error instanceof Error ? error.message : String(error)).split('\n');
  const { replicas } = await cluster.status();
  const diverged = replicas.flatMap(({ id, status }) =>
    status?.state === 'diverged'
      ? [{ kind: 'diverged', summary: `${id} has stopped applying`, detail: [status.message ?? ''] }]
      : [],
  );
  return [...diverged, { kind: 'not-settled', summary: summary ?? '', detail: detail.slice(-20) }];
}

function tellProgress(nowMs: number, okUs: readonly number[], say: (line: string) => void): void {
  const lately = okUs.filter((at) => at > (nowMs - progressMs) * 1000).length;
  const perSecond = Math.round(lately / (progressMs / 1000));
  say(
    `${(nowMs / 1000).toFixed(1).padStart(6)} s  ${okUs.length} operations acknowledged, ${perSecond} a second lately`,
  );
}

function sumErrors(loads: readonly Load[]): ReadonlyMap<string, number> {
  const sum = new Map<string, number>();
  for (const { run } of loads)
    for (const [code, count] of run.errors) sum.set(code, (sum.get(code) ?? 0) + count);
  return sum;
}
