/**
 * Where everything of a demo is: names and ports of the replicas, paths in the data directory.
 *
 * Pure: touches neither disk nor network. Invariant: no port is used twice.
 */
import type { Level } from '../primary/types/effects.ts';
import { join } from 'node:path';
import type { GroupId, ReplicaId } from '../multipaxos/types/names.ts';
import type { ReplicaConfigInput } from '../config/config-schema.ts';
import { CliError, exitCodes } from '../main/errors.ts';
import { type DemoStore, storeConfigOf } from './demo-store.ts';

export const demoHost = '127.0.0.1';
export const demoUser = { user: 'barista', password: 'barista', database: 'barista' } as const;
export const demoGroup = 'main' as GroupId;
const peerPortOffset = 100;

export const commitPointKinds = ['piggyback', 'synchronous', 'asynchronous'] as const;
export type CommitPointKind = (typeof commitPointKinds)[number];

export const groupCommitKinds = ['gather', 'adaptive'] as const;
export type GroupCommitKind = (typeof groupCommitKinds)[number];

export interface DemoOptions {
  readonly dataDir: string;
  /** The highest number that a replica has or had. */
  readonly replicas: number;
  /** Those of them that were removed. */
  readonly absent?: readonly string[];
  /** The first replica's port for SQL clients. */
  readonly port: number;
  readonly dashboardPort: number;
  /** The first replica's port for Thrift clients; the next ones follow. Null: they have none. */
  readonly thriftPort?: number | null;
  readonly pgBin: string | null;
  readonly autoRestart: boolean;
  /** Record every replica's events in its data directory. */
  readonly trace: boolean;
  /** Have a checker hold what they record to the specification while they run. */
  readonly check: boolean;
  /** Null: as a replica has it by itself. */
  readonly logBytesMax: number | null;
  /** Null: as a replica has it by itself. */
  readonly clientsMax: number | null;
  /** Null: as a replica has it by itself. */
  readonly electionTimeoutMs: number | null;
  /** How the commit point is told; null: as a replica does by itself. */
  readonly commitPoint?: CommitPointKind | null;
  readonly groupCommit?: GroupCommitKind | null;
  /** Only with `protocol: primary`; null: as a replica has it by itself. */
  readonly replication?: Level | null;
  readonly logStore: DemoStore;
  readonly payload: 'wal' | 'statements';
  readonly protocol: 'multi-paxos' | 'paxos' | 'primary';
}

export interface ReplicaPlan {
  readonly id: ReplicaId;
  readonly pgwirePort: number;
  readonly peerPort: number;
  readonly httpPort: number;
  readonly thriftPort: number | null;
  readonly dir: string;
  readonly configFile: string;
  readonly logFile: string;
}

export function planReplicas(options: DemoOptions): readonly ReplicaPlan[] {
  const { replicas, absent = [] } = options;
  const all = Array.from({ length: replicas }, (_, index) => planReplica(options, index + 1));
  return all.filter(({ id }) => !absent.includes(id));
}

/** Numbers are counted from 1. */
export function planReplica(options: DemoOptions, number: number): ReplicaPlan {
  const index = number - 1;
  const id = `r${number}` as ReplicaId;
  return {
    id,
    pgwirePort: options.port + index,
    peerPort: options.port + peerPortOffset + index,
    httpPort: options.dashboardPort + 1 + index,
    thriftPort: options.thriftPort == null ? null : options.thriftPort + index,
    dir: join(options.dataDir, id),
    configFile: join(options.dataDir, `${id}.yaml`),
    logFile: join(options.dataDir, `${id}.log`),
  };
}

export interface PortUse {
  readonly port: number;
  readonly purpose: string;
  /** What to give to move it. */
  readonly option: '--port' | '--dashboard-port' | '--thrift-port';
}

