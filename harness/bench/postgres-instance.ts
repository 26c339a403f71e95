/**
 * One PostgreSQL of the benchmarks: the programs that a replica runs, with data checksums, on a port of the loopback address.
 *
 * Responsible for: initdb, the configuration, the process, and its end. `copyOf` makes standbys: a cold copy of a directory whose server has not been started.
 * Does not know what is measured.
 * Invariant: no PostgreSQL outlives this process, not even when it is killed (watchdog.ts).
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { PgBinaries } from '../../server/src/adapters/postgres/binaries.ts';
import { launchAs, type LaunchUser } from '../../server/src/adapters/postgres/launch-user.ts';
import { handOver, prepareDirectory } from '../../server/src/adapters/postgres/owners.ts';
import { querySql, type SqlTarget } from './sql.ts';
import { endWithUs } from './watchdog.ts';

const run = promisify(execFile);
const startMsMax = 60_000;
const lookMs = 25;

export interface InstanceOptions {
  readonly binaries: PgBinaries;
  readonly user: LaunchUser;
  /** Exists already: made by `initializeInstance` or `copyOf`. */
  readonly directory: string;
  readonly port: number;
  readonly settings: Readonly<Record<string, string>>;
  /** Connection string of the primary, if this is to be a standby. */
  readonly primary?: { readonly conninfo: string; readonly slot: string };
  /** Clients of this machine need no password: whoever stands before it has asked for one, or cannot. */
  readonly isTrusting?: boolean;
}

export interface PostgresInstance {
  readonly port: number;
  /** Of the main process. */
  readonly pid: number;
  /** As its superuser, by its Unix socket. */
  operator(database: string): SqlTarget;
  stop(): Promise<void>;
}

/** Makes a directory with a database cluster in it, as a replica's: C.UTF-8 of the builtin provider, data checksums. */
export async function initializeInstance(
  binaries: PgBinaries,
  user: LaunchUser,
  directory: string,
): Promise<void> {
  // Whoever PostgreSQL runs as has to get through to its own directory.
  await chmod(dirname(directory), 0o711);
  await prepareDirectory(user, directory);
  const args = ['--pgdata', directory, '--username=postgres', '--auth=trust', '--encoding=UTF8'];
  const launch = launchAs(user, binaries.initdb, [
    ...args,
    '--data-checksums',
    '--no-sync',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
  ]);
  await run(launch.command, [...launch.args], { ...launch.ids, env: environment(binaries) });
}

/** Of a directory whose server is not running; the copy has the same system identifier, so it can be a standby of the original. */
export async function copyOf(user: LaunchUser, directory: string, target: string): Promise<void> {
  // A thousand small files: the system's own program is many times faster at them than Node is.
  await run('cp', ['-a', directory, target]);
  await handOver(user, target);
}

/** @throws Error with the end of its log, if it does not take connections in time */
export async function startInstance(options: InstanceOptions): Promise<PostgresInstance> {
  const { binaries, user, directory, port } = options;
  await configure(options);
  await handOver(user, directory);
  const logFile = `${directory}.log`;
  const log = openSync(logFile, 'a');
  const launch = launchAs(user, binaries.postgres, ['-D', directory]);
  const child = spawn(launch.command, [...launch.args], {
    ...launch.ids,
    cwd: directory,
    // Ctrl-C in the terminal is for the benchmark, which then ends its servers in order.
    detached: true,
    stdio: ['ignore', log, log],
    env: environment(binaries),
  });
  closeSync(log);
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const release = child.pid === undefined ? () => undefined : endWithUs(child.pid, 'QUIT');
  const operator = (database: string): SqlTarget => ({ host: directory, port, user: 'postgres', database });
  const stop = async (): Promise<void> => {
    // Immediate: nobody needs the data again.
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGQUIT');
    await ended;
    release();
  };
  try {
    await untilReady(child, operator('postgres'));
  } catch (error) {
    await stop();
    const last = (await readFile(logFile, 'utf8')).trimEnd().split('\n').slice(-15).join('\n');
    throw new Error(
      `PostgreSQL in ${directory} did not start: ${(error as Error).message}. Its last words:\n${last}`,
      {
        cause: error,
      },
    );
  }
  return { port, pid: child.pid ?? 0, operator, stop };
}

function environment(binaries: PgBinaries): NodeJS.ProcessEnv {
  return { ...process.env, ...binaries.env, LC_ALL: 'C', TZ: 'UTC' };
}

async function configure(options: InstanceOptions): Promise<void> {
  const { user, directory, port, settings, primary, isTrusting = false } = options;
  const method = isTrusting ? 'trust' : 'scram-sha-256';
  const all: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: directory,
    ...settings,
    ...(primary === undefined ? {} : { primary_conninfo: primary.conninfo, primary_slot_name: primary.slot }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'`);
  const files: Record<string, string> = {
    'postgresql.conf': `${lines.join('\n')}\n`,
    // As at a replica's port, a client proves its password.
    'pg_hba.conf': `local all,replication all trust\nhost replication all 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 ${method}\n`,
    ...(primary === undefined ? {} : { 'standby.signal': '' }),
  };
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory, name);
    await rm(path, { force: true });
    await writeFile(path, text, { mode: 0o600 });
    await handOver(user, path);
  }
}

async function untilReady(child: ChildProcess, target: SqlTarget): Promise<void> {
  const deadline = performance.now() + startMsMax;
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('it has ended');
    try {
      await querySql(target, 'SELECT 1');
      return;
    } catch (cause) {
      if (performance.now() > deadline) {
        throw new Error(`no connection within ${startMsMax} ms`, { cause });
      }
    }
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}
