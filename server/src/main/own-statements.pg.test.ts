/** Every statement of Barista's own, as PostgreSQL has it in its log, beside what a hostile client can make: while a group does all that it ever does. */
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkRelations, installAmcheck } from '../adapters/postgres/backup/check-database.ts';
import { testRestore } from '../adapters/postgres/backup/restore-test.ts';
import { connectPg } from '../adapters/postgres/pg-client.ts';
import { lookAtCommits } from '../adapters/postgres/requests/look-at-commits.ts';
import { testBinaries } from '../adapters/postgres/testing/test-instance.ts';
import { unqualifiedNames } from '../adapters/postgres/testing/unqualified-names.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import { createActivityReader } from '../demo/activity.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { foundReplica, restoreReplica } from './found-replica.ts';
import { inspectedPostgres } from './inspected-postgres.ts';
import { RealGroup } from './testing/real-group.ts';
import { backupAt, unobserved } from './testing/restoring.ts';
import {
  isStatement,
  loggedMessages,
  recordingSettings,
  statementsIn,
  type LoggedMessage,
} from './testing/server-log.ts';
import { hostileDefaults, shadowCalled, shadowStatements } from './testing/shadows.ts';

const ids = ['r1', 'r2'];
let root = '';
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'barista-own-'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** In the file, too, and with it in the sessions of all. */
const hostileFile = {
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  bytea_output: 'escape',
  client_min_messages: 'debug1',
};

/** Of the test itself: a session of the superuser that PostgreSQL does not record. */
const unrecorded = 'SET log_statement = none';

async function inside(
  group: RealGroup,
  id: string,
  work: (client: Client) => Promise<void>,
  database?: string,
): Promise<void> {
  await group.inside(
    id,
    async (client) => {
      await client.query(unrecorded);
      await client.query(
        "SET default_transaction_isolation = 'read committed'; SET synchronous_commit = local",
      );
      await work(client);
    },
    database,
  );
}

