import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { comparableDump, sequencePositions } from '../../../../../harness/checkers/database-compare.ts';
import type { Configuration, Slot } from '../../../multipaxos/types.ts';
import { createDatabase } from '../database.ts';
import { connectPg } from '../pg-client.ts';
import { startPostgres } from '../postgres-server.ts';
import type { PostgresServer } from '../postgres-server.ts';
import { createSessionSql } from '../session-sql.ts';
import { keepAt, startPair, testBinaries, toSlots } from '../testing/replicated-pair.ts';
import type { ReplicatedPair } from '../testing/replicated-pair.ts';
import { readBackup, writeBackup } from './backup.ts';
import { inspectIncoming, installSnapshot } from './directories.ts';
import { receiveSnapshot } from './receive-snapshot.ts';
import { createSnapshotSource } from './snapshot-source.ts';
import { owner } from './testing/small-copy.ts';

let pair: ReplicatedPair;
let root: string;
const configuration: Configuration = { version: 7, slot: 1 as Slot, members: [] };
const unbounded = { bytesPerSecondMax: () => null };

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-copy-'));
  pair = await startPair();
  await pair.run(
    'CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL)',
    'CREATE TABLE history (n serial PRIMARY KEY, account int, delta int, at timestamptz DEFAULT now())',
    'INSERT INTO account SELECT i, 0 FROM generate_series(1, 20000) i',
  );
});
afterAll(async () => {
  await pair.stop();
  await rm(root, { recursive: true, force: true });
});

/** Sessions that commit one after the other until they are told to stop. */
function underLoad(sessions: number): { stop(): Promise<void> } {
  const load = { stopped: false };
  const run = async (number: number): Promise<void> => {
    const client = await pair.session();
    for (let i = 0; !load.stopped; i += 1) {
      const account = ((i * 37 + number * 1_000) % 2_000) + 1_000 * number;
      await client.query('BEGIN');
      await client.query(`UPDATE account SET balance = balance + ${i} WHERE id = ${account}`);
      await client.query(`INSERT INTO history (account, delta) VALUES (${account}, ${i})`);
      const { slot } = await pair.agree(client);
      await sleep(5 + number * 3);
      await pair.finish(client, slot);
    }
  };
  const all = Array.from({ length: sessions }, (_, number) => run(number));
  return {
    async stop() {
      load.stopped = true;
      await Promise.all(all);
    },
  };
}

async function leaveWalBehind(server: PostgresServer): Promise<void> {
  const client = await connectPg(server);
  for (let i = 0; i < 3; i += 1) {
    await client.query('CREATE TABLE _barista.some_wal (); DROP TABLE _barista.some_wal');
    await client.query('SELECT pg_switch_wal()');
    await client.query('CHECKPOINT');
  }
  await client.end();
}

async function copy(server: PostgresServer, name: string): Promise<{ directory: string; bytes: number[] }> {
  const { stream, bytesTotal } = await createSnapshotSource(server, unbounded).open();
  // The WAL that the copy began with is of no more use to PostgreSQL itself, long before the copy ends.
  await leaveWalBehind(server);
  expect(bytesTotal).toBeGreaterThan(10_000_000);
  const incoming = join(root, `${name}-incoming`);
  const bytes: number[] = [];
  const { majorVersion } = server;
  await receiveSnapshot({
    stream,
    directory: incoming,
    majorVersion,
    owner,
    onProgress: (n) => bytes.push(n),
  });
  const directory = join(root, name);
  expect(await installSnapshot({ incoming, dataDirectory: directory, owner })).toEqual({
    setAside: null,
    removed: [],
  });
  // The estimate is one of the database without its WAL.
  expect(bytes.at(-1)).toBeGreaterThan((bytesTotal ?? 0) * 0.9);
  return { directory, bytes };
}

it('a copy of a leader that commits out of slot order, with the log from its pointer, is the same database', async () => {
  const first = pair.log.length;
  await pair.leaderDatabase.movePointer(first as Slot, keepAt(first + 1, configuration));
  // Chosen, and not committed until the copy is made.
  const slow = await pair.session();
  await slow.query('BEGIN');
  await slow.query('INSERT INTO history (account, delta) VALUES (0, 12345)');
  const held = await pair.agree(slow);
  const load = underLoad(6);
  const sql = createSessionSql(pair.leader);
  const prepared = await pair.session();
  await prepared.query('BEGIN ISOLATION LEVEL SERIALIZABLE');
  await prepared.query('UPDATE account SET balance = -1 WHERE id = 19999');
  await prepared.query(sql.harvest, [sql.secret]);
  await prepared.query(sql.recordTransaction, [sql.secret, 'unknown yet']);
  await prepared.query("PREPARE TRANSACTION 'unknown yet'");
  await sleep(300);
  const { directory, bytes } = await copy(pair.leader, 'of-leader');
  await load.stop();
  await pair.finish(slow, held.slot);
  await prepared.query("ROLLBACK PREPARED 'unknown yet'");
  expect(bytes.every((n, i) => n > (bytes[i - 1] ?? 0))).toBe(true);

  const server = await startPostgres({ directory, binaries: await testBinaries() });
  try {
    const database = createDatabase(server);
    await database.endSessions();
    const at = await database.applicationPointer();
    expect(at.pointer).toBe(first);
    expect(at.above.length).toBeGreaterThan(5);
    expect(at.above).not.toContain(held.slot);
    expect(at.keep).toEqual(keepAt(first + 1, configuration));
    const newer = keepAt(pair.log.length + 1, { ...configuration, version: 8 });
    await database.apply(toSlots(pair.log, at.pointer), newer);
    expect((await database.applicationPointer()).keep).toEqual(newer);
    expect(await comparableDump(server, 'barista')).toEqual(await comparableDump(pair.leader, 'barista'));
    await pair.replicate();
    expect(await sequencePositions(server, 'barista')).toEqual(
      await sequencePositions(pair.follower, 'barista'),
    );
    const client = await connectPg({ ...server, user: 'barista', password: 'barista' });
    expect((await client.query('SELECT FROM account WHERE balance = -1')).rowCount).toBe(0);
    await client.end();
    expect(await database.flush()).toBe(pair.log.length);
  } finally {
    await server.stop();
  }
}, 180_000);

