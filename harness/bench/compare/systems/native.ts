/**
 * PostgreSQL as it comes: one alone, and one with synchronous streaming standbys of which as many have to confirm a COMMIT as make a majority with it.
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
import { isReadOnly } from '../loads/workloads.ts';
import { startRelay, type Relay } from './delaying-relay.ts';
import { account, systemLabels, type System, type SystemId } from './system.ts';

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

export const durable = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  wal_level: 'replica',
  max_wal_senders: '10',
  hot_standby: 'on',
} as const;

export interface NativeOptions {
  /** Exists; everything is made in it. */
  readonly root: string;
  /** First of two more than there are standbys. */
  readonly port: number;
  /** Default: 2. */
  readonly standbys?: number;
  /** Default: 0. Between the primary and each standby, one way. */
  readonly delayMs?: number;
  /** Values of `sharedSettings`. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface NativeSystems {
  readonly version: string;
  readonly plain: System;
  readonly native: System;
  /** The same, with clients that wait until the standbys show what they commit. */
  readonly remoteApply: System;
  /** As PostgreSQL is told, such as `ANY 1 (s1, s2)`. */
  readonly quorum: string;
  /** Every process is gone when it returns. */
  stop(): Promise<void>;
}

/** @throws Error, with nothing left running */
export async function startNative({
  root,
  port,
  settings,
  standbys: count = 2,
  delayMs = 0,
}: NativeOptions): Promise<NativeSystems> {
  const binaries = await locateBinaries();
  const user = await chooseLaunchUser();
  const standbys = Array.from({ length: count }, (_, index) => `s${index + 1}`);
  const quorum = `ANY ${Math.ceil(count / 2)} (${standbys.join(', ')})`;
  const running: PostgresInstance[] = [];
  const relays: Relay[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((instance) => instance.stop()));
    await Promise.all(relays.map((relay) => relay.stop()));
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
    const doors: number[] = [];
    for (const _ of standbys) {
      if (delayMs > 0) relays.push(await startRelay(port + 1, delayMs));
      doors.push(relays.at(-1)?.port ?? port + 1);
    }
    const group = await startGroup({
      start,
      directory,
      port: port + 1,
      settings: common,
      standbys,
      quorum,
      doors,
    });
    return {
      version: binaries.version,
      plain: systemOf('plain', [plain]),
      native: systemOf('native', group),
      remoteApply: systemOf('remoteApply', group, '-c synchronous_commit=remote_apply'),
      quorum,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Start = (options: Omit<InstanceOptions, 'binaries' | 'user'>) => Promise<PostgresInstance>;

interface GroupOptions {
  readonly start: Start;
  readonly directory: (name: string) => string;
  /** Of the primary; the standbys have the next ones. */
  readonly port: number;
  readonly settings: Readonly<Record<string, string>>;
  readonly standbys: readonly string[];
  readonly quorum: string;
  /** By which port each standby reaches the primary. */
  readonly doors: readonly number[];
}

async function startGroup(options: GroupOptions): Promise<readonly PostgresInstance[]> {
  const { start, directory, port, settings, standbys, quorum, doors } = options;
  const primary = await start({ directory: directory('primary'), port, settings });
  // The slots first: they keep the WAL that the standbys have not had yet.
  const slots = standbys.map((name) => `SELECT pg_create_physical_replication_slot('${name}', true)`);
  await querySql(primary.operator('postgres'), ...slots);
  const followers: PostgresInstance[] = [];
  for (const [index, name] of standbys.entries()) {
    const conninfo = `host=127.0.0.1 port=${doors[index] ?? port} user=postgres application_name=${name}`;
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
    `ALTER SYSTEM SET synchronous_standby_names = '${quorum}'`,
    'SELECT pg_reload_conf()',
  );
  await untilSynchronous(primary, standbys.length);
  await createAccount(primary);
  return [primary, ...followers];
}

/** A COMMIT waits for a standby from here on. */
async function untilSynchronous(primary: PostgresInstance, standbys: number): Promise<void> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const [row] = await querySql(
      primary.operator('postgres'),
      "SELECT count(*)::int AS quorum FROM pg_stat_replication WHERE sync_state = 'quorum'",
    );
    if (row?.['quorum'] === standbys) return;
    if (performance.now() > deadline) throw new Error('the standbys did not become synchronous');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export async function createAccount(instance: PostgresInstance): Promise<void> {
  const { user, password, database } = account;
  await querySql(
    instance.operator('postgres'),
    `CREATE ROLE ${user} LOGIN NOSUPERUSER CREATEDB CREATEROLE PASSWORD '${password}'`,
    `CREATE DATABASE ${database} OWNER ${user} TEMPLATE template0`,
  );
}

function systemOf(
  id: 'plain' | 'native' | 'remoteApply',
  instances: readonly PostgresInstance[],
  options?: string,
): System {
  const [first] = instances;
  const target = { host: '127.0.0.1', port: first?.port ?? 0, ...account };
  return {
    id,
    label: systemLabels[id],
    engine: 'postgres',
    isPeer: false,
    tablesOf: id === 'remoteApply' ? 'native' : id,
    // What is only written is what a level of synchronous_commit decides.
    runs: (name) => id !== 'remoteApply' || (name !== 'sysbench' && !isReadOnly(name)),
    client: () => Promise.resolve(target),
    doors: () => Promise.resolve([{ ...target, ...(options === undefined ? {} : { options }) }]),
    databases: () => Promise.resolve(instances.map((each) => each.operator(account.database))),
    parts: () =>
      Promise.resolve(instances.map((each) => ({ role: roleOf(id, each === first), pid: each.pid }))),
  };
}

function roleOf(id: SystemId, isFirst: boolean): string {
  if (id === 'plain') return 'server';
  return isFirst ? 'primary' : 'standbys';
}
