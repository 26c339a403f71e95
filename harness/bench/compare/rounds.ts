/**
 * Workloads in interleaved rounds: every system once in each round, each round in another order.
 *
 * Responsible for: the order, and the figures of each run with the CPU time that the system spent on it. A run in which anything failed ends the benchmark.
 */
import { untilSettled } from './arrival.ts';
import { lookAtProcesses, treeCpuMs } from './processes.ts';
import type { System, SystemId } from './systems/system.ts';
import { undisturbed, type Patience, type Watched } from './undisturbed.ts';
import { loadWarehouses, requireConsistent, writeWarehouses } from './loads/tpcc-load.ts';
import { loadAccounts, runLoad, tidy, type LoadRun, type Workload } from './loads/workloads.ts';
import { isYcsb, loadYcsb } from './loads/ycsb.ts';

export interface Run extends Watched {
  readonly round: number;
  readonly system: SystemId;
  readonly tps: number;
  readonly transactions: number;
  readonly latencyMs: number;
  /** Of all processes of the system, in milliseconds for one transaction. */
  readonly cpuMsPerTransaction: number;
}

export interface WorkloadResult {
  readonly workload: Workload;
  readonly runs: readonly Run[];
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

/** What a run lasts, so that connecting its clients, which took `connectingMs`, leaves it most of its time. */
export function lengthOfRun(seconds: number, connectingMs: number): number {
  return connectingMs > seconds * connectingShareMax * 1000
    ? seconds + Math.ceil(connectingMs / 1000)
    : seconds;
}

export async function runRounds(options: RoundsOptions): Promise<WorkloadResult> {
  const { systems, rounds, isFresh, patience } = options;
  const { signal, progress } = patience;
  let { load } = options;
  let connectingMs = 0;
  const { name, clients } = load.workload;
  const warehouses = name === 'tpcc' ? await writeWarehouses(options.root, clients) : [];
  for (const system of systems) {
    signal.throwIfAborted();
    if (name === 'tpcc') await loadWarehouses(system, warehouses, signal);
    else if (isYcsb(name)) await loadYcsb(system, load.scale);
    else if (isFresh) await loadAccounts(system, load.scale, signal);
    else await tidy(system, name);
    const first = await runLoad(await system.client(), { ...load, seconds: 1 }, signal);
    connectingMs = Math.max(connectingMs, first.connectingMs);
    await untilSettled(system, signal);
  }
  load = { ...load, seconds: lengthOfRun(load.seconds, connectingMs) };
  const runs: Run[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const system of rotated(systems, round)) {
      const what = `${load.workload.label}, round ${round} of ${rounds}, ${system.label}`;
      const run = await undisturbed(patience, what, async () => {
        const done = await runOnce(system, load, round, signal);
        // What a standby still has to do would be taken from the next one's run.
        await untilSettled(system, signal);
        return done;
      });
      runs.push(run);
      progress(`${what}: ${run.tps.toFixed(0)}/s, ${run.cpuMsPerTransaction.toFixed(3)} ms CPU each`);
    }
  }
  if (load.workload.name === 'tpcc') for (const system of systems) await requireConsistent(system);
  return { workload: load.workload, runs };
}

async function runOnce(
  system: System,
  load: LoadRun,
  round: number,
  signal: AbortSignal,
): Promise<Omit<Run, keyof Watched>> {
  const target = await system.client();
  const roots = await system.processes();
  const before = lookAtProcesses();
  const { tps, transactions, latencyMs } = await runLoad(target, load, signal).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw new Error(`${load.workload.label} on ${system.label}: ${(cause as Error).message}`, { cause });
  });
  const after = lookAtProcesses();
  const cpuMs = treeCpuMs(after, roots) - treeCpuMs(before, roots);
  return {
    round,
    system: system.id,
    tps,
    transactions,
    latencyMs,
    cpuMsPerTransaction: cpuMs / transactions,
  };
}
