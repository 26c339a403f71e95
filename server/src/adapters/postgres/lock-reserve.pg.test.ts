/** A lock table that a client has filled, also by a transaction that is prepared: its leader goes on, and another one can follow. */
import type { Client } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FedStandby, never } from '../../ports/testing/database-fixture.ts';
import { foundDatabase, logOf, resumePrimary, type TestPrimary } from '../../ports/testing/test-primary.ts';
import type { Lsn, Timeline } from '../../wal/lsn.ts';
import { timelineFile } from '../../wal/timeline-file.ts';
import { PreparedAgeLimit } from './inspection/old-prepared.ts';
import { openRealFixture, type RealFixture } from './testing/real-fixture.ts';
import { connectAs, testBinaries } from './testing/test-instance.ts';

/** It looks when the test says so. */
const neverMs = 3_600_000;
let fixture: RealFixture;
let primary: TestPrimary;

beforeEach(async () => {
  fixture = await openRealFixture(await testBinaries(), { max_locks_per_transaction: '16' });
  primary = await resumePrimary(fixture, logOf(await foundDatabase(fixture)));
  primary.chooseAlways();
});
afterEach(() => fixture.dispose());

const connect = (): Promise<Client> => connectAs(fixture.server.instance.socketDir, 'postgres', 'postgres');

/** Takes every entry that there is, in a transaction that could be prepared. */
async function fillLocks(): Promise<Client> {
  const client = await connect();
  await client.query(`BEGIN; SELECT pg_current_xact_id(); DO $$ BEGIN
    FOR n IN 1..1000000 LOOP
      BEGIN PERFORM pg_advisory_xact_lock(n); EXCEPTION WHEN out_of_memory THEN EXIT; END;
    END LOOP;
  END $$`);
  return client;
}

/** The same with tables, whose locks a standby holds, too. */
async function fillLocksOfTables(): Promise<Client> {
  const client = await connect();
  await client.query('BEGIN; SELECT pg_current_xact_id()');
  for (const atOnce of [100, 1]) {
    let made = 0;
    const more = (): Promise<unknown> =>
      client.query(
        `DO $$ BEGIN FOR n IN 1..${atOnce} LOOP EXECUTE format('CREATE TABLE t_${atOnce}_${made}_%s ()', n); END LOOP; END $$`,
      );
    let isRoom = true;
    while (isRoom) {
      await client.query('SAVEPOINT before');
      isRoom = await more().then(
        () => true,
        ({ code }: { code: string }) => code !== '53200',
      );
      made += atOnce;
      await client.query(isRoom ? 'RELEASE before' : 'ROLLBACK TO before');
    }
  }
  return client;
}

const isFull = () =>
  connect().then(
    async (client) => client.end().then(() => false),
    (error: { readonly code?: string }) => error.code === '53200',
  );

it('a barrier is made all the same, again and again', async () => {
  const client = await fillLocks();
  expect(await isFull()).toBe(true);
  for (let times = 0; times < 3; times++) {
    await primary.passBarrier();
    await expect.poll(isFull).toBe(true);
  }
  await client.end();
});

it('a client that takes what it can, as soon as there was work, finds that the reserve is held again', async () => {
  const client = await fillLocks();
  const { rows } = await client.query<{ pid: number }>(
    "SELECT DISTINCT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock'",
  );
  await fixture.server.withRoom(async () => {
    // For this the table is full, at first.
    await (await connect()).end();
    // The session of the reserve is slow from now on.
    process.kill(rows[0]!.pid, 'SIGSTOP');
    setTimeout(() => process.kill(rows[0]!.pid, 'SIGCONT'), 1_000);
  });
  await client.query(`DO $$ BEGIN FOR n IN 2000000..2001000 LOOP
    BEGIN PERFORM pg_advisory_xact_lock(n); EXCEPTION WHEN out_of_memory THEN EXIT; END;
  END LOOP; END $$`);
  await expect(primary.passBarrier()).resolves.toBeUndefined();
  await client.end();
});

it.each([
  ['locks', fillLocks],
  ['tables', fillLocksOfTables],
])(
  'a standby that is promoted with the %s that filled it takes over, and makes barriers',
  async (_what, fill) => {
    const client = await fill();
    await client.query("PREPARE TRANSACTION 'full'");
    await primary.passBarrier();
    await primary.untilReceived();
    const { log } = primary;
    await fixture.server.stop('immediate');
    const fed = await FedStandby.start(fixture, log, log.position);
    await fed.untilReplayed(log.position.end);
    const { replayed, nextXid } = await fed.look();
    fed.standby.shut();
    const timeline = log.lead(replayed, { system: log.position.system, nextXid });
    const history = (number: Timeline): string => timelineFile(log.position, number);
    const promoted = await fed.standby.promote({ timeline, fork: replayed, history });
    // On a busy machine the reserve may come a moment later than the locks.
    const barrier = (of: { barrier(): Promise<Lsn> }) => of.barrier().catch(() => 0 as Lsn);
    await expect.poll(() => barrier(promoted)).toBeGreaterThan(replayed);
    await fixture.server.stop('immediate');
    const again = await fixture.server.startPrimary(never);
    await expect.poll(() => barrier(again)).toBeGreaterThan(replayed);
  },
);

it('a prepared transaction that filled it is rolled back for its age', async () => {
  const client = await fillLocks();
  await client.query("PREPARE TRANSACTION 'full'");
  const rolledBack: string[] = [];
  const limit = new PreparedAgeLimit(
    fixture.server.instance,
    {
      ageMsMax: 0,
      leads: () => true,
      oldestMs: () => 1,
      withRoom: (work) => fixture.server.withRoom(work),
      onRolledBack: ({ gid }) => rolledBack.push(gid),
      onProblem: () => undefined,
    },
    neverMs,
  );
  expect(await isFull()).toBe(true);
  await limit.look();
  limit.stop();
  expect([rolledBack, limit.problem, await isFull()]).toEqual([['full'], null, false]);
});
