/**
 * Three replicas as `barista demo` runs them, from this checkout or from another one, as a system to be compared.
 *
 * Responsible for: where the leader is, and which processes and databases the cluster has. Starts nothing by itself but the demo.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { ReplicaStatus } from '../../../../server/src/api/status.ts';
import { startCluster, type LocalCluster } from '../../../cluster/local-cluster.ts';
import { BenchError } from '../../bench-error.ts';
import { ownCheckout } from '../../build-server.ts';
import { querySql, type SqlTarget } from '../../sql.ts';
import { endWithUs } from '../../watchdog.ts';
import { sharedSettings } from './native.ts';
import { lookAtProcesses } from '../processes.ts';
import { isReadOnly } from '../loads/workloads.ts';
import { account, systemLabels, type System, type SystemId } from './system.ts';

const run = promisify(execFile);

export interface BaristaVersion {
  readonly checkout: string;
  readonly version: string;
  /** With `+` if files differ from it; null: not a git checkout. */
  readonly commit: string | null;
}

export interface BaristaSystems {
  readonly cluster: LocalCluster;
  /** By the leader's port. */
  readonly barista: System;
  /** By the socket of the leader's PostgreSQL, past the gateway. */
  readonly direct: System;
  /** By the port of a replica that does not lead, as an ordinary session: on the leader, one way further. */
  readonly follower: System;
  /** By the ports of all replicas, with snapshot reads: each is answered by the PostgreSQL of its own replica. */
  readonly readers: System;
  /** The settings that the native systems are to have, too. */
  readonly settings: Readonly<Record<string, string>>;
  /** Of the demo's own process, which belongs to no replica. */
  readonly supervisorPid: number;
  stop(): Promise<void>;
}

/** @throws Error that says how to build it */
export function requireBuilt(checkout: string): string {
  const bin = join(resolve(checkout), 'bin', 'barista.js');
  if (!existsSync(bin))
    throw new BenchError(`${checkout} is not a checkout of Barista: it has no bin/barista.js.`);
  if (!existsSync(join(resolve(checkout), 'server', 'dist'))) {
    throw new BenchError(`${checkout} is not built. Run "npm ci" and "npm run build:server" there first.`);
  }
  return bin;
}

export async function versionOf(checkout: string): Promise<BaristaVersion> {
  const directory = resolve(checkout);
  const { version } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  const git = async (...args: readonly string[]): Promise<string | null> =>
    run('git', ['-C', directory, ...args]).then(
      ({ stdout }) => stdout.trim(),
      () => null,
    );
  const commit = await git('rev-parse', '--short=12', 'HEAD');
  const changed = await git('status', '--porcelain', '--untracked-files=no');
  return {
    // A report of this checkout may be committed to it.
    checkout: directory === resolve(ownCheckout) ? '.' : directory,
    version,
    commit: commit === null ? null : `${commit}${changed === '' ? '' : '+'}`,
  };
}

export interface BaristaOptions {
  /** Default: 3. */
  readonly replicas?: number;
  /** Default: as the demo has it. */
  readonly clientsMax?: number;
  /** Default: as a replica has it. */
  readonly electionTimeoutMs?: number;
  /** Default: 0. Between each two replicas, one way. */
  readonly delayMs?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Of a cluster that was there before: its replicas know each other by their ports. Default: any that are free. */
  readonly basePort?: number;
}

