/**
 * `barista demo`: a local cluster from nothing to the psql line, and back to no process at all.
 *
 * Responsible for: the order of starting and stopping, and what people are told meanwhile.
 * Invariants: nothing is started before the data directory is ours and every port is free; whatever fails or ends, `stop` runs once and
 * leaves no process; progress goes to `say`, one line at a time.
 */
import { readFile } from '../adapters/file-system.ts';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { identify } from '../adapters/postgres/process-identity.ts';
import { loadReplicaConfig } from '../config/replica-config.ts';
import type { Founding } from '../main/found-replica.ts';
import { CliError, exitCodes } from '../main/errors.ts';
import { createActivityReader } from './activity.ts';
import { checkerCommand, type CheckerOptions, startChecker } from './checker-process.ts';
import { type DashboardState, packageRoot, prepareDashboard } from './dashboard-build.ts';
import {
  type ConfigFragment,
  type DemoDir,
  forgetRunning,
  noteFounded,
  noteReplicas,
  openDemoDir,
  writeReplicaConfig,
  writeReplicaConfigs,
  writeRunning,
} from './data-dir.ts';
import { type BackUp, createDemoBackups, freeBytesOn } from './demo-backups.ts';
import type { StoreWish } from './demo-store.ts';
import { DemoLoad } from './load/load.ts';
import { usualLoad } from './load/load-settings.ts';
import { type DemoServer, reportOf, startDemoServer } from './demo-server.ts';
import { lookAtMembers } from './group-members.ts';
import { type DemoOptions, demoHost, demoUser, planReplicas, portsOf, type ReplicaPlan } from './layout.ts';
import { noteJoin, readJoin } from './join-file.ts';
import { endProcess, replicaSignals } from './left-behind.ts';
import { areFree, awaitFreePorts, requireFreePorts } from './ports.ts';
import { lastWords, untilServing } from './readiness.ts';
import { createReplicaMachine } from './replica-machine.ts';
import { createReplicaChanges } from './replica-changes.ts';
import type { ReplicaCommand } from './replica-process.ts';
import { askDemo } from './replica-steps.ts';
import { runSql } from './sql-console.ts';
import { createReplicaMonitor } from './replica-monitor.ts';
import { createRunningNotes } from './running-notes.ts';
import { Supervisor } from './supervisor.ts';

export interface DemoSetup {
  readonly options: Omit<DemoOptions, 'replicas' | 'logStore' | 'port' | 'payload' | 'protocol'> & {
    readonly replicas: number | null;
    readonly port: number | null;
    readonly logStore: StoreWish | null;
    readonly payload: DemoOptions['payload'] | null;
    readonly protocol: DemoOptions['protocol'] | null;
  };
  readonly command: ReplicaCommand;
  /** Founds the group of a new data directory. */
  readonly found: Founding['found'];
  readonly configFragment?: ConfigFragment;
  readonly backUp: BackUp;
  readonly say: (line: string) => void;
  readonly logger: Logger;
  /** False: serve no dashboard files, only the API. */
  readonly dashboard: boolean;
  /** True: while somebody watches, clients write and read. */
  readonly load: boolean;
}

export interface RunningDemo {
  readonly supervisor: Supervisor;
  readonly options: DemoOptions;
  stop(): Promise<void>;
}

/** Resolves when the cluster serves. @throws CliError, with nothing left running */
export async function startDemo(setup: DemoSetup, signal?: AbortSignal): Promise<RunningDemo> {
  const { dataDir, replicas, logStore, port, payload, protocol } = setup.options;
  const dir = await openDemoDir(dataDir, replicas, logStore, port, { payload, protocol });
  const { cluster } = dir;
  if (cluster.protocol !== 'primary' && setup.options.replication != null) {
    await dir.release();
    throw new CliError('--replication goes with --protocol primary.', exitCodes.usage);
  }
  const options: DemoOptions = {
    ...setup.options,
    replicas: cluster.replicas,
    absent: cluster.absent,
    port: cluster.port,
    logStore: cluster.logStore,
    thriftPort: setup.options.thriftPort ?? (await usualThriftPort(cluster, setup.say)),
    payload: cluster.payload,
    protocol: cluster.protocol,
  };
  const undo: (() => Promise<unknown>)[] = [() => dir.release()];
  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopped ??= runAll(undo.toReversed());
    return stopped;
  };
  try {
    const supervisor = await launch(setup, options, dir, undo, signal);
    return { supervisor, options, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const sqlPortUsual = 7432;
const thriftPortUsual = 9000;

/** A demo at the usual ports serves Thrift clients, too, where nobody else has those. */
async function usualThriftPort(
  { port, replicas }: Pick<DemoDir['cluster'], 'port' | 'replicas'>,
  say: (line: string) => void,
): Promise<number | null> {
  if (port !== sqlPortUsual) return null;
  const ports = Array.from({ length: replicas }, (_, index) => thriftPortUsual + index);
  if (await areFree(ports)) return thriftPortUsual;
  say(`Ports ${ports.join(', ')} are not all free: there is no Thrift API, unless --thrift-port says where.`);
  return null;
}

/** Every step is tried, whatever the ones before it did. */
async function runAll(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      process.stderr.write(`While stopping: ${(error as Error).message}\n`);
    }
  }
}

