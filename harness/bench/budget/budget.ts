/**
 * Where a transaction's processor time goes, stage by stage, and what each stage would cost at the least.
 *
 * Responsible for: three replicas under one load, two runs of it: one in which only the kernel counts, and one behind it with V8's profiler in each replica, which is for shares alone. Nothing is left running or on disk.
 */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { ownCheckout } from '../build-server.ts';
import { untilSettled } from '../compare/arrival.ts';
import { prepare } from '../compare/prepare.ts';
import { writeWarehouses } from '../compare/loads/tpcc-load.ts';
import { requireBuilt, startBarista, versionOf, type BaristaSystems } from '../compare/systems/barista.ts';
import { coresOfOthers, lookAtProcesses } from '../compare/processes.ts';
import {
  runLoad,
  updateFile,
  workload,
  writeScripts,
  type LoadRun,
  type WorkloadName,
} from '../compare/loads/workloads.ts';
import type { Shell } from '../interruptible.ts';
import { describeMachine, type Machine } from '../machine.ts';
import { summarize, type CpuProfile, type ProfileSummary } from './cpu-profile.ts';
import { measureLimits, type Limits } from './limits.ts';
import { between, lookAtReplica, type ReplicaLook } from './replica-cpu.ts';

export interface BudgetOptions {
  readonly clients: number;
  readonly seconds: number;
  readonly scale: number;
  readonly workload: WorkloadName;
}

export interface ReplicaBudget {
  readonly id: string;
  readonly isLeader: boolean;
  /** Of all transactions of the run that was not profiled. */
  readonly spent: ReplicaLook;
  readonly profile: ProfileSummary;
}

export interface Budget {
  readonly machine: Machine;
  readonly commit: string | null;
  readonly options: BudgetOptions;
  readonly transactions: number;
  readonly tps: number;
  /** Of the run that was profiled: what the profiler costs is the difference. */
  readonly profiledTps: number;
  /** Slots that were chosen in the run. */
  readonly entries: number;
  readonly coresOfOthers: number;
  readonly replicas: readonly ReplicaBudget[];
  readonly limits: Limits;
}

const profiler = new URL('profiler.mjs', import.meta.url);
/** Of a range of WAL with one UPDATE in it, and of the messages that carry it. */
const messageBytes = 512;
const profileMsMax = 60_000;
const lookMs = 50;
const warmUpSeconds = 8;

export async function measureBudget(options: BudgetOptions, { signal, progress }: Shell): Promise<Budget> {
  const machine = describeMachine();
  const { commit } = await versionOf(ownCheckout);
  const root = await mkdtemp(join(tmpdir(), 'barista-budget-'));
  try {
    const scripts = await writeScripts(root);
    const profiles = join(root, 'profiles');
    await mkdir(profiles);
    progress('starting three replicas');
    const systems = await startBarista(requireBuilt(ownCheckout), join(root, 'cluster'), {
      env: {
        NODE_OPTIONS: `--import=${pathToFileURL(profiler.pathname).href}`,
        BARISTA_PROFILES: profiles,
      },
    });
    let measured: Omit<Budget, 'machine' | 'commit' | 'options' | 'limits'>;
    try {
      measured = await underLoad(systems, { options, scripts, profiles, signal, progress });
    } finally {
      await systems.stop();
    }
    progress('what the stages cost at the least');
    signal.throwIfAborted();
    const limits = await measureLimits({
      directory: root,
      bytes: messageBytes,
      clients: options.clients,
      seconds: Math.min(3, options.seconds),
      updateFile: options.workload === 'update' ? updateFile(scripts) : null,
    });
    return { machine, commit, options, ...measured, limits };
  } finally {
    await rm(root, { recursive: true, force: true, maxRetries: 5 });
  }
}

interface Setting {
  readonly options: BudgetOptions;
  readonly scripts: string;
  readonly profiles: string;
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

async function underLoad(
  systems: BaristaSystems,
  { options, scripts, profiles, signal, progress }: Setting,
): Promise<Omit<Budget, 'machine' | 'commit' | 'options' | 'limits'>> {
  const { barista, cluster } = systems;
  const { clients, scale, seconds } = options;
  const run: LoadRun = { workload: workload(options.workload, clients), scale, seconds, scripts };
  progress(`loading scale ${scale}`);
  const warehouses = options.workload === 'tpcc' ? await writeWarehouses(scripts, clients) : [];
  await prepare(barista, { load: run, isFresh: true, signal }, warehouses);
  progress(`warming up for ${warmUpSeconds} s`);
  await runLoad(await barista.doors(), { ...run, seconds: warmUpSeconds }, signal);
  await untilSettled(barista, signal);

  progress(`${run.workload.label}, for ${seconds} s`);
  const leader = await cluster.leader();
  const pids = await pidsOf(systems);
  const machineBefore = lookAtProcesses();
  const before = [...pids.values()].map(lookAtReplica);
  const figures = await runLoad(await barista.doors(), run, signal);
  const after = [...pids.values()].map(lookAtReplica);
  const others = coresOfOthers(machineBefore, lookAtProcesses());
  const entries = (await cluster.leader()).commitPoint - leader.commitPoint;
  await untilSettled(barista, signal);

  progress('again, profiled');
  for (const pid of pids.values()) process.kill(pid, 'SIGUSR2');
  const profiled = await runLoad(await barista.doors(), run, signal);
  for (const pid of pids.values()) process.kill(pid, 'SIGUSR2');
  const replicas: ReplicaBudget[] = [];
  for (const [index, [id, pid]] of [...pids].entries()) {
    const profile = summarize(await readProfile(join(profiles, `${pid}.cpuprofile`), signal));
    const spent = between(before[index]!, after[index]!);
    replicas.push({ id, isLeader: id === leader.id, spent, profile });
  }
  return {
    transactions: figures.transactions,
    tps: figures.tps,
    profiledTps: profiled.tps,
    entries,
    coresOfOthers: others,
    replicas,
  };
}

async function pidsOf({ cluster }: BaristaSystems): Promise<ReadonlyMap<string, number>> {
  const statuses = await cluster.settled();
  return new Map(statuses.map(({ id, pid }) => [id, pid]));
}

/** It is there as a whole, or not at all. */
async function readProfile(file: string, signal: AbortSignal): Promise<CpuProfile> {
  const deadline = performance.now() + profileMsMax;
  while (!existsSync(file)) {
    if (performance.now() > deadline) throw new Error(`no profile was written to ${file}`);
    await sleep(lookMs, undefined, { signal });
  }
  return JSON.parse(readFileSync(file, 'utf8')) as CpuProfile;
}
