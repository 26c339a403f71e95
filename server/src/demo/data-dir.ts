/**
 * The demo's data directory: whose it is, which cluster it holds, who runs in it.
 *
 *   demo.json      what the cluster is, for ever: number of replicas, their ports for SQL clients, where their logs are, what travels, the secret, whether it was founded
 *   joining.json   which replica is waited for until it votes, and whom it replaces (join-file.ts)
 *   running.json   which processes and ports the last supervisor had
 *   lock.*         the supervisor that has the directory now
 *   r1.yaml, r1.log, r1/ ...   each replica's configuration, output and data
 *
 * Invariant: nothing is kept of a start that was refused; nothing is written into a directory that holds other things and no demo.json; at most one supervisor at a time; the number of replicas of an existing cluster, their ports (by which they know each other), the kind of their logs and what travels never change.
 */
import { randomBytes } from 'node:crypto';
import { rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { exists, writeDurably } from '../adapters/file-system.ts';
import { LaunchError } from '../adapters/postgres/launch-error.ts';
import { openPassage } from '../adapters/postgres/launch-user.ts';
import { lockDirectory } from '../adapters/segment-log/directory-lock.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { LogStoreError } from '../ports/log-store.ts';
import type { ReplicaConfigInput } from '../config/config-schema.ts';
import { CliError, exitCodes } from '../main/errors.ts';
import { demoStoreSchema, requireStore, segmentStore, settleStore, type StoreWish } from './demo-store.ts';
import { type DemoOptions, type ReplicaPlan, replicaConfigOf } from './layout.ts';
import { requireOwnDir } from './own-dir.ts';
import { readJson, writeJson } from './json-file.ts';

/** That of directories that this build can read: since 2 the log knows which cluster it belongs to. */
const dirVersion = 2;

const clusterSchema = z.strictObject({
  version: z.literal(dirVersion),
  /** The group was founded, on its first replica. One that has no log from then on has lost it. */
  founded: z.boolean(),
  /** The highest number that a replica has or had. */
  replicas: z.int().min(1).max(9),
  /** Those of them that were removed. */
  absent: z.array(z.string()).default([]),
  /** Of the first replica, for SQL clients; null: of a directory that was made before it was kept here. */
  port: z.int().nullable().default(null),
  logStore: demoStoreSchema.default(segmentStore),
  /** What travels, as in a replica's configuration. */
  payload: z.enum(['wal', 'statements']).default('wal'),
  /** What orders it, likewise. */
  protocol: z.enum(['multi-paxos', 'paxos', 'primary']).default('multi-paxos'),
  clusterSecret: z.string().min(16),
});
const earlierSchema = z.object({ version: z.literal(1) });
/** The port is known once the directory is open. */
export type DemoCluster = z.output<typeof clusterSchema> & { readonly port: number };

const runningSchema = z.strictObject({
  pid: z.int().positive(),
  dashboardPort: z.int(),
  replicas: z.array(z.strictObject({ pid: z.int().positive(), began: z.string() })),
});
export type RunningDemo = z.output<typeof runningSchema>;

/** Null: as it was, or as a replica has it by itself. */
export interface KindWish {
  readonly payload: DemoCluster['payload'] | null;
  readonly protocol: DemoCluster['protocol'] | null;
}

const defaultPort = 7432;

/** The output of a replica's earlier runs that is kept, at most twice this. */
const logBytesMax = 8 * 1024 * 1024;

/** What a replica's configuration has besides, or instead of, what every demo gives it. */
export type ConfigFragment = (id: ReplicaId) => Partial<ReplicaConfigInput>;

export interface DemoDir {
  readonly cluster: DemoCluster;
  /** What the supervisor before this one left behind. */
  readonly before: RunningDemo | null;
  /** Its replicas know each other by its ports: they stay. */
  readonly isSettled: boolean;
  /** Writes down what the cluster is, for ever. Until then a start with other options is as good as the first. */
  keep(): Promise<void>;
  release(): Promise<void>;
}

/** Takes the directory, and writes nothing into it but the lock before `keep`. `replicas` null: as many as there are, or 3; `store` null: where the logs are, or in files; `port` null: as it was, or 7432. @throws CliError */
export async function openDemoDir(
  dir: string,
  replicas: number | null,
  store: StoreWish | null = null,
  port: number | null = null,
  kinds: KindWish = { payload: null, protocol: null },
): Promise<DemoDir> {
  let unlock: () => Promise<void>;
  try {
    await requireOwnDir(dir);
    await openPassage(dir);
    unlock = await lockDirectory(dir);
  } catch (error) {
    if (error instanceof CliError || error instanceof LaunchError) throw error;
    if (error instanceof LogStoreError && error.code === 'logLocked') {
      throw new CliError(
        `Another demo is running here: ${error.message}. Stop it, or use another directory (--data-dir).`,
        exitCodes.failed,
        { cause: error },
      );
    }
    throw unusable(dir, error as Error);
  }
  try {
    const settled = await readSettled(dir);
    const cluster = openCluster(dir, settled, { replicas, store, port, ...kinds });
    await requireStore(cluster.logStore, cluster.founded);
    const before = await readRunning(dir);
    const keep = (): Promise<void> => writeJson(join(dir, 'demo.json'), cluster);
    return { cluster, before, isSettled: settled !== null, keep, release: unlock };
  } catch (error) {
    await unlock();
    throw error instanceof CliError ? error : unusable(dir, error as Error);
  }
}

function unusable(dir: string, error: Error): CliError {
  return new CliError(
    `Cannot use ${dir}: ${error.message}. Use another directory (--data-dir).`,
    exitCodes.failed,
    { cause: error },
  );
}

type KeptCluster = z.output<typeof clusterSchema>;

/** The cluster in `dir`; null: there is none, or nothing of any replica of it, as a start leaves it that was ended early. */
async function readSettled(dir: string): Promise<KeptCluster | null> {
  const file = join(dir, 'demo.json');
  const found = await readJson(file);
  if (found === null) return null;
  if (earlierSchema.safeParse(found).success) {
    throw new CliError(
      `${dir} holds a cluster of an earlier version of Barista, which this one cannot read. Use another directory (--data-dir), or delete this one.`,
    );
  }
  const cluster = clusterSchema.safeParse(found);
  if (!cluster.success)
    throw new CliError(`${file} is not what a demo wrote. Use another directory (--data-dir).`);
  const { founded, logStore } = cluster.data;
  // Logs in ZooKeeper are founded before there is a directory.
  if (founded || logStore.kind !== 'segment') return cluster.data;
  for (let number = 1; number <= cluster.data.replicas; number += 1)
    if (await exists(join(dir, `r${number}`))) return cluster.data;
  return null;
}

interface ClusterWish extends KindWish {
  readonly replicas: number | null;
  readonly store: StoreWish | null;
  readonly port: number | null;
}

function openCluster(
  dir: string,
  settled: KeptCluster | null,
  { replicas, store, port, payload, protocol }: ClusterWish,
): DemoCluster {
  if (settled !== null) {
    const count = settled.replicas - settled.absent.length;
    if (replicas !== null && replicas !== count) {
      throw new CliError(
        `${dir} holds a cluster of ${count} replicas, and --replicas is ${replicas}. ` +
          'A demo keeps its number: leave --replicas out, use another --data-dir, or delete this one.',
        exitCodes.usage,
      );
    }
    const { port: before } = settled;
    if (port !== null && before !== null && port !== before) {
      throw new CliError(
        `${dir} holds a cluster whose replicas know each other by the ports from ${before} on, and --port is ${port}. ` +
          'Leave --port out, use another --data-dir, or delete this one.',
        exitCodes.usage,
      );
    }
    if (payload !== null && payload !== settled.payload) {
      throw new CliError(
        `${dir} holds a cluster in which ${settled.payload === 'wal' ? 'WAL travels' : 'statements travel'}, and --payload is ${payload}. ` +
          'Leave --payload out, use another --data-dir, or delete this one.',
        exitCodes.usage,
      );
    }
    if (protocol !== null && protocol !== settled.protocol) {
      throw new CliError(
        `${dir} holds a cluster whose protocol is ${settled.protocol}, and --protocol is ${protocol}. ` +
          'Leave --protocol out, use another --data-dir, or delete this one.',
        exitCodes.usage,
      );
    }
    return {
      ...settled,
      port: before ?? port ?? defaultPort,
      logStore: settleStore(dir, settled.logStore, store),
    };
  }
  if (protocol !== null && protocol !== 'multi-paxos' && payload !== 'statements')
    throw new CliError(`--protocol ${protocol} goes with --payload statements.`, exitCodes.usage);
  if (protocol === 'primary' && (replicas === 1 || (replicas ?? 3) > 5))
    throw new CliError('--protocol primary goes with --replicas 2 to 5.', exitCodes.usage);
  return {
    version: dirVersion,
    founded: false,
    replicas: replicas ?? 3,
    absent: [],
    port: port ?? defaultPort,
    logStore: settleStore(dir, null, store),
    payload: payload ?? 'wal',
    protocol: protocol ?? 'multi-paxos',
    clusterSecret: randomBytes(32).toString('hex'),
  };
}

/** The secret of the cluster in this directory, if there is one and this user may read it. */
export async function readDemoSecret(dir: string): Promise<string | null> {
  const cluster = clusterSchema.safeParse(await readJson(join(dir, 'demo.json')).catch(() => null));
  return cluster.success ? cluster.data.clusterSecret : null;
}

/** From now on the cluster exists. */
export async function noteFounded(dir: string, cluster: DemoCluster): Promise<void> {
  const founded: DemoCluster = { ...cluster, founded: true };
  await writeJson(join(dir, 'demo.json'), founded);
}

/** Which replicas there are, from now on. */
export async function noteReplicas(dir: string, cluster: DemoCluster): Promise<void> {
  await writeJson(join(dir, 'demo.json'), cluster);
}

export async function writeReplicaConfigs(
  plans: readonly ReplicaPlan[],
  options: DemoOptions,
  cluster: DemoCluster,
  fragment: ConfigFragment = () => ({}),
): Promise<void> {
  for (const plan of plans) await writeReplicaConfig(plan, plans, { options, cluster, fragment });
}

interface Configuring {
  readonly options: DemoOptions;
  readonly cluster: DemoCluster;
  readonly fragment?: ConfigFragment | undefined;
}

export async function writeReplicaConfig(
  plan: ReplicaPlan,
  plans: readonly ReplicaPlan[],
  { options, cluster, fragment = () => ({}) }: Configuring,
): Promise<void> {
  const config = { ...replicaConfigOf(plan, plans, options, cluster.clusterSecret), ...fragment(plan.id) };
  await writeDurably(plan.configFile, `# Written by "barista demo" at every start.\n${stringify(config)}`);
  await shortenLog(plan.logFile);
}

async function shortenLog(file: string): Promise<void> {
  const size = await stat(file).then(
    (info) => info.size,
    () => 0,
  );
  if (size > logBytesMax) await rename(file, `${file}.1`);
}

export async function writeRunning(dir: string, running: RunningDemo): Promise<void> {
  await writeJson(join(dir, 'running.json'), running);
}

export async function readRunning(dir: string): Promise<RunningDemo | null> {
  const running = runningSchema.safeParse(await readJson(join(dir, 'running.json')));
  return running.success ? running.data : null;
}

export async function forgetRunning(dir: string): Promise<void> {
  await rm(join(dir, 'running.json'), { force: true });
}
