/**
 * A PostgreSQL of its own, with nothing of Barista in it, for tests that look at what it writes.
 *
 * `stop('immediate')` and a new `start` make it recover from a crash.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { appendFile, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { locateBinaries, type PgBinaries } from '../../../adapters/postgres/binaries.ts';
import { chooseLaunchUser, launchAs, type LaunchUser } from '../../../adapters/postgres/launch-user.ts';
import { handOver, prepareDirectory } from '../../../adapters/postgres/owners.ts';

const run = promisify(execFile);
const startTimeoutMs = 30_000;

export interface BarePostgres {
  readonly majorVersion: number;
  readonly data: string;
  readonly pgWal: string;
  readonly socketDir: string;
  start(): Promise<void>;
  /** `immediate`: as after a crash. */
  stop(how: 'fast' | 'immediate'): Promise<void>;
  /** A connection as the superuser, to the database `postgres` if no other is named. Closed by `stop`. */
  connect(database?: string): Promise<Client>;
  /** Stops it, and removes all of it. */
  remove(): Promise<void>;
}

export interface BarePostgresOptions {
  /** Where the programs are; default the embedded ones. */
  readonly pgBin?: string;
  /** Its data is a copy of this one's, which is not running, or idle; default: made by initdb. */
  readonly copyOf?: BarePostgres;
  readonly settings?: Readonly<Record<string, string>>;
}

/** Not started yet. */
export async function makeBarePostgres(options: BarePostgresOptions = {}): Promise<BarePostgres> {
  const binaries = await locateBinaries(options.pgBin === undefined ? {} : { pgBin: options.pgBin });
  const user = await chooseLaunchUser();
  const root = await mkdtemp(join(tmpdir(), 'barista-bare-'));
  await prepareDirectory(user, root);
  const data = join(root, 'data');
  if (options.copyOf === undefined) await initialize(binaries, user, data);
  else {
    await cp(options.copyOf.data, data, { recursive: true });
    await rm(join(data, 'postmaster.pid'), { force: true });
    await handOver(user, data);
  }
  const settings = { ...baseSettings(root), ...options.settings };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
  await appendFile(join(data, 'postgresql.conf'), lines.join(''));
  let server: ChildProcess | null = null;
  let clients: Client[] = [];

  async function connect(database = 'postgres'): Promise<Client> {
    const client = new Client({ host: root, port: 5432, user: 'postgres', database });
    client.on('error', () => undefined);
    await client.connect();
    clients.push(client);
    return client;
  }

  async function start(): Promise<void> {
    await handOver(user, data);
    const launch = launchAs(user, binaries.postgres, ['-D', data]);
    server = spawn(launch.command, [...launch.args], {
      ...launch.ids,
      stdio: 'ignore',
      env: environment(binaries),
    });
    const deadline = performance.now() + startTimeoutMs;
    for (;;) {
      try {
        await connect();
        return;
      } catch (cause) {
        const isOver = server.exitCode !== null || server.signalCode !== null || performance.now() > deadline;
        if (isOver) throw new Error('PostgreSQL did not start', { cause });
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
    }
  }

  async function stop(how: 'fast' | 'immediate'): Promise<void> {
    for (const client of clients) await client.end().catch(() => undefined);
    clients = [];
    const ending = server;
    server = null;
    if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return;
    const exited = new Promise((resolve) => ending.once('exit', resolve));
    ending.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await exited;
  }

  async function remove(): Promise<void> {
    await stop('immediate');
    await rm(root, { recursive: true, force: true });
  }

  const pgWal = join(data, 'pg_wal');
  return { majorVersion: binaries.majorVersion, data, pgWal, socketDir: root, start, stop, connect, remove };
}

async function initialize(binaries: PgBinaries, user: LaunchUser, data: string): Promise<void> {
  const args = ['--pgdata', data, '--username=postgres', '--auth=trust', '--no-sync', '--data-checksums'];
  const all = [...args, '--encoding=UTF8', '--locale=C', '--no-instructions'];
  const launch = launchAs(user, binaries.initdb, all);
  await run(launch.command, [...launch.args], { ...launch.ids, env: environment(binaries) });
}

function environment(binaries: PgBinaries): NodeJS.ProcessEnv {
  return { ...process.env, ...binaries.env, LC_ALL: 'C', TZ: 'UTC' };
}

function baseSettings(socketDir: string): Record<string, string> {
  return {
    listen_addresses: '',
    unix_socket_directories: socketDir,
    port: '5432',
    fsync: 'off',
    wal_level: 'replica',
    max_prepared_transactions: '10',
    max_wal_size: '64MB',
    min_wal_size: '32MB',
    shared_buffers: '32MB',
    autovacuum: 'off',
    track_commit_timestamp: 'on',
    timezone: 'UTC',
  };
}
