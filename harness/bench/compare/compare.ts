/**
 * Barista against one PostgreSQL, PostgreSQL with synchronous standbys, and what others have written, in one run on one machine.
 *
 * Responsible for: what is started and measured in which order, and that nothing is left of it, whatever happens. All systems are up all the time.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { heeding, type Shell } from '../interruptible.ts';
import { describeMachine } from '../machine.ts';
import { spread } from '../summary.ts';
import { untilSettled } from './arrival.ts';
import { requireBuilt, versionOf } from './systems/barista.ts';
import { startSystems, type StartedSystems } from './systems/start-systems.ts';
import { pgbench, toolVersion } from './loads/client-tools.ts';
import type { Comparison } from './comparison.ts';
import { runCopies, type CopyRun } from './copy.ts';
import { runFailovers, type Failover } from './failover.ts';
import { judge } from './judge/goals.ts';
import { measureIdle, type IdleResult } from './idle.ts';
import { unlessPeerFails } from './peers.ts';
import { summarize } from './judge/summarize.ts';
import { runRounds, type WorkloadResult } from './rounds.ts';
import type { System, SystemId } from './systems/system.ts';
import type { Patience } from './undisturbed.ts';
import {
  loadAccounts,
  pgbenchArgs,
  workload,
  writeScripts,
  type LoadRun,
  type Workload,
} from './loads/workloads.ts';

export interface CompareOptions {
  readonly command: string;
  /** Of the replicas to measure. */
  readonly checkout: string;
  readonly workloads: readonly Workload[];
  readonly rounds: number;
  /** `fit`: as long as the budget allows. */
  readonly secondsPerRun: number | { readonly fitSeconds: number };
  readonly scale: number;
  /** UPDATE with 16 clients on each system, before anything is measured. */
  readonly warmUpSeconds: number;
  /** Load the tables anew for each workload. */
  readonly freshTables: boolean;
  /** `plain`, `native` and `barista` at the least; a peer that is not installed is left out. */
  readonly systems: readonly SystemId[];
  readonly replicas: number;
  /** Between each two replicas, one way. */
  readonly delayMs: number;
  readonly copyRounds: number;
  /** 0: not measured. */
  readonly idleSeconds: number;
  /** How often the leader is lost in each way. */
  readonly failovers: number;
  /** Repeats what others on the machine disturbed. */
  readonly patient: boolean;
}

interface Stage {
  readonly options: CompareOptions;
  readonly shell: Shell;
  readonly root: string;
  readonly scripts: string;
  readonly started: StartedSystems;
}

interface Measured {
  readonly secondsPerRun: number;
  readonly workloads: readonly WorkloadResult[];
  readonly copies: readonly CopyRun[];
  readonly idle: IdleResult | null;
  readonly failovers: readonly Failover[];
}

/** Runs end a little after their time, and each has a client program to start. */
const overheadSecondsPerRun = 0.35;
const secondsPerRunMax = 3;
/** The benchmark's own, and room for what is still ending. */
const clientsBeside = 40;
/** No standby of PostgreSQL may have less than the hundred with which databases are made. */
const clientsMaxOfDemo = 150;
/** For the end of everything, and for what takes longer than it should. */
const reserveSeconds = 12;

/** @throws Error in plain words; the signal's reason. Nothing is left running or on disk either way */
export async function compare(options: CompareOptions, shell: Shell): Promise<Comparison> {
  const { signal, progress, startedMs } = shell;
  const startedAt = new Date().toISOString();
  const machine = describeMachine();
  const [psql, bench] = [await toolVersion('psql', signal), await toolVersion('pgbench', signal)];
  const bin = requireBuilt(options.checkout);
  const barista = await versionOf(options.checkout);
  const root = await mkdtemp(join(tmpdir(), 'barista-compare-'));
  const undo: (() => Promise<unknown>)[] = [() => rm(root, { recursive: true, force: true, maxRetries: 5 })];
  try {
    const { systems: ids, replicas, delayMs } = options;
    const clientsMax = Math.max(
      clientsMaxOfDemo,
      // A replica leaves a tenth of its places to other roles.
      ...options.workloads.map(({ clients }) => Math.ceil(((clients + clientsBeside) * 10) / 9)),
    );
    const wanted = { ids, bin, root, replicas, clientsMax, delayMs, progress, signal };
    const started = await startSystems(wanted);
    undo.push(() => started.stop());
    const scripts = await writeScripts(root);
    const stage: Stage = { options, shell, root, scripts, started };
    const { secondsPerRun, ...measured } = await heeding(signal, measure(stage));
    const runs = [...measured.workloads.flatMap((each) => each.runs), ...measured.copies];
    return {
      version: 2,
      command: options.command,
      startedAt,
      tookSeconds: (performance.now() - startedMs) / 1000,
      machine,
      versions: { barista, postgres: started.postgres, psql, pgbench: bench, peers: started.peers },
      method: {
        protocol: 'simple',
        scale: options.scale,
        rounds: options.rounds,
        secondsPerRun,
        warmUpSeconds: options.warmUpSeconds,
        replicas,
        delayMs,
        settings: started.barista.settings,
        standbys: `${started.quorum}, synchronous_commit = on`,
      },
      coresOfOthers: runs.length === 0 ? null : spread(runs.map((run) => run.coresOfOthers)),
      ...measured,
      summaries: measured.workloads.map(summarize),
      judged: judge(measured),
    };
  } finally {
    for (const step of undo.toReversed()) {
      await step().catch((error: unknown) => progress(`while ending: ${(error as Error).message}`));
    }
  }
}

