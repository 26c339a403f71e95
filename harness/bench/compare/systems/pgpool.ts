/**
 * pgpool-II in native replication mode over three independent PostgreSQLs: each statement that writes is sent to all of them.
 *
 * Responsible for: its configuration and its process. The servers have the settings of those that they are compared with.
 */
import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { locateBinaries } from '../../../../server/src/adapters/postgres/binaries.ts';
import { chooseLaunchUser, launchAs } from '../../../../server/src/adapters/postgres/launch-user.ts';
import { handOver, prepareDirectory } from '../../../../server/src/adapters/postgres/owners.ts';
import { copyOf, initializeInstance, startInstance, type PostgresInstance } from '../../postgres-instance.ts';
import { querySql } from '../../sql.ts';
import { createAccount, durable } from './native.ts';
import { programVersion, supervise, untilAnswers, type Peer, type PeerOptions } from './peer-program.ts';
import { account, systemLabels } from './system.ts';

/** How many ports `startPgpool` takes. */
export function pgpoolPorts(replicas: number): number {
  return replicas + 2;
}

/** @throws Error, with nothing left running */
export async function startPgpool(program: string, options: PeerOptions): Promise<Peer> {
  const { root, port, replicas, settings } = options;
  const binaries = await locateBinaries();
  const user = await chooseLaunchUser();
  const running: { stop(): Promise<void> }[] = [];
  const stop = async (): Promise<void> => {
    for (const each of running.toReversed()) await each.stop();
  };
  try {
    await mkdir(root, { recursive: true });
    const directory = (index: number): string => join(root, `server${index}`);
    await initializeInstance(binaries, user, directory(0));
    for (let index = 1; index < replicas; index++) await copyOf(user, directory(0), directory(index));
    const servers: PostgresInstance[] = [];
    for (let index = 0; index < replicas; index++) {
      const server = await startInstance({
        binaries,
        user,
        directory: directory(index),
        port: port + 2 + index,
        settings: { ...settings, ...durable, wal_level: 'replica' },
        isTrusting: true,
      });
      running.push(server);
      servers.push(server);
      await createAccount(server);
    }
    const home = join(root, 'pgpool');
    await prepareDirectory(user, home);
    const file = join(home, 'pgpool.conf');
    await writeFile(file, configuration(home, options));
    await writeFile(join(home, 'pcp.conf'), '');
    for (const name of ['pgpool.conf', 'pcp.conf']) await handOver(user, join(home, name));
    const launch = launchAs(user, program, ['-n', '-D', '-f', file, '-F', join(home, 'pcp.conf')]);
    const child = spawn(launch.command, [...launch.args], {
      ...launch.ids,
      cwd: home,
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const pooler = supervise(child);
    running.push(pooler);
    const target = { host: '127.0.0.1', port, ...account };
    await untilAnswers(() => querySql(target, 'SELECT 1'), pooler);
    return {
      version: await programVersion(program),
      stop,
      system: {
        id: 'pgpool',
        label: systemLabels.pgpool,
        engine: 'postgres',
        isPeer: true,
        tablesOf: 'pgpool',
        runs: (name) => name !== 'sysbench',
        client: () => Promise.resolve(target),
        doors: () => Promise.resolve([target]),
        databases: () => Promise.resolve(servers.map((each) => each.operator(account.database))),
        parts: () =>
          Promise.resolve([
            { role: 'pgpool', pid: child.pid ?? 0 },
            ...servers.map(({ pid }) => ({ role: 'servers', pid })),
          ]),
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function configuration(home: string, { port, replicas, clientsMax }: PeerOptions): string {
  const settings: Record<string, string | number> = {
    listen_addresses: '127.0.0.1',
    port,
    pcp_listen_addresses: '127.0.0.1',
    pcp_port: port + 1,
    // The second one is what versions from 4.4 on call it.
    socket_dir: home,
    unix_socket_directories: home,
    pcp_socket_dir: home,
    pid_file_name: join(home, 'pgpool.pid'),
    logdir: home,
    backend_clustering_mode: 'native_replication',
    replicate_select: 'off',
    insert_lock: 'on',
    load_balance_mode: 'on',
    num_init_children: clientsMax,
    max_pool: 1,
    connection_cache: 'on',
    use_watchdog: 'off',
    enable_pool_hba: 'off',
    failover_on_backend_error: 'off',
    health_check_period: 0,
  };
  for (let index = 0; index < replicas; index++) {
    settings[`backend_hostname${index}`] = '127.0.0.1';
    settings[`backend_port${index}`] = port + 2 + index;
    settings[`backend_weight${index}`] = 1;
  }
  const lines = Object.entries(settings).map(([name, value]) =>
    typeof value === 'number' || value === 'on' || value === 'off'
      ? `${name} = ${value}`
      : `${name} = '${value}'`,
  );
  return `${lines.join('\n')}\n`;
}