/** Makes a database of a client's, whose sessions begin with everything that does harm. */
async function makeTraps(group: RealGroup, id: string, isPrepared: boolean): Promise<void> {
  await inside(group, id, async (superuser) => {
    await superuser.query('CREATE ROLE evil_role');
    await superuser.query('CREATE DATABASE theirs OWNER barista TEMPLATE template0');
    await superuser.query("CREATE DATABASE mule ENCODING 'MULE_INTERNAL' LOCALE 'C' TEMPLATE template0");
    await superuser.query("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
  });
  await inside(
    group,
    id,
    async (client) => {
      await client.query('SET SESSION AUTHORIZATION barista');
      for (const statement of shadowStatements) await client.query(statement);
      const { rows } = await client.query<{ made: number[] }>(
        `SELECT ARRAY[(SELECT count(*) FROM pg_proc WHERE pronamespace = 'evil'::regnamespace),
           (SELECT count(*) FROM pg_operator WHERE oprnamespace = 'evil'::regnamespace),
           (SELECT count(*) FROM pg_class WHERE relnamespace = 'evil'::regnamespace AND relkind = 'v'),
           (SELECT count(*) FROM pg_type WHERE typnamespace = 'evil'::regnamespace AND typtype = 'd')]::int[] AS made`,
      );
      const [functions, operators, views, types] = rows[0]!.made;
      expect(functions).toBeGreaterThan(2500);
      expect(operators).toBeGreaterThan(700);
      expect(views).toBeGreaterThan(100);
      expect(types).toBeGreaterThan(30);
      await client.query(
        'CREATE TABLE public.t (id serial PRIMARY KEY); INSERT INTO public.t DEFAULT VALUES',
      );
      if (!isPrepared) return;
      await client.query('BEGIN ISOLATION LEVEL SERIALIZABLE; INSERT INTO public.t DEFAULT VALUES');
      await client.query("PREPARE TRANSACTION 'held'");
    },
    'theirs',
  );
  await inside(group, id, async (superuser) => {
    for (const statement of hostileDefaults('theirs')) await superuser.query(statement);
  });
}

/** Each statement of the superuser's that looks anything up by the search path, and each shadow that was called in its name. */
async function judge(messages: readonly LoggedMessage[]): Promise<string[]> {
  const own = messages.filter(({ user }) => user === 'postgres');
  const wrong = own
    .filter(({ text }) => text.includes(shadowCalled))
    .map(({ text, database }) => `${database}: ${text}`);
  for (const statement of statementsIn(own).filter((text) => text !== unrecorded)) {
    const names = await unqualifiedNames(statement).catch((error: unknown) => [String(error)]);
    if (names.length > 0) wrong.push(`${statement}\n   ${[...new Set(names)].join(', ')}`);
  }
  return wrong;
}

/** The logs of replicas, as they are gathered before a directory goes. */
class Recorder {
  private readonly messages: LoggedMessage[] = [];

  gather(group: RealGroup): void {
    for (const id of group.ids) this.messages.push(...loggedMessages(group.configOf(id).dataDir));
  }

  judge(): Promise<string[]> {
    return judge(this.messages);
  }

  /** In which databases statements of Barista's own were recorded. */
  databases(): readonly string[] {
    const own = this.messages.filter(({ user, text }) => user === 'postgres' && isStatement(text));
    return [...new Set(own.map(({ database }) => database))].toSorted();
  }
}

/** What people see of a replica. */
async function look(group: RealGroup, id: string): Promise<void> {
  const { socketDir } = group.statusOf(id).postgres;
  const shown = inspectedPostgres(socketDir, true);
  await shown.look();
  const file = { tablespace: 1663, database: 5, relation: 1259 };
  await shown.names([file]);
  shown.close();
  const reader = createActivityReader();
  if (id === group.leader()) await reader.countStatements(group.configOf(id).dataDir);
  await reader.read(group.configOf(id).dataDir);
}

describe('payload wal', () => {
  let group: RealGroup;
  let young: RealGroup;
  const recorder = new Recorder();
  const settings = { ...recordingSettings, ...hostileFile };
  const changes = { postgres: { settings } } satisfies Partial<ReplicaConfig>;
  const file = (): string => join(root, 'backup');

  beforeAll(async () => {
    group = await RealGroup.in(join(root, 'wal'), ids);
    young = await RealGroup.in(join(root, 'young'), ['r1']);
    await foundReplica(group.configOf('r1'));
    for (const id of ids) await group.start(id, changes);
    await group.healthy();
    await makeTraps(group, group.leader()!, true);
  });
  afterAll(async () => {
    await group.stopAll();
    await young.stopAll();
  });

  it('a comparison says what it has not compared', async () => {
    const result = await group.askLeader((admin) => admin.verify({ repair: false }));
    expect(result.replicas.map(({ outcome }) => outcome)).toEqual(['equal', 'equal']);
    expect(result.advice).toEqual([]);
  });

  it('a backup is tested whatever is in it', async () => {
    const taken = await group.adminOf(group.leader()!).backup();
    if (!taken.ok) throw new Error(taken.error.message);
    await pipeline(taken.answer, createWriteStream(file()));
    const binaries = await testBinaries();
    const report = await testRestore({
      file: file(),
      directory: join(root, 'tested'),
      binaries,
      archive: null,
    });
    expect(report).toMatchObject({ complaints: [], amcheck: true });
    // What it does there is recorded here.
    const { postgres } = group.statusOf(group.leader()!);
    expect(await installAmcheck(postgres)).toBe(true);
    expect(await checkRelations(postgres)).toEqual([]);
  });

  it('leadership is handed over, and a lost database is copied', async () => {
    for (const id of ids) await look(group, id);
    const [follower] = group.followers();
    await group.askLeader((admin) =>
      admin.transferLeadership({ to: follower as ReplicaId, transactionMs: 1000 }),
    );
    await group.healthy();
    const leader = group.leader()!;
    const named = ["SET barista.request_id = 'once'", 'INSERT INTO t DEFAULT VALUES'].join('; ');
    await group.sql(
      `SET default_transaction_isolation = 'read committed'; CREATE TABLE IF NOT EXISTS t (id serial)`,
    );
    await group.sql(named);
    const other = group.followers()[0]!;
    const { postgres } = group.statusOf(leader);
    const client = await connectPg({ socketDir: postgres.socketDir, database: 'theirs', silentMsMax: null });
    await client.query("ROLLBACK PREPARED 'held'");
    await client.end();
    expect(await lookAtCommits(postgres)(true)).toMatchObject({ code: 'weakened' });
    await group.stop(other);
    recorder.gather(group);
    rmSync(join(group.configOf(other).dataDir, 'postgres'), { recursive: true });
    await group.start(other, changes);
    await group.healthy();
  });

  it('a backup is restored', async () => {
    await restoreReplica(young.configOf('r1'), backupAt(file()), unobserved);
    await young.start('r1', changes);
    await young.healthy();
    expect(await young.sql('SELECT 1')).toEqual([['1']]);
    recorder.gather(young);
  });

  it('no shadow is called, and no name is looked up by the search path', async () => {
    recorder.gather(group);
    expect(await recorder.judge()).toEqual([]);
    expect(recorder.databases()).toEqual(expect.arrayContaining(['latin', 'mule', 'postgres', 'theirs']));
  });
});

describe('payload statements', () => {
  let group: RealGroup;
  const recorder = new Recorder();
  const changes = {
    payload: 'statements',
    postgres: { settings: { ...recordingSettings } },
  } satisfies Partial<ReplicaConfig>;

  beforeAll(async () => {
    group = await RealGroup.in(join(root, 'statements'), ids);
    await foundReplica({ ...group.configOf('r1'), ...changes });
    for (const id of ids) await group.start(id, changes);
    await group.healthy();
    for (const id of ids) await makeTraps(group, id, false);
  });
  afterAll(() => group.stopAll());

  it('statements are executed, compared, and executed again after a restart', async () => {
    await group.sql('CREATE TABLE t (id serial PRIMARY KEY, name text)');
    await group.sql("INSERT INTO t (name) VALUES ('a')");
    for (const id of ids) {
      await group.stop(id);
      await group.start(id, changes);
      await group.healthy();
    }
    await group.sql("INSERT INTO t (name) VALUES ('b')");
    const other = group.followers()[0]!;
    await group.stop(other);
    recorder.gather(group);
    rmSync(join(group.configOf(other).dataDir, 'postgres'), { recursive: true });
    await group.start(other, changes);
    await group.healthy();
    expect(await group.sql('SELECT name FROM t ORDER BY id')).toEqual([['a'], ['b']]);
  });

  it('no shadow is called, and no name is looked up by the search path', async () => {
    recorder.gather(group);
    expect(await recorder.judge()).toEqual([]);
    expect(recorder.databases()).toEqual(expect.arrayContaining(['latin', 'mule', 'postgres', 'theirs']));
  });
});