/** `root`: everything is made in it. */
export async function startBarista(
  bin: string,
  root: string,
  { replicas = 3, clientsMax, electionTimeoutMs, delayMs = 0, env = {}, basePort }: BaristaOptions = {},
): Promise<BaristaSystems> {
  const cluster = await startCluster({
    bin,
    replicas,
    dataDir: root,
    ...(basePort === undefined ? {} : { basePort }),
    args: [
      '--no-dashboard',
      ...(clientsMax === undefined ? [] : [`--clients-max=${clientsMax}`]),
      ...(electionTimeoutMs === undefined ? [] : [`--election-timeout=${electionTimeoutMs}`]),
    ],
    logStore: 'segment',
    env,
  });
  try {
    await delayAll(cluster, delayMs);
    const leader = await cluster.leader();
    const supervisorPid = lookAtProcesses().processes.get(leader.pid)?.parent ?? 0;
    const release = endWithUs(supervisorPid, 'INT');
    return {
      cluster,
      barista: systemOf(cluster, 'barista', ({ leader }) => [clientOf(leader)]),
      direct: systemOf(cluster, 'direct', ({ leader }) => [directClientOf(leader)]),
      follower: systemOf(cluster, 'follower', ({ followers }) => followers.slice(0, 1).map(clientOf)),
      readers: {
        ...systemOf(cluster, 'readers', ({ leader, followers }) => [leader, ...followers].map(readerOf)),
        runs: isReadOnly,
      },
      settings: await settingsOf(clientOf(leader)),
      supervisorPid,
      stop: async () => {
        await cluster.interrupt();
        release();
      },
    };
  } catch (error) {
    await cluster.interrupt();
    throw error;
  }
}

function clientOf({ pgwire: { host, port } }: ReplicaStatus): SqlTarget {
  return { host, port, ...account };
}

function directClientOf({ postgres: { socketDir, port } }: ReplicaStatus): SqlTarget {
  return { host: socketDir, port, ...account };
}

function readerOf(replica: ReplicaStatus): SqlTarget {
  return { ...clientOf(replica), options: snapshotReads };
}

const snapshotReads = '-c barista.read_consistency=snapshot';

/** What each replica sends to each other one comes so much later. */
async function delayAll(cluster: LocalCluster, delayMs: number): Promise<void> {
  if (delayMs === 0) return;
  const ids = (await statuses(cluster)).map(({ id }) => id);
  for (const from of ids) {
    for (const to of ids) {
      if (from !== to) await cluster.fault({ action: 'delay', from, to, amount: delayMs });
    }
  }
}

interface Places {
  readonly leader: ReplicaStatus;
  readonly followers: readonly ReplicaStatus[];
}

function systemOf(
  cluster: LocalCluster,
  id: SystemId,
  doorsOf: (places: Places) => readonly SqlTarget[],
): System {
  const places = async (): Promise<Places> => {
    const leader = await cluster.leader();
    return { leader, followers: (await statuses(cluster)).filter((each) => each.id !== leader.id) };
  };
  return {
    id,
    label: systemLabels[id],
    engine: 'postgres',
    isPeer: false,
    tablesOf: 'barista',
    runs: (name) => name !== 'sysbench' || id === 'barista',
    client: async () => clientOf(await cluster.leader()),
    doors: async () => doorsOf(await places()),
    databases: async () => (await statuses(cluster)).map(operatorOf),
    parts: async () => {
      const { leader, followers } = await places();
      return [
        { role: 'leader', pid: leader.pid },
        ...followers.map(({ pid }) => ({ role: 'followers', pid })),
      ];
    },
  };
}

function operatorOf({ postgres: { socketDir, port } }: ReplicaStatus): SqlTarget {
  return { host: socketDir, port, user: 'postgres', database: account.database };
}

async function statuses(cluster: LocalCluster): Promise<readonly ReplicaStatus[]> {
  const { replicas } = await cluster.status();
  return replicas.map(({ id, status }) => {
    if (status === null) throw new Error(`replica ${id} has said nothing yet`);
    return status;
  });
}

async function settingsOf(target: SqlTarget): Promise<Record<string, string>> {
  const names = sharedSettings.map((name) => `'${name}'`).join(', ');
  const rows = await querySql(
    target,
    `SELECT name, current_setting(name) AS value FROM pg_settings WHERE name IN (${names})`,
  );
  return Object.fromEntries(rows.map(({ name, value }) => [String(name), String(value)]));
}