async function launch(
  setup: DemoSetup,
  options: DemoOptions,
  dir: DemoDir,
  undo: (() => Promise<unknown>)[],
  signal: AbortSignal | undefined,
): Promise<Supervisor> {
  const { say, logger } = setup;
  const ports = portsOf(options);
  const plans = planReplicas(options);
  if (dir.before === null) await requireFreePorts(ports, dir.isSettled);
  else {
    await endLeftReplicas(dir, say);
    await awaitFreePorts(ports, 5000, dir.isSettled);
  }
  await dir.keep();
  await writeReplicaConfigs(plans, options, dir.cluster, setup.configFragment);
  if (!dir.cluster.founded) await foundGroup(setup, options, plans, dir);

  const notes = createRunningNotes((pids) => note(options, pids), say);
  const supervisor = new Supervisor({
    plans,
    machineOf: (plan, onExit) => createReplicaMachine(plan, setup.command, onExit),
    monitorOf: createReplicaMonitor,
    autoRestart: options.autoRestart,
    say,
    onChildren: (pids) => notes.note(pids),
  });
  undo.push(async () => {
    await supervisor.stop();
    await notes.settled();
    await forgetRunning(options.dataDir);
  });
  const checker = options.check
    ? startChecker({ ...checking(options, plans), cluster: () => supervisor.cluster() })
    : null;
  if (checker !== null) undo.push(() => checker.stop());
  const load = setup.load
    ? new DemoLoad({
        // As they are each time: replicas come and go.
        get plans() {
          return supervisor.plans();
        },
        payload: options.payload,
        settings: usualLoad,
      })
    : null;
  if (load !== null) undo.push(() => load.stop());
  let dashboard: DashboardState | null = null;
  const { dashboardPort } = options;
  const before = await readJoin(options.dataDir, say);
  let isUp = false;
  if (before !== null && before.replaced !== null && !options.check)
    say(`${before.added} is to replace ${before.replaced}, as it was begun before: that goes on.`);
  const changes = createReplicaChanges({
    before,
    noteJoin: (join) => noteJoin(options.dataDir, join),
    supervisor,
    options,
    cluster: { ...dir.cluster, founded: true },
    askMembers: askDemo(dashboardPort),
    // A replica that was taken out while all are waited for would be one that has ended.
    look: () => (isUp ? lookAtMembers(supervisor) : Promise.resolve(null)),
    areFree,
    configure: (plan, all) =>
      writeReplicaConfig(plan, all, { options, cluster: dir.cluster, fragment: setup.configFragment }),
    note: (cluster) => noteReplicas(options.dataDir, cluster),
  });
  undo.push(() => changes.close());
  const { clusterSecret } = dir.cluster;
  const backups = createDemoBackups({
    backUp: setup.backUp,
    dataDir: options.dataDir,
    clusterSecret,
    port: dashboardPort,
    now: () => new Date(),
    freeBytes: freeBytesOn,
  });
  const server = await startDemoServer({
    port: options.dashboardPort,
    supervisor,
    check: checker === null ? null : () => checker.status(),
    load,
    activity: createActivityReader(),
    changes,
    backups,
    clusterSecret,
    runSql: ({ pgwirePort }, sql) => runSql(pgwirePort, sql),
    dashboard: () => dashboard,
    logger,
  });
  undo.push(() => closeQuietly(server));
  say(`Starting ${plans.length} replicas in ${options.dataDir}...`);
  await checker?.watching;
  supervisor.start();
  const build = setup.dashboard
    ? prepareDashboard(say).then((state) => {
        dashboard = state;
        return state;
      })
    : null;
  const planOf = (id: string): ReplicaPlan | undefined => supervisor.plan(id) ?? undefined;
  await untilServing(
    {
      cluster: () => supervisor.cluster(),
      whyStopped: (id) => whyStopped(planOf(id)),
      logFileOf: (id) => planOf(id)?.logFile ?? options.dataDir,
      nowMs: () => performance.now(),
      say,
    },
    signal,
  );
  isUp = true;
  await build;
  return supervisor;
}

