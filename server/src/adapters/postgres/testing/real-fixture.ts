/** A PostgreSQL of its own for the contract of the database ports. */
import { execFile } from 'node:child_process';
import { access, cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Client } from 'pg';
import { historyName, walPageBytes, type Timeline } from '../../../wal/lsn.ts';
import type { DatabaseDirectory } from '../../../ports/database-directory.ts';
import type { DatabaseFixture, TestSession } from '../../../ports/testing/database-fixture.ts';
import { systemClock } from '../../system-clock.ts';
import type { PgBinaries } from '../binaries.ts';
import { openDatabaseDirectory, placesOf, type Places } from '../database-directory.ts';
import { createDatabaseServer, type PostgresDatabaseServer } from '../database-server.ts';
import { chooseLaunchUser, launchAs } from '../launch-user.ts';
import { handOver } from '../owners.ts';
import { quoteLiteral } from '../pg-client.ts';
import { connectAs } from './test-instance.ts';

const run = promisify(execFile);
const cluster = 'contract';

export async function openRealFixture(
  binaries: PgBinaries,
  settings: Readonly<Record<string, string>> = {},
): Promise<RealFixture> {
  const root = await mkdtemp(join(tmpdir(), 'barista-contract-'));
  const places = placesOf(root);
  const server = await createDatabaseServer({
    directory: places.postgres,
    binaries,
    settings,
    connectionsMax: 30,
    gatherMs: 0,
  });
  const directory = openDatabaseDirectory({ places, cluster, binaries, onSetAside: () => undefined });
  const resetWal = join(dirname(binaries.postgres), 'pg_resetwal');
  const canReset = await access(resetWal).then(
    () => true,
    () => false,
  );
  return new RealFixture({ root, places, binaries, server, directory, resetWal: canReset ? resetWal : null });
}

interface Parts {
  readonly root: string;
  readonly places: Places;
  readonly binaries: PgBinaries;
  readonly server: PostgresDatabaseServer;
  readonly directory: DatabaseDirectory;
  readonly resetWal: string | null;
}

export class RealFixture implements DatabaseFixture {
  readonly timers = systemClock;
  readonly server: PostgresDatabaseServer;
  readonly directory: DatabaseDirectory;
  readonly raiseXid: DatabaseFixture['raiseXid'];
  private readonly parts: Parts;

  constructor(parts: Parts) {
    this.parts = parts;
    this.server = parts.server;
    this.directory = parts.directory;
    const { resetWal } = parts;
    this.raiseXid = resetWal === null ? null : (xid) => this.resetEpoch(resetWal, xid);
  }

  /** Of an id only what lies above its lower 32 bits can be set without more ado. */
  private async resetEpoch(program: string, xid: bigint): Promise<void> {
    const { places, binaries } = this.parts;
    const epoch = String(xid / 2n ** 32n);
    const { command, args, ids } = launchAs(await chooseLaunchUser(), program, ['-e', epoch, places.data]);
    await run(command, [...args], { ...ids, env: { ...process.env, ...binaries.env } });
  }

  private client(): Promise<Client> {
    return connectAs(this.server.instance.socketDir, 'postgres', 'postgres');
  }

  private async ask(sql: string): Promise<void> {
    const client = await this.client();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  }

  makeTable(): Promise<void> {
    return this.ask('SET synchronous_commit = local; CREATE TABLE value (id bigserial, text text)');
  }

  async connect(): Promise<TestSession> {
    return sessionOn(await this.client());
  }

  async waiting(): Promise<readonly number[]> {
    const client = await this.client();
    const { rows } = await client
      .query<{ pid: number }>("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
      .finally(() => void client.end());
    return rows.map(({ pid }) => pid);
  }

  cancel(pid: number): Promise<void> {
    return this.ask(`SELECT pg_cancel_backend(${pid})`);
  }

  terminate(pid: number): Promise<void> {
    return this.ask(`SELECT pg_terminate_backend(${pid})`);
  }

  private signal(name: NodeJS.Signals): void {
    const { pid } = this.server.info();
    if (pid !== null) process.kill(pid, name);
  }

  killMain(): void {
    this.signal('SIGKILL');
  }

  stand(): void {
    this.signal('SIGSTOP');
  }

  goOn(): void {
    this.signal('SIGCONT');
  }

  readonly switchSegment = (): Promise<void> => this.ask('SELECT pg_switch_wal()');

  async beginPromotion(timeline: Timeline, history: string): Promise<void> {
    const path = join(this.parts.places.data, 'pg_wal', historyName(timeline));
    await writeFile(path, history, { mode: 0o600 });
    await handOver(await chooseLaunchUser(), path);
  }

  async clone(settings: Readonly<Record<string, string>> = {}): Promise<RealFixture> {
    const { places, binaries } = this.parts;
    const copy = await openRealFixture(binaries, settings);
    for (const name of ['data', 'cluster', 'state.json']) {
      await cp(join(places.postgres, name), join(copy.parts.places.postgres, name), { recursive: true });
    }
    return copy;
  }

  async dispose(): Promise<void> {
    await this.server.stop('kill');
    await this.server.close();
    await rm(this.parts.root, { recursive: true, force: true });
  }
}

async function sessionOn(client: Client): Promise<TestSession> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  let isOpen = false;
  async function end(sql: string): Promise<void> {
    isOpen = false;
    await client.query(sql);
  }
  return {
    pid: rows[0]!.pid,
    async put(value) {
      if (!isOpen) await client.query('BEGIN');
      isOpen = true;
      // A row is compressed, or cut into pieces: this is one long record.
      if (value.length > walPageBytes)
        await client.query("SELECT pg_logical_emit_message(true, 'test', $1::text)", [value]);
      await client.query('INSERT INTO value (text) VALUES ($1)', [value]);
    },
    async xid() {
      const found = await client.query<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid');
      return BigInt(found.rows[0]!.xid);
    },
    commit: () => end('COMMIT'),
    rollback: () => end('ROLLBACK'),
    prepare: (name) => end(`PREPARE TRANSACTION ${quoteLiteral(name)}`),
    commitPrepared: (name) => end(`COMMIT PREPARED ${quoteLiteral(name)}`),
    distrust: () => end('SET synchronous_commit = local'),
    async values() {
      const found = await client.query<{ text: string }>('SELECT text FROM value ORDER BY id');
      return found.rows.map(({ text }) => text);
    },
    close: () => void client.end().catch(() => undefined),
  };
}