/** Every port of the demo. @throws CliError if two are the same, or out of range */
export function portsOf(options: DemoOptions): readonly PortUse[] {
  const uses: PortUse[] = [
    { port: options.dashboardPort, purpose: 'the dashboard', option: '--dashboard-port' },
    ...planReplicas(options).flatMap((plan): PortUse[] => [
      { port: plan.pgwirePort, purpose: `SQL clients of ${plan.id}`, option: '--port' },
      { port: plan.peerPort, purpose: `peers of ${plan.id}`, option: '--port' },
      { port: plan.httpPort, purpose: `HTTP of ${plan.id}`, option: '--dashboard-port' },
    ]),
    ...planReplicas(options).flatMap(thriftUse),
  ];
  const seen = new Map<number, PortUse>();
  for (const use of uses) {
    if (use.port > 65_535) {
      throw new CliError(
        `Port ${use.port} (${use.purpose}) is above 65535: lower ${use.option}.`,
        exitCodes.usage,
      );
    }
    const other = seen.get(use.port);
    if (other !== undefined) {
      const message = `Port ${use.port} would serve both ${other.purpose} and ${use.purpose}: change ${other.option} or ${use.option}.`;
      throw new CliError(message, exitCodes.usage);
    }
    seen.set(use.port, use);
  }
  return uses;
}

function thriftUse({ id, thriftPort }: ReplicaPlan): readonly PortUse[] {
  if (thriftPort === null) return [];
  return [{ port: thriftPort, purpose: `Thrift clients of ${id}`, option: '--thrift-port' }];
}

/** In the proportions that a replica's own have to each other; an idle leader speaks as often as it would anyway, if not more often. */
function timingsOf(electionTimeoutMs: number): ReplicaConfigInput['timings'] {
  const leaseMs = Math.floor((electionTimeoutMs * 7) / 12);
  return {
    electionTimeoutMinMs: electionTimeoutMs,
    electionTimeoutMaxMs: Math.ceil((electionTimeoutMs * 5) / 3),
    leaseMs,
    heartbeatMs: Math.min(200, Math.floor((leaseMs * 2) / 7)),
  };
}

/**
 * Statements by time are counted where WAL travels, by the PostgreSQL that comes with Barista: another may lack the library. `regress`: as `auto`, but EXPLAIN (VERBOSE) shows no
 * query identifier, as without the library.
 */
function postgresOf({ pgBin, payload }: DemoOptions): ReplicaConfigInput['postgres'] {
  if (pgBin !== null) return { pgBin };
  if (payload !== 'wal') return {};
  return { settings: { shared_preload_libraries: 'pg_stat_statements', compute_query_id: 'regress' } };
}

export function replicaConfigOf(
  plan: ReplicaPlan,
  plans: readonly ReplicaPlan[],
  options: DemoOptions,
  clusterSecret: string,
): ReplicaConfigInput {
  return {
    group: demoGroup,
    id: plan.id,
    dataDir: plan.dir,
    peers: plans.map((each) => ({
      id: each.id,
      host: demoHost,
      port: each.peerPort,
      pgwire: { host: demoHost, port: each.pgwirePort },
    })),
    peerListen: { host: demoHost, port: plan.peerPort },
    clusterSecret,
    pgwire: { host: demoHost, port: plan.pgwirePort },
    ...(plan.thriftPort === null ? {} : { thrift: { host: demoHost, port: plan.thriftPort } }),
    http: { host: demoHost, port: plan.httpPort, statements: true, open: 'all' },
    postgres: postgresOf(options),
    payload: options.payload,
    protocol: options.protocol,
    ...storeConfigOf(options.logStore, options),
    ...(options.electionTimeoutMs === null ? {} : { timings: timingsOf(options.electionTimeoutMs) }),
    ...(options.commitPoint == null ? {} : { commitPoint: { kind: options.commitPoint } }),
    ...(options.groupCommit == null ? {} : { groupCommit: { kind: options.groupCommit } }),
    ...(options.replication == null ? {} : { primary: { replication: options.replication } }),
    bootstrap: demoUser,
    trace: { file: options.trace || options.check },
    faults: true,
  };
}
