/**
 * For tests: PostgreSQLs that replicate by their own means, so that copies are judged by PostgreSQL and not by what Barista makes of it. What a standby has received counts as chosen.
 *
 * Small buffers and frequent writes of pages, so that what is on the disk is as mixed as it can be.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Client } from 'pg';
import type { Ballot, ReplicaId, Slot } from '../../../../multipaxos/types/names.ts';
import { historyName, lsnNone, type Lsn, parseLsn, type Timeline } from '../../../../wal/lsn.ts';
import { positionNone, type TimelineFork, type WalPosition } from '../../../../wal/position.ts';
import { locateBinaries, type PgBinaries } from '../../binaries.ts';
import { initializeData, socketPort } from '../../data-directory.ts';
import { chooseLaunchUser, launchAs } from '../../launch-user.ts';
import { handOver, prepareDirectory } from '../../owners.ts';
import { readControlFacts } from '../control-file.ts';
import { connectAs } from '../../testing/test-instance.ts';

const run = promisify(execFile);

export const testOwner = { group: 'main', cluster: 'c1' } as const;
const ballot: Ballot = { round: 1, replica: 'r1' as ReplicaId };

export async function testBinaries(): Promise<PgBinaries> {
  const pgBin = process.env['BARISTA_TEST_PG_BIN'];
  return locateBinaries(pgBin === undefined ? {} : { pgBin });
}

export class PlainPostgres {
  readonly directory: string;
  readonly dataDir: string;
  readonly socketDir: string;
  private readonly binaries: PgBinaries;
  private process: ChildProcess | null = null;
  private readonly clients = new Set<Client>();

  constructor(directory: string, binaries: PgBinaries) {
    this.directory = directory;
    this.dataDir = join(directory, 'data');
    this.socketDir = join(directory, 'socket');
    this.binaries = binaries;
  }

  /** A new cluster, that of `template` if it was made before. */
  async create(template: string): Promise<void> {
    const user = await chooseLaunchUser();
    await prepareDirectory(user, this.directory);
    await initializeData(this.binaries, user, template);
    await cp(template, this.dataDir, { recursive: true });
    await writeFile(join(this.directory, 'cluster'), `${testOwner.cluster}\n`);
  }

  /** `of`: the primary of a standby. */
  async start(
    of: PlainPostgres | null = null,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    await mkdir(this.socketDir, { recursive: true, mode: 0o700 });
    const base: Record<string, string> = {
      listen_addresses: '',
      unix_socket_directories: this.socketDir,
      port: String(socketPort),
      fsync: 'off',
      wal_level: 'replica',
      max_wal_senders: '10',
      wal_keep_size: '2GB',
      wal_retrieve_retry_interval: '50ms',
      max_prepared_transactions: '20',
      shared_buffers: '4MB',
      bgwriter_delay: '10ms',
      autovacuum_naptime: '1s',
      log_min_messages: 'warning',
      lc_messages: 'C',
      ...(of === null ? {} : { primary_conninfo: `host=${of.socketDir} port=${socketPort} user=postgres` }),
      ...settings,
    };
    const text = Object.entries(base).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`);
    await writeFile(join(this.dataDir, 'postgresql.conf'), text.join(''));
    await writeFile(join(this.dataDir, 'postgresql.auto.conf'), '');
    await writeFile(join(this.dataDir, 'pg_hba.conf'), 'local all all trust\nlocal replication all trust\n');
    await writeFile(join(this.dataDir, 'pg_ident.conf'), '');
    await rm(join(this.dataDir, 'standby.signal'), { force: true });
    if (of !== null) await writeFile(join(this.dataDir, 'standby.signal'), '');
    await this.launch();
  }

  private async launch(): Promise<void> {
    const user = await chooseLaunchUser();
    await handOver(user, this.directory);
    const launch = launchAs(user, this.binaries.postgres, ['-D', this.dataDir]);
    const log = openSync(join(this.directory, 'postgres.log'), 'a', 0o600);
    const child = spawn(launch.command, [...launch.args], {
      ...launch.ids,
      cwd: this.dataDir,
      stdio: ['ignore', log, log],
      env: { ...process.env, ...this.binaries.env, LC_ALL: 'C', TZ: 'UTC' },
    });
    this.process = child;
    const deadline = performance.now() + 60_000;
    for (;;) {
      if (child.exitCode !== null || child.signalCode !== null || performance.now() > deadline) {
        throw new Error(`PostgreSQL did not start: ${this.logTail()}`);
      }
      const client = await connectAs(this.socketDir, 'postgres', 'postgres').catch(() => null);
      if (client !== null) return client.end();
      await sleep(20);
    }
  }

  logTail(): string {
    return readFileSync(join(this.directory, 'postgres.log'), 'utf8').slice(-2_000);
  }

  /** `fast`: with a checkpoint. `immediate`: as after a crash. */
  async stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    const child = this.process;
    this.process = null;
    this.clients.clear();
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await ended;
  }

  /** Closed when this PostgreSQL is stopped. */
  async client(database = 'postgres'): Promise<Client> {
    const client = await connectAs(this.socketDir, 'postgres', database);
    this.clients.add(client);
    return client;
  }

  async query<Row extends object>(sql: string, database = 'postgres'): Promise<Row[]> {
    const client = await connectAs(this.socketDir, 'postgres', database);
    try {
      const result = await client.query<Row>(sql);
      // Of several statements, the last one's.
      return (Array.isArray(result) ? (result.at(-1) as typeof result) : result).rows;
    } finally {
      await client.end();
    }
  }

  async value(sql: string, database = 'postgres'): Promise<string> {
    const rows = await this.query<Record<string, unknown>>(sql, database);
    return String(Object.values(rows[0] ?? {})[0]);
  }

  async isStandby(): Promise<boolean> {
    return (await this.value('SELECT pg_is_in_recovery()')) === 'true';
  }

  /** What this one has made durable, as a position. */
  async position(): Promise<WalPosition> {
    const end = (await this.isStandby())
      ? `SELECT greatest(pg_last_wal_replay_lsn(), (SELECT flushed_lsn FROM pg_stat_wal_receiver))`
      : 'SELECT pg_current_wal_flush_lsn()';
    return this.positionAt(parseLsn(await this.value(end)));
  }

  /** With the timelines that it knows. */
  async positionAt(end: Lsn): Promise<WalPosition> {
    const timeline = Number(
      await this.value(
        'SELECT greatest((SELECT timeline_id FROM pg_control_checkpoint()), (SELECT received_tli FROM pg_stat_wal_receiver), ' +
          "(SELECT max(('x' || left(name, 8))::bit(32)::int) FROM pg_ls_waldir() WHERE name LIKE '%.history'))",
      ),
    ) as Timeline;
    const { system } = readControlFacts(await readFile(join(this.dataDir, 'global', 'pg_control')));
    const forks = await this.forks(timeline);
    return {
      ...positionNone,
      slot: 7 as Slot,
      leadership: ballot,
      newestStart: ballot,
      timeline,
      end,
      system,
      forks,
    };
  }

  private async forks(timeline: Timeline): Promise<TimelineFork[]> {
    if (timeline === 1) return [];
    const text = await readFile(join(this.dataDir, 'pg_wal', historyName(timeline)), 'utf8');
    return text
      .split('\n')
      .filter((line) => /^\d/.test(line))
      .map((line) => line.split('\t'))
      .map(([before = '', at = '']) => ({ timeline: (Number(before) + 1) as Timeline, at: parseLsn(at) }));
  }

  /** Where the newest timeline begins. */
  async forkedAt(): Promise<Lsn> {
    return (await this.position()).forks.at(-1)?.at ?? lsnNone;
  }

  async set(setting: string, value: string): Promise<void> {
    await this.query(`ALTER SYSTEM SET ${setting} = '${value}'`);
    await this.query('SELECT pg_reload_conf()');
  }

  /** A standby receives nothing more. */
  async cutOff(): Promise<void> {
    await this.set('primary_conninfo', '');
    while ((await this.value('SELECT count(*) FROM pg_stat_wal_receiver')) !== '0') await sleep(20);
  }

  async promote(): Promise<void> {
    await this.query('SELECT pg_promote(true)');
  }

  /** Until it has replayed what the other one has written by now. */
  async caughtUp(primary: PlainPostgres): Promise<void> {
    await this.replayedUntil(`'${await primary.value('SELECT pg_current_wal_flush_lsn()')}'`);
  }

  /** Until it has replayed what it has received; for behind its primary's end. */
  async replayedAll(): Promise<void> {
    await this.replayedUntil('pg_last_wal_receive_lsn()');
  }

  private async replayedUntil(target: string): Promise<void> {
    const deadline = performance.now() + 60_000;
    while ((await this.value(`SELECT pg_last_wal_replay_lsn() >= ${target}`)) !== 'true') {
      if (performance.now() > deadline) throw new Error(`the standby does not catch up: ${this.logTail()}`);
      await sleep(20);
    }
  }

  async pgbench(...args: readonly string[]): Promise<void> {
    await run('pgbench', [
      '-h',
      this.socketDir,
      '-p',
      String(socketPort),
      '-U',
      'postgres',
      ...args,
      'postgres',
    ]);
  }
}
