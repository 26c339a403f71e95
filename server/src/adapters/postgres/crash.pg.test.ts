import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { comparableDump } from '../../../../harness/checkers/database-compare.ts';
import type { Slot } from '../../multipaxos/types.ts';
import { DatabaseError } from '../../ports/database.ts';
import { createDatabase } from './database.ts';
import { connectPg } from './pg-client.ts';
import { startPostgres } from './postgres-server.ts';
import type { PostgresServer } from './postgres-server.ts';
import { createSessionSql } from './session-sql.ts';
import { keepAt, startPair, testBinaries, toSlots } from './testing/replicated-pair.ts';
import type { ReplicatedPair } from './testing/replicated-pair.ts';

const slots = 400;
let pair: ReplicatedPair;
let root: string;

/** Replayable: BARISTA_SEED=n repeats the same moments, as far as the machine does. */
const seed = Number(process.env['BARISTA_SEED'] ?? Math.floor(Math.random() * 1e9));
let state = seed;
const random = (): number => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-crash-'));
  pair = await startPair();
  await pair.run(
    'CREATE TABLE counter (id int PRIMARY KEY, n int)',
    'INSERT INTO counter VALUES (1, 0)',
    'CREATE TABLE steps (slot serial, note text)',
  );
  // Each slot adds one row and one to the counter, so what is in can be told from the data alone.
  while (pair.log.length < slots) {
    await pair.run('UPDATE counter SET n = n + 1', "INSERT INTO steps (note) VALUES ('x')");
  }
});
afterAll(async () => {
  await pair.stop();
  await rm(root, { recursive: true, force: true });
});

async function killPostgres(server: PostgresServer): Promise<void> {
  const pid = server.pid();
  if (pid === null) return;
  const gone = new Promise<void>((resolve) => {
    const stopListening = server.onExit(() => {
      stopListening();
      resolve();
    });
  });
  process.kill(pid, 'SIGKILL');
  await gone;
}

async function dataAndPointer(
  server: PostgresServer,
): Promise<{ n: number; steps: number; pointer: number }> {
  const client = await connectPg(server);
  try {
    const table = await client.query("SELECT to_regclass('counter') AS t");
    const data =
      (table.rows[0] as { t: unknown }).t === null
        ? '0 AS n, 0 AS steps'
        : '(SELECT n FROM counter) AS n, (SELECT count(*)::int FROM steps) AS steps';
    const result = await client.query<{ n: number; steps: number; pointer: number }>(
      `SELECT ${data}, slot::int AS pointer FROM _barista.pointer`,
    );
    return result.rows[0] ?? { n: -1, steps: -1, pointer: -1 };
  } finally {
    await client.end();
  }
}

it(`kill -9 of PostgreSQL at random moments: the pointer always matches the data (seed ${seed})`, async () => {
  const server = await startPostgres({ directory: join(root, 'follower'), binaries: await testBinaries() });
  const database = createDatabase(server);
  let durable = 0;
  let kills = 0;
  try {
    for (;;) {
      const at = (await database.applicationPointer()).pointer as number;
      const found = await dataAndPointer(server);
      // Slot 1 made the tables; each later one counts.
      expect(found).toEqual({ n: Math.max(0, at - 1), steps: Math.max(0, at - 1), pointer: at });
      expect(at).toBeGreaterThanOrEqual(durable);
      if (at === slots) break;
      const killAfterMs = kills < 8 ? 5 + random() * 250 : null;
      const kill =
        killAfterMs === null
          ? null
          : new Promise((resolve) => setTimeout(resolve, killAfterMs)).then(() => killPostgres(server));
      try {
        let from = at;
        while (from < slots) {
          const to = Math.min(slots, from + 1 + Math.floor(random() * 20));
          await database.apply(toSlots(pair.log.slice(0, to), from), keepAt(to + 1));
          from = to;
          if (random() < 0.2) durable = await database.flush();
        }
      } catch (error) {
        if (!(error instanceof DatabaseError) || error.code !== 'databaseDown') throw error;
      }
      if (kill === null) continue;
      await kill;
      kills += 1;
      await server.restart();
    }
    expect(kills).toBeGreaterThan(0);
    expect(await comparableDump(server, 'barista')).toEqual(await comparableDump(pair.leader, 'barista'));
  } finally {
    await server.stop();
  }
}, 240_000);

