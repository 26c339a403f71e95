/** A PostgreSQL of its own for tests and benchmarks of the gateway: as it comes, with nothing of Barista in it. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { locateBinaries } from '../../../adapters/postgres/binaries.ts';
import { chooseLaunchUser, launchAs } from '../../../adapters/postgres/launch-user.ts';
import { prepareDirectory } from '../../../adapters/postgres/owners.ts';

const run = promisify(execFile);

export interface TestPostgres {
  readonly socketDir: string;
  readonly socketPath: string;
  readonly port: number;
  readonly pid: number;
  /** The database of the role `barista` (password `barista`). */
  readonly database: string;
  /** Connected to it as the superuser. */
  readonly superuser: Client;
  /** Another such connection. */
  connect(database?: string): Promise<Client>;
  /** Changes a setting of the server, and waits until it is in force. */
  set(name: string, value: string): Promise<void>;
  stop(): Promise<void>;
}

const database = 'barista';
const port = 5432;
const startTimeoutMs = 60_000;

/** `settings`: of the server, from its start on. */
export async function startTestPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<TestPostgres> {
  const root = await mkdtemp(join(tmpdir(), 'barista-gw-'));
  const user = await chooseLaunchUser();
  const binaries = await locateBinaries();
  const socketDir = join(root, 'socket');
  await prepareDirectory(user, root);
  await prepareDirectory(user, socketDir);
  const data = join(root, 'data');
  const env = { ...process.env, ...binaries.env, LC_ALL: 'C', TZ: 'UTC' };
  const initArguments = [
    '-D',
    data,
    '-U',
    'postgres',
    '--auth=trust',
    '--encoding=UTF8',
    '--locale=C',
    '--no-sync',
  ];
  const init = launchAs(user, binaries.initdb, initArguments);
  await run(init.command, [...init.args], { ...init.ids, env });
  const all = {
    listen_addresses: '',
    unix_socket_directories: socketDir,
    fsync: 'off',
    max_connections: '150',
    max_prepared_transactions: '20',
    shared_buffers: '64MB',
    ...settings,
  };
  const options = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const launch = launchAs(user, binaries.postgres, ['-D', data, ...options]);
  const child = spawn(launch.command, [...launch.args], { ...launch.ids, env, stdio: 'ignore' });
  const exited = once(child, 'exit');
  const clients = new Set<Client>();

  async function connect(to = database): Promise<Client> {
    const client = new Client({ host: socketDir, port, user: 'postgres', database: to });
    client.on('error', () => {});
    clients.add(client);
    await client.connect();
    return client;
  }

  const operator = await retry(() => connect('postgres'));
  await operator.query("CREATE ROLE barista LOGIN CREATEDB CREATEROLE PASSWORD 'barista'");
  await operator.query(`CREATE DATABASE ${database} OWNER barista TEMPLATE template0`);
  const superuser = await connect();
  return {
    socketDir,
    socketPath: join(socketDir, `.s.PGSQL.${port}`),
    port,
    pid: child.pid ?? 0,
    database,
    superuser,
    connect,
    async set(name, value) {
      await operator.query(`ALTER SYSTEM SET ${name} = '${value}'`);
      await operator.query('SELECT pg_reload_conf()');
      await retry(async () => {
        const { rows } = await operator.query<{ value: string }>(
          `SELECT current_setting('${name}') AS value`,
        );
        if (rows[0]?.value !== value) throw new Error(`${name} is not in force`);
      });
    },
    async stop() {
      await Promise.all([...clients].map((client) => client.end().catch(() => {})));
      child.kill('SIGQUIT');
      await exited;
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function retry<T>(work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + startTimeoutMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}
