/**
 * PostgreSQL as it comes: one alone, and one with two synchronous streaming standbys of which any one has to confirm a COMMIT.
 *
 * Responsible for: starting them with the settings of the replicas that they are compared with. The settings that decide about durability are fixed here.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { locateBinaries } from '../../../../server/src/adapters/postgres/binaries.ts';
import { chooseLaunchUser } from '../../../../server/src/adapters/postgres/launch-user.ts';
import {
  copyOf,
  initializeInstance,
  startInstance,
  type InstanceOptions,
  type PostgresInstance,
} from '../../postgres-instance.ts';
import { querySql } from '../../sql.ts';
import { account, systemLabels, type System } from './system.ts';

/** Taken from the replica's PostgreSQL, as far as it knows them. */
export const sharedSettings = [
  'shared_buffers',
  'max_connections',
  'max_wal_size',
  'min_wal_size',
  'checkpoint_timeout',
  'checkpoint_completion_target',
  'wal_buffers',
  'wal_compression',
  'wal_writer_delay',
  'wal_init_zero',
  'wal_recycle',
  'commit_delay',
  'bgwriter_delay',
  'autovacuum',
  'autovacuum_naptime',
  'huge_pages',
  'jit',
  'io_method',
  'work_mem',
  'maintenance_work_mem',
  'effective_cache_size',
  'max_prepared_transactions',
  'timezone',
] as const;

const durable = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  wal_level: 'replica',
  max_wal_senders: '10',
  hot_standby: 'on',
} as const;

const standbys = ['s1', 's2'] as const;

export interface NativeOptions {
  /** Exists; everything is made in it. */
  readonly root: string;
  /** First of four. */
  readonly port: number;
  /** Values of `sharedSettings`. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface NativeSystems {
  readonly version: string;
  readonly plain: System;
  readonly native: System;
  /** Every process is gone when it returns. */
  stop(): Promise<void>;
}

/** @throws Error, with nothing left running */
export async function startNative({ root, port, settings }: NativeOptions): Promise<NativeSystems> {
  const binaries = await locateBinaries();
  const user = await chooseLaunchUser();
  const running: PostgresInstance[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((instance) => instance.stop()));
  };
  try {
    await mkdir(root, { recursive: true });
    const directory = (name: string): string => join(root, name);
    await initializeInstance(binaries, user, directory('plain'));
    for (const name of ['primary', ...standbys]) await copyOf(user, directory('plain'), directory(name));
    const start: Start = async (options) => {
      const instance = await startInstance({ binaries, user, ...options });
      running.push(instance);
      return instance;
    };
    const common = { ...settings, ...durable };
    const plain = await start({ directory: directory('plain'), port, settings: common });
    await createAccount(plain);
    const group = await startGroup(start, directory, port + 1, common);
    return {
      version: binaries.version,
      plain: systemOf('plain', [plain]),
      native: systemOf('native', group),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Start = (options: Omit<InstanceOptions, 'binaries' | 'user'>) => Promise<PostgresInstance>;

async function startGroup(
  start: Start,
  directory: (name: string) => string,
  port: number,
  settings: Readonly<Record<string, string>>,
): Promise<readonly PostgresInstance[]> {
  const primary = await start({ directory: directory('primary'), port, settings });
  // The slots first: they keep the WAL that the standbys have not had yet.
  const slots = standbys.map((name) => `SELECT pg_create_physical_replication_slot('${name}', true)`);
  await querySql(primary.operator('postgres'), ...slots);
  const followers: PostgresInstance[] = [];
  for (const [index, name] of standbys.entries()) {
    const conninfo = `host=127.0.0.1 port=${port} user=postgres application_name=${name}`;
    followers.push(
      await start({
        directory: directory(name),
        port: port + 1 + index,
        settings,
        primary: { conninfo, slot: name },
      }),
    );
  }
  await querySql(
    primary.operator('postgres'),
    `ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (${standbys.join(', ')})'`,
    'SELECT pg_reload_conf()',
  );
  await untilSynchronous(primary);
  await createAccount(primary);
  return [primary, ...followers];
}

/** A COMMIT waits for a standby from here on. */
async function untilSynchronous(primary: PostgresInstance): Promise<void> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const [row] = await querySql(
      primary.operator('postgres'),
      "SELECT count(*)::int AS quorum FROM pg_stat_replication WHERE sync_state = 'quorum'",
    );
    if (row?.['quorum'] === standbys.length) return;
    if (performance.now() > deadline) throw new Error('the standbys did not become synchronous');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function createAccount(instance: PostgresInstance): Promise<void> {
  const { user, password, database } = account;
  await querySql(
    instance.operator('postgres'),
    `CREATE ROLE ${user} LOGIN NOSUPERUSER CREATEDB CREATEROLE PASSWORD '${password}'`,
    `CREATE DATABASE ${database} OWNER ${user} TEMPLATE template0`,
  );
}

function systemOf(id: 'plain' | 'native', instances: readonly PostgresInstance[]): System {
  const port = instances[0]?.port ?? 0;
  return {
    id,
    label: systemLabels[id],
    client: () => Promise.resolve({ host: '127.0.0.1', port, ...account }),
    databases: () => Promise.resolve(instances.map((each) => each.operator(account.database))),
    processes: () => Promise.resolve(instances.map(({ pid }) => pid)),
  };
}
