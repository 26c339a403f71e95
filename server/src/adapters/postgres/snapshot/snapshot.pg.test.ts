import { mkdtemp, rm } from 'node:fs/promises';
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
import { installSnapshot } from './directories.ts';
import { receiveSnapshot } from './receive-snapshot.ts';
import { createSnapshotSource } from './snapshot-source.ts';

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
      await sleep(number * 3);
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

async function copy(server: PostgresServer, name: string): Promise<{ directory: string; bytes: number[] }> {
  const { stream, bytesTotal } = await createSnapshotSource(server, unbounded).open();
  expect(bytesTotal).toBeGreaterThan(10_000_000);
  const incoming = join(root, `${name}-incoming`);
  const bytes: number[] = [];
  const { majorVersion } = server;
  await receiveSnapshot({ stream, directory: incoming, majorVersion, onProgress: (n) => bytes.push(n) });
  const directory = join(root, name);
  expect(await installSnapshot({ incoming, dataDirectory: directory })).toEqual({
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
    await database.apply(toSlots(pair.log, at.pointer), keepAt(pair.log.length + 1));
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
});

it('a copy of a follower that is applying, with the log from its pointer, is the same database', async () => {
  const load = underLoad(4);
  await sleep(300);
  await load.stop();
  const applying = pair.replicate(2);
  const { directory } = await copy(pair.follower, 'of-follower');
  await applying;
  const server = await startPostgres({ directory, binaries: await testBinaries() });
  try {
    const database = createDatabase(server);
    const { pointer } = await database.applicationPointer();
    expect(pointer).toBeGreaterThan(0);
    await database.apply(toSlots(pair.log, pointer), keepAt(pair.log.length + 1));
    expect(await comparableDump(server, 'barista')).toEqual(await comparableDump(pair.leader, 'barista'));
  } finally {
    await server.stop();
  }
});