/** @throws CliError if the checker is not here */
function checking(
  options: DemoOptions,
  plans: readonly ReplicaPlan[],
): Pick<CheckerOptions, 'command' | 'logFile'> {
  const dirs = plans.map(({ dir }) => join(dir, 'trace'));
  return {
    command: checkerCommand(packageRoot, dirs, options.trace),
    logFile: join(options.dataDir, 'check.log'),
  };
}

/**
 * On the first replica; the others join by themselves. Noted only afterwards: if it is found done already, it was interrupted in between. Once noted it is never done
 * again, so a first replica that has lost its disk asks to be let in like any other.
 */
/** As long as one that is drawn. */
const clusterNameChars = 24;

async function foundGroup(
  { found }: DemoSetup,
  { dataDir }: DemoOptions,
  plans: readonly ReplicaPlan[],
  { cluster }: DemoDir,
): Promise<void> {
  // Where members are fixed all are founded, of a cluster whose name is the same if a crash comes in between.
  const isFixed = cluster.protocol !== 'multi-paxos';
  const name = isFixed ? createHmac('sha256', cluster.clusterSecret).update('cluster').digest('hex') : null;
  for (const { configFile } of isFixed ? plans : plans.slice(0, 1)) {
    try {
      await found(loadReplicaConfig(configFile), name === null ? null : name.slice(0, clusterNameChars));
    } catch (error) {
      if (!(error instanceof CliError) || error.exitCode !== exitCodes.refused) throw error;
    }
  }
  await noteFounded(dataDir, cluster);
}

async function closeQuietly(server: DemoServer): Promise<void> {
  await server.close();
}

/** Writes down who the children are, so that the next supervisor can end them should this one be killed. */
async function note(options: DemoOptions, pids: readonly number[]): Promise<void> {
  const identities = await Promise.all(pids.map(identify));
  await writeRunning(options.dataDir, {
    pid: process.pid,
    dashboardPort: options.dashboardPort,
    replicas: identities.filter((identity) => identity !== null),
  });
}

/** The replicas of a supervisor that was killed stop by themselves, unless they are frozen. */
async function endLeftReplicas(dir: DemoDir, say: (line: string) => void): Promise<void> {
  const left = dir.before?.replicas ?? [];
  const ended = await Promise.all(left.map((identity) => endProcess(identity, replicaSignals, 6000)));
  const stuck = left.filter((_, index) => ended[index] === false);
  if (stuck.length > 0)
    say(`Processes of an earlier demo do not go away: ${stuck.map(({ pid }) => pid).join(', ')}`);
}

async function whyStopped(plan: ReplicaPlan | undefined): Promise<string> {
  if (plan === undefined) return 'A replica has ended.';
  const text = await readFile(plan.logFile, 'utf8').catch(() => '');
  return `${plan.id} has ended while it started. Of ${plan.logFile}:\n${lastWords(text)}`;
}

/** What a person needs to go on: the replicas, the psql line, the dashboard's address. */
export function welcomeText({ supervisor, options }: RunningDemo): string {
  const { user, password, database } = demoUser;
  // The first that is there: r1 may have been removed.
  const [first] = supervisor.plans();
  const { pgwirePort = options.port, thriftPort = null } = first ?? {};
  const replicas = reportOf({ supervisor }).replicas.map(
    ({ id, role, pgwire }) => `  ${id}  ${(role ?? 'down').padEnd(9)} ${pgwire.host}:${pgwire.port}`,
  );
  return [
    '',
    `${replicas.length} replicas ready:`,
    ...replicas,
    '',
    `psql       psql postgresql://${user}:${password}@${demoHost}:${pgwirePort}/${database}`,
    ...(thriftPort === null ? [] : [`thrift     ${demoHost}:${thriftPort}`]),
    `dashboard  http://${demoHost}:${options.dashboardPort}`,
    '',
    'Ctrl-C stops all of it. The data stays.',
  ].join('\n');
}
