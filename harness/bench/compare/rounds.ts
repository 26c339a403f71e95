/**
 * Workloads in interleaved rounds: every system once in each round, each round in another order.
 *
 * Responsible for: the order, and the figures of each run with the CPU time that the system spent on it. A run in which anything failed ends the benchmark.
 */
import { untilSettled } from './arrival.ts';
import type { Percentiles } from './loads/latencies.ts';
import { unlessPeerFails } from './peers.ts';
import { prepare } from './prepare.ts';
import { costsOfEach, lookAtMachine, type MachineCosts } from './machine-costs.ts';
import { cpuMsByPart, lookAtProcesses } from './processes.ts';
import type { System, SystemId } from './systems/system.ts';
import { undisturbed, type Patience, type Watched } from './undisturbed.ts';
import { requireConsistent, writeWarehouses } from './loads/tpcc-load.ts';
import { runLoad, type LoadFigures, type LoadRun, type Workload } from './loads/workloads.ts';

export interface Run extends Watched {
  readonly round: number;
  readonly system: SystemId;
  readonly tps: number;
  readonly transactions: number;
  /** The mean. */
  readonly latencyMs: number;
  readonly percentilesMs: Percentiles;
  /** Of all processes of the system, in milliseconds for one transaction. */
  readonly cpuMsPerTransaction: number;
  /** The same by role and program, such as `leader node`. */
  readonly cpuMsByPart: Readonly<Record<string, number>>;
  /** Of the whole machine, for one transaction; null: not told. */
  readonly costs: MachineCosts | null;
}

export interface WorkloadResult {
  readonly workload: Workload;
  readonly runs: readonly Run[];
  /** Systems of others that could not run it, with why. */
  readonly failures: readonly { readonly system: SystemId; readonly reason: string }[];
}

export interface RoundsOptions {
  readonly systems: readonly System[];
  readonly rounds: number;
  readonly load: LoadRun;
  /** For files that are loaded. */
  readonly root: string;
  /** Load the tables anew before the first round. */
  readonly isFresh: boolean;
  readonly patience: Patience;
}

/** The order of round `round`, counted from 1: everyone comes first equally often. */
export function rotated<T>(all: readonly T[], round: number): readonly T[] {
  const first = (round - 1) % Math.max(1, all.length);
  return [...all.slice(first), ...all.slice(0, first)];
}

/** Of a run's time. */
const connectingShareMax = 0.2;

/** Many clients take seconds to connect through a replica that passes them on, and the first run is to tell how long. */
export function firstSeconds(clients: number): number {
  return 1 + Math.floor(clients / 64);
}

/** What a run lasts, so that connecting its clients, which took `connectingMs`, leaves it most of its time. */
export function lengthOfRun(seconds: number, connectingMs: number): number {
  return connectingMs > seconds * connectingShareMax * 1000
    ? seconds + Math.ceil(connectingMs / 1000)
    : seconds;
}

export async function runRounds(options: RoundsOptions): Promise<WorkloadResult> {
  const { rounds, patience } = options;
  const { signal, progress } = patience;
  const { name, clients } = options.load.workload;
  const systems: System[] = [];
  const failures: { system: SystemId; reason: string }[] = [];
  const attempt = <T>(system: System, what: () => Promise<T>): Promise<T | null> =>
    unlessPeerFails(system, patience, what, (reason) => failures.push({ system: system.id, reason }));
  let connectingMs = 0;
  const files = name === 'tpcc' ? await writeWarehouses(options.root, clients) : [];
  for (const system of options.systems.filter((each) => each.runs(name))) {
    await attempt(system, async () => {
      if (system.id === system.tablesOf)
        await prepare(system, { load: options.load, isFresh: options.isFresh, signal }, files);
      const first = await load(system, { ...options.load, seconds: firstSeconds(clients) }, signal);
      connectingMs = Math.max(connectingMs, first.connectingMs);
      await untilSettled(system, signal);
      systems.push(system);
    });
  }
  const each = { ...options.load, seconds: lengthOfRun(options.load.seconds, connectingMs) };
  const runs: Run[] = [];
  const isLeftOut = (id: SystemId): boolean => failures.some((failure) => failure.system === id);
  for (let round = 1; round <= rounds; round++) {
    for (const system of rotated(systems, round)) {
      const what = `${each.workload.label}, round ${round} of ${rounds}, ${system.label}`;
      if (isLeftOut(system.id)) continue;
      const run = await attempt(system, () =>
        undisturbed(patience, what, async () => {
          const done = await runOnce(system, each, round, signal);
          // What a standby still has to do would be taken from the next one's run.
          await untilSettled(system, signal);
          return done;
        }),
      );
      if (run === null) continue;
      runs.push(run);
      progress(`${what}: ${run.tps.toFixed(0)}/s, ${run.cpuMsPerTransaction.toFixed(3)} ms CPU each`);
    }
  }
  if (name === 'tpcc') {
    for (const system of systems) {
      if (system.id === system.tablesOf && !isLeftOut(system.id))
        await attempt(system, () => requireConsistent(system));
    }
  }
  return { workload: each.workload, runs: runs.filter(({ system }) => !isLeftOut(system)), failures };
}

async function load(system: System, run: LoadRun, signal: AbortSignal): Promise<LoadFigures> {
  signal.throwIfAborted();
  try {
    return await runLoad(await system.doors(), run, signal, system.engine);
  } catch (cause) {
    signal.throwIfAborted();
    throw new Error(`${run.workload.label} on ${system.label}: ${(cause as Error).message}`, { cause });
  }
}

async function runOnce(
  system: System,
  run: LoadRun,
  round: number,
  signal: AbortSignal,
): Promise<Omit<Run, keyof Watched>> {
  const parts = await system.parts();
  const before = { processes: lookAtProcesses(), machine: lookAtMachine() };
  const { tps, transactions, latencyMs, percentilesMs } = await load(system, run, signal);
  const after = { processes: lookAtProcesses(), machine: lookAtMachine() };
  const earlierMs = cpuMsByPart(before.processes, parts);
  const cpuMs: Record<string, number> = {};
  let sumMs = 0;
  for (const [part, laterMs] of cpuMsByPart(after.processes, parts)) {
    const spentMs = laterMs - (earlierMs.get(part) ?? 0);
    cpuMs[part] = spentMs / transactions;
    sumMs += spentMs;
  }
  return {
    round,
    system: system.id,
    tps,
    transactions,
    latencyMs,
    percentilesMs,
    cpuMsPerTransaction: sumMs / transactions,
    cpuMsByPart: cpuMs,
    costs: costsOfEach(before.machine, after.machine, transactions),
  };
}
