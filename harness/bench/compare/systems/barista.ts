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
import { querySql, type SqlTarget } from '../../sql.ts';
import { endWithUs } from '../../watchdog.ts';
import { sharedSettings } from './native.ts';
import { lookAtProcesses } from '../processes.ts';
import { account, systemLabels, type System } from './system.ts';

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
    checkout: directory,
    version,
    commit: commit === null ? null : `${commit}${changed === '' ? '' : '+'}`,
  };
}

/** `root`: everything is made in it. */
export async function startBarista(
  bin: string,
  root: string,
  env: Readonly<Record<string, string>> = {},
): Promise<BaristaSystems> {
  const cluster = await startCluster({
    bin,
    dataDir: root,
    args: ['--no-dashboard'],
    logStore: 'segment',
    env,
  });
  try {
    const leader = await cluster.leader();
    const supervisorPid = lookAtProcesses().processes.get(leader.pid)?.parent ?? 0;
    const release = endWithUs(supervisorPid, 'INT');
    return {
      cluster,
      barista: systemOf(cluster, 'barista', clientOf),
      direct: systemOf(cluster, 'direct', directClientOf),
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

function systemOf(
  cluster: LocalCluster,
  id: 'barista' | 'direct',
  client: (leader: ReplicaStatus) => SqlTarget,
): System {
  return {
    id,
    label: systemLabels[id],
    client: async () => client(await cluster.leader()),
    databases: async () => (await statuses(cluster)).map(operatorOf),
    processes: async () => (await statuses(cluster)).map(({ pid }) => pid),
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