it('a leader that dies after commits out of slot order remembers exactly those, and replay adds the others', async () => {
  const server = await startPostgres({ directory: join(root, 'leader'), binaries: await testBinaries() });
  const database = createDatabase(server);
  const sql = createSessionSql(server);
  try {
    await database.apply(toSlots(pair.log.slice(0, 1), 0), keepAt(2));
    const client = await connectPg({ ...server, user: 'barista', password: 'barista' });
    for (const slot of [3, 5]) {
      await client.query('BEGIN');
      await client.query('UPDATE counter SET n = n + 1');
      await client.query("INSERT INTO steps (note) VALUES ('x')");
      await client.query(sql.harvest, [sql.secret]);
      await client.query(sql.recordSlot, [sql.secret, String(slot)]);
      await client.query('COMMIT');
    }
    await client.query('BEGIN');
    await client.query('UPDATE counter SET n = n + 1000');
    expect(await database.applicationPointer()).toEqual({
      pointer: 1,
      above: [3, 5],
      aboveTransactions: [],
      keep: keepAt(2),
    });
    await database.flush();
    await killPostgres(server);
    await client.end().catch(() => undefined);
    await server.restart();
    expect(await database.applicationPointer()).toEqual({
      pointer: 1,
      above: [3, 5],
      aboveTransactions: [],
      keep: keepAt(2),
    });
    await database.endSessions();
    // Slots 3 and 5 are in: of 2 to 5, two more are applied. (They are alike here, so the data cannot tell which.)
    const [second, third, fourth, fifth] = toSlots(pair.log.slice(0, 5), 1);
    if (!second || !third || !fourth || !fifth) throw new Error('unreachable');
    const add = (slot: number): ReturnType<typeof toSlots>[number] => ({
      slot: slot as Slot,
      transaction: [
        {
          transaction: `x${slot}`,
          part: 0,
          last: true,
          partSlots: [],
          sql: [],
          effects: [{ kind: 'insert', relation: '"public"."steps"', rows: [`(${slot},applied)`] }],
        },
      ],
    });
    await database.apply([add(2), add(3), add(4), add(5)], keepAt(6));
    const check = await connectPg(server);
    const rows = await check.query<{ note: string }>('SELECT note FROM steps ORDER BY note, slot');
    await check.end();
    expect(rows.rows.map((row) => row.note)).toEqual(['applied', 'applied', 'x', 'x']);
    expect(await database.applicationPointer()).toEqual({
      pointer: 5,
      above: [],
      aboveTransactions: [],
      keep: keepAt(6),
    });
  } finally {
    await server.stop();
  }
}, 120_000);

it('a prepared transaction that committed is not applied again, one that did not is rolled back by endSessions', async () => {
  const server = await startPostgres({ directory: join(root, 'prepared'), binaries: await testBinaries() });
  const database = createDatabase(server);
  const sql = createSessionSql(server);
  try {
    await database.apply(toSlots(pair.log.slice(0, 1), 0), keepAt(2));
    const client = await connectPg({ ...server, user: 'barista', password: 'barista' });
    for (const id of ['done', 'open']) {
      await client.query('BEGIN ISOLATION LEVEL SERIALIZABLE');
      await client.query('INSERT INTO steps (note) VALUES ($1)', [id]);
      const rows = await client.query<{ harvest: Buffer }>(sql.harvest, [sql.secret]);
      expect(rows.rows.map((row) => sql.decodeHarvestRow(row.harvest).kind)).toContain('serializable');
      await client.query(sql.recordTransaction, [sql.secret, id]);
      await client.query(`PREPARE TRANSACTION '${id}'`);
    }
    await client.query("COMMIT PREPARED 'done'");
    expect((await database.applicationPointer()).aboveTransactions).toEqual(['done']);
    await database.endSessions();
    const effects = [{ kind: 'insert', relation: '"public"."steps"', rows: ['(2,again)'] }] as const;
    const part = { part: 0, last: true, partSlots: [], sql: [], effects };
    await database.apply(
      [
        { slot: 2 as Slot, transaction: [{ ...part, transaction: 'done' }] },
        { slot: 3 as Slot, transaction: [{ ...part, transaction: 'open' }] },
      ],
      keepAt(4),
    );
    const check = await connectPg(server);
    const rows = await check.query<{ note: string }>('SELECT note FROM steps ORDER BY note');
    const left = await check.query('SELECT FROM pg_prepared_xacts');
    // The sequence stands where the committed one left it: its value is not handed out again.
    const next = await check.query<{ n: string }>("SELECT nextval('steps_slot_seq') AS n");
    await check.end();
    expect(rows.rows.map((row) => row.note)).toEqual(['again', 'done']);
    expect(left.rowCount).toBe(0);
    expect(Number(next.rows[0]?.n)).toBeGreaterThan(1);
  } finally {
    await server.stop();
  }
}, 120_000);

it('a row that is not what the leader had stops the replica, which names the slot and the table', async () => {
  const server = await startPostgres({ directory: join(root, 'diverged'), binaries: await testBinaries() });
  const database = createDatabase(server);
  try {
    await database.apply(toSlots(pair.log.slice(0, 10), 0), keepAt(11));
    const operator = await connectPg(server);
    await operator.query('SET session_replication_role = replica');
    await operator.query('UPDATE counter SET n = n + 7');
    const refusal = await database
      .apply(toSlots(pair.log.slice(0, 14), 10), keepAt(15))
      .catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'applyFailed' });
    expect((refusal as Error).message).toMatch(/slot 11: .*"public"\."counter".*\(1,9\)/);
    expect((await database.applicationPointer()).pointer).toBe(10);
    await operator.end();
  } finally {
    await server.stop();
  }
}, 120_000);

it('a batch that leaves a slot out is refused, and the pointer stays', async () => {
  const server = await startPostgres({ directory: join(root, 'gap'), binaries: await testBinaries() });
  const database = createDatabase(server);
  try {
    await database.apply(toSlots(pair.log.slice(0, 2), 0), keepAt(3));
    const [third, fourth, fifth] = toSlots(pair.log.slice(0, 5), 2);
    if (!third || !fourth || !fifth) throw new Error('unreachable');
    for (const batch of [[fourth], [third, fifth]]) {
      await expect(database.apply(batch, keepAt(6))).rejects.toMatchObject({ code: 'applyFailed' });
      expect((await database.applicationPointer()).pointer).toBe(2);
    }
    await database.apply([third, fourth, fifth], keepAt(6));
    expect((await database.applicationPointer()).pointer).toBe(5);
  } finally {
    await server.stop();
  }
}, 120_000);
