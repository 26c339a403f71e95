/**
 * MariaDB Galera: as many nodes as there are replicas, each certified write on all of them, durable on each (`innodb_flush_log_at_trx_commit = 1`). Clients are on the first one.
 *
 * Responsible for: its nodes' directories and processes. It is no PostgreSQL: only sysbench's workload runs on it.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  chooseLaunchUser,
  launchAs,
  type LaunchUser,
} from '../../../../server/src/adapters/postgres/launch-user.ts';
import { prepareDirectory } from '../../../../server/src/adapters/postgres/owners.ts';
import { programVersion, supervise, untilAnswers, type Peer, type PeerOptions } from './peer-program.ts';
import { account, systemLabels } from './system.ts';

const run = promisify(execFile);

/** Where Debian, and most others, have it. */
const provider = '/usr/lib/galera/libgalera_smm.so';

export function galeraIsInstalled(): boolean {
  return existsSync(provider);
}

/** How many ports `startGalera` takes. */
export function galeraPorts(replicas: number): number {
  return portsOfNode * replicas;
}

const portsOfNode = 4;

/** InnoDB reads past the kernel's cache, which PostgreSQL has besides its own: what the tables need of it, it is given here. */
const bufferPool = '1G';
/** One, its default, would hold up whoever writes. */
const appliers = 4;

interface Node {
  readonly directory: string;
  readonly sql: number;
  readonly group: number;
  readonly incremental: number;
  readonly snapshot: number;
}

/** @throws Error, with nothing left running */
export async function startGalera(program: string, options: PeerOptions): Promise<Peer> {
  const { root, port, replicas } = options;
  const user = await chooseLaunchUser();
  const running: { stop(): Promise<void> }[] = [];
  const stop = async (): Promise<void> => {
    for (const each of running.toReversed()) await each.stop();
  };
  const nodes = Array.from({ length: replicas }, (_, index): Node => {
    const first = port + portsOfNode * index;
    return {
      directory: join(root, `node${index}`),
      sql: first,
      group: first + 1,
      incremental: first + 2,
      snapshot: first + 3,
    };
  });
  try {
    await mkdir(root, { recursive: true });
    const pids: number[] = [];
    for (const [index, node] of nodes.entries()) {
      await prepareDirectory(user, join(node.directory, 'data'));
      // The first one founds the group; the others take everything from it.
      if (index === 0) await initialize(user, node.directory);
      const pid = await startNode(program, user, { nodes, node, isFounder: index === 0, options, running });
      pids.push(pid);
      if (index === 0) await createMariaAccount(node);
    }
    const [first] = nodes;
    if (first !== undefined) await requireKeysWithoutGaps(first);
    const target = { host: '127.0.0.1', port: first?.sql ?? 0, ...account };
    return {
      version: await programVersion(program),
      stop,
      system: {
        id: 'galera',
        label: systemLabels.galera,
        engine: 'mariadb',
        isPeer: true,
        tablesOf: 'galera',
        runs: (name) => name === 'sysbench',
        client: () => Promise.resolve(target),
        doors: () => Promise.resolve([target]),
        databases: () => Promise.resolve([]),
        parts: () => Promise.resolve(pids.map((pid) => ({ role: 'nodes', pid }))),
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function initialize(user: LaunchUser, directory: string): Promise<void> {
  const launch = launchAs(user, 'mariadb-install-db', [
    '--no-defaults',
    `--datadir=${directory}/data`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
  ]);
  await run(launch.command, [...launch.args], launch.ids);
}

interface Start {
  readonly nodes: readonly Node[];
  readonly node: Node;
  readonly isFounder: boolean;
  readonly options: PeerOptions;
  readonly running: { stop(): Promise<void> }[];
}

/** Returns its process when it has all that the group has. */
async function startNode(
  program: string,
  user: LaunchUser,
  { nodes, node, isFounder, options, running }: Start,
): Promise<number> {
  const address = nodes.map(({ group }) => `127.0.0.1:${group}`).join(',');
  const wsrep = [
    'base_host=127.0.0.1',
    `base_port=${node.group}`,
    `gmcast.listen_addr=tcp://127.0.0.1:${node.group}`,
    `ist.recv_addr=127.0.0.1:${node.incremental}`,
  ];
  const file = join(node.directory, 'my.cnf');
  const settings = [
    ['datadir', join(node.directory, 'data')],
    ['socket', socketOf(node)],
    ['pid-file', join(node.directory, 'pid')],
    ['port', node.sql],
    ['bind-address', '127.0.0.1'],
    ['max_connections', options.clientsMax + 20],
    ['innodb_buffer_pool_size', bufferPool],
    ['innodb_log_file_size', options.settings['max_wal_size']?.replace(/B$/, '') ?? '1G'],
    ['wsrep_slave_threads', appliers],
    ['wsrep_auto_increment_control', 'OFF'],
    ['innodb_flush_log_at_trx_commit', 1],
    ['innodb_autoinc_lock_mode', 2],
    ['binlog_format', 'ROW'],
    ['default_storage_engine', 'InnoDB'],
    ['wsrep_on', 'ON'],
    ['wsrep_provider', provider],
    ['wsrep_cluster_address', `gcomm://${address}`],
    ['wsrep_node_address', '127.0.0.1'],
    ['wsrep_sst_method', 'rsync'],
    ['wsrep_sst_receive_address', `127.0.0.1:${node.snapshot}`],
    ['wsrep_provider_options', `"${wsrep.join(';')}"`],
  ] as const;
  await writeFile(file, `[mysqld]\n${settings.map(([name, value]) => `${name} = ${value}`).join('\n')}\n`);
  const launch = launchAs(user, program, [
    `--defaults-file=${file}`,
    ...(isFounder ? ['--wsrep-new-cluster'] : []),
  ]);
  const child = spawn(launch.command, [...launch.args], {
    ...launch.ids,
    cwd: node.directory,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const server = supervise(child, 'SIGTERM');
  running.push(server);
  await untilAnswers(async () => {
    const state = await ask(node, "SHOW STATUS LIKE 'wsrep_local_state_comment'");
    if (!state.includes('Synced')) throw new Error(`it is not synchronous yet: ${state.trim()}`);
  }, server);
  return child.pid ?? 0;
}

function socketOf({ directory }: Node): string {
  return join(directory, 'sql.socket');
}

async function createMariaAccount(node: Node): Promise<void> {
  const { user, password, database } = account;
  await ask(
    node,
    `CREATE DATABASE ${database}; CREATE USER '${user}'@'%' IDENTIFIED BY '${password}'; GRANT ALL ON ${database}.* TO '${user}'@'%'`,
  );
}

/** Nodes of a group leave numbers to each other, and of sysbench's updates by key two in three would find no row: a transaction that costs nothing. */
async function requireKeysWithoutGaps(node: Node): Promise<void> {
  const step = (await ask(node, 'SELECT @@auto_increment_increment')).trim().split(/\s+/).at(-1);
  if (step !== '1') throw new Error(`its generated keys are ${step} apart`);
}

async function ask(node: Node, statement: string): Promise<string> {
  const { stdout } = await run('mariadb', [
    '--no-defaults',
    `--socket=${socketOf(node)}`,
    '--user=root',
    `--execute=${statement}`,
  ]);
  return stdout;
}