it('a backup of a follower that is applying, restored, with the log from its pointer, is the same database', async () => {
  const load = underLoad(4);
  await sleep(300);
  await load.stop();
  const applying = pair.replicate(2);
  const out = join(root, 'backup');
  const { majorVersion, version: postgresVersion } = pair.follower;
  const at = await pair.followerDatabase.applicationPointer();
  const header = { group: 'main', cluster: 'c1', pointerAtLeast: at.pointer, configuration, postgresVersion };
  const source = createSnapshotSource(pair.follower, unbounded);
  const written = await writeBackup({ source, out, header });
  await applying;
  expect((await stat(out)).size).toBe(written.bytes);
  const incoming = join(root, 'incoming');
  const directory = join(root, 'of-follower');
  expect(await readBackup({ file: out, directory: incoming, majorVersion, owner })).toMatchObject(header);
  await installSnapshot({ incoming, dataDirectory: directory, owner });
  const server = await startPostgres({ directory, binaries: await testBinaries() });
  try {
    const database = createDatabase(server);
    const { pointer } = await database.applicationPointer();
    expect(pointer).toBeGreaterThanOrEqual(at.pointer);
    await database.apply(toSlots(pair.log, pointer), keepAt(pair.log.length + 1));
    expect(await comparableDump(server, 'barista')).toEqual(await comparableDump(pair.leader, 'barista'));
  } finally {
    await server.stop();
  }
}, 180_000);

/** Connections that send copies, and slots that keep WAL for them. */
async function copiesUnderWay(server: PostgresServer): Promise<number> {
  const client = await connectPg(server);
  const result = await client.query<{ n: number }>(
    `SELECT ((SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'walsender')
       + (SELECT count(*) FROM pg_replication_slots))::int AS n`,
  );
  await client.end();
  return result.rows[0]?.n ?? -1;
}

it('a copy waits for its reader, holds to its rate, and ends when its reader goes; two at a time', async () => {
  const source = createSnapshotSource(pair.leader, { bytesPerSecondMax: () => 4_000_000 });
  const [idle, slow] = await Promise.all([source.open(), source.open()]);
  await expect(source.open()).rejects.toMatchObject({ code: 'sourceBusy' });
  let bytes = 0;
  const begunMs = performance.now();
  for await (const chunk of slow.stream) {
    bytes += (chunk as Buffer).length;
    if (performance.now() - begunMs > 1_000) break;
  }
  const perSecond = (bytes * 1_000) / (performance.now() - begunMs);
  expect(perSecond).toBeGreaterThan(1_000_000);
  expect(perSecond).toBeLessThan(6_000_000);
  // Nobody reads this one: PostgreSQL waits with it.
  expect(idle.stream.readableLength).toBeLessThan(1_000_000);
  expect(await copiesUnderWay(pair.leader)).toBeGreaterThanOrEqual(2);
  idle.stream.destroy();
  const deadline = performance.now() + 10_000;
  while ((await copiesUnderWay(pair.leader)) > 0 && performance.now() < deadline) await sleep(50);
  expect(await copiesUnderWay(pair.leader)).toBe(0);
  const again = await source.open();
  again.stream.destroy();
});

it('a PostgreSQL that dies ends the copy in an error, and one that is away cannot be copied', async () => {
  const { stream } = await createSnapshotSource(pair.follower, { bytesPerSecondMax: () => 1_000_000 }).open();
  const incoming = join(root, 'dying-incoming');
  const { majorVersion } = pair.follower;
  const received = receiveSnapshot({ stream, directory: incoming, majorVersion, owner }).catch(
    (error: unknown) => error,
  );
  await sleep(200);
  await pair.follower.stop(0);
  expect(await received).toMatchObject({ name: 'SnapshotError', code: 'transferFailed' });
  expect(await inspectIncoming(incoming)).toBe('none');
  await expect(createSnapshotSource(pair.follower, unbounded).open()).rejects.toMatchObject({
    code: 'sourceUnavailable',
  });
});