async function measure(stage: Stage): Promise<Measured> {
  const { options, shell, root } = stage;
  const { barista } = stage.started;
  const { signal, progress } = shell;
  const leftOut = new Set<SystemId>();
  const present = (): readonly System[] => stage.started.systems.filter(({ id }) => !leftOut.has(id));
  type Work = (system: System) => Promise<void>;
  const each = async (which: (system: System) => boolean, work: Work): Promise<void> => {
    for (const system of present()) {
      if (system.engine !== 'postgres' || !which(system)) continue;
      await unlessPeerFails(
        system,
        shell,
        () => work(system),
        () => leftOut.add(system.id),
      );
    }
  };
  await each(hasTables, async (system) => {
    progress(`loading scale ${options.scale} into: ${system.label}`);
    await loadAccounts(system, options.scale, signal);
    await untilSettled(system, signal);
  });
  let idle: IdleResult | null = null;
  if (options.idleSeconds > 0) {
    progress(`an idle cluster for ${options.idleSeconds} s`);
    idle = await measureIdle(barista, options.idleSeconds, signal);
  }
  await each(hasTables, (system) => warmUp(stage, system, options.warmUpSeconds));
  // Other ways to the same tables have code of their own.
  const seconds = Math.ceil(options.warmUpSeconds / 4);
  await each(
    (system) => !hasTables(system),
    (system) => warmUp(stage, system, seconds),
  );
  const systems = present();
  const owners = systems.filter((system) => hasTables(system) && system.engine === 'postgres');
  const patience: Patience = { repeats: options.patient, signal, progress };
  const secondsPerRun = lengthOfRuns(stage, systems);
  progress(`${options.rounds} rounds, ${secondsPerRun} s each run`);
  const run = (workload: Workload): LoadRun => ({
    workload,
    scale: options.scale,
    seconds: secondsPerRun,
    scripts: stage.scripts,
  });
  const workloads: WorkloadResult[] = [];
  for (const workload of options.workloads) {
    workloads.push(
      await runRounds({
        systems,
        rounds: options.rounds,
        load: run(workload),
        root,
        isFresh: options.freshTables,
        patience,
      }),
    );
  }
  const copies =
    options.copyRounds === 0
      ? []
      : await runCopies({ systems: owners, rounds: options.copyRounds, root, patience });
  const background: LoadRun = { ...run(workload('update', 4)), seconds: 60 };
  const failovers =
    options.failovers === 0
      ? []
      : await runFailovers({
          systems: barista,
          count: options.failovers,
          load: background,
          patience,
        });
  return { secondsPerRun, workloads, copies, idle, failovers };
}

/** Other systems are other ways to the tables of one that has some. */
function hasTables({ id, tablesOf }: System): boolean {
  return id === tablesOf;
}

/** A server that has just been started, with nothing compiled and no page at hand, is not what anybody runs. */
async function warmUp({ options, shell, scripts }: Stage, system: System, seconds: number): Promise<void> {
  const { signal, progress } = shell;
  progress(`warming up for ${seconds} s: ${system.label}`);
  const what = workload(system.runs('update') ? 'update' : 'select', 16);
  const args = pgbenchArgs({ workload: what, scale: options.scale, seconds, scripts });
  for (const door of await system.doors()) await pgbench(door, args, signal);
  await untilSettled(system, signal);
}

/** What is left of the budget, in equal parts; whole seconds, for pgbench knows no others. */
function lengthOfRuns({ options, shell }: Stage, systems: readonly System[]): number {
  const { secondsPerRun, workloads, rounds } = options;
  if (typeof secondsPerRun === 'number') return secondsPerRun;
  const leftSeconds =
    secondsPerRun.fitSeconds - reserveSeconds - (performance.now() - shell.startedMs) / 1000;
  const pairs = (some: readonly Workload[]): number =>
    some.reduce((sum, { name }) => sum + systems.filter((system) => system.runs(name)).length, 0);
  const runs = pairs(workloads) * rounds;
  // Each workload begins with a run of one second on every system to warm up.
  const preparations = pairs(workloads) * (1 + overheadSecondsPerRun);
  // Short runs of many clients are lengthened by the time that these take to connect.
  const connecting = pairs(workloads.filter(({ clients }) => clients > 16)) * rounds;
  const each = (leftSeconds - preparations - connecting) / runs - overheadSecondsPerRun;
  return Math.min(secondsPerRunMax, Math.max(1, Math.floor(each)));
}
