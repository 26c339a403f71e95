/** Clients that fill the lock table of a standby: it goes on replaying exclusive locks, and others that read there stay. */
import type { Client } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FedStandby, pass, until } from '../../ports/testing/database-fixture.ts';
import { foundDatabase, logOf, resumePrimary } from '../../ports/testing/test-primary.ts';
import { openRealFixture, type RealFixture } from './testing/real-fixture.ts';
import { connectAs, testBinaries } from './testing/test-instance.ts';

/** Without an end of theirs, the standby is to end by what it replays. */
const giveUpMs = 10_000;
const tables = 200;
let fixture: RealFixture;
let copy: RealFixture;
let fed: FedStandby;
/** On the primary. */
let writer: Client;
let exits: string[];

beforeEach(async () => {
  const settings = { max_locks_per_transaction: '16' };
  fixture = await openRealFixture(await testBinaries(), settings);
  const log = logOf(await foundDatabase(fixture));
  const base = log.position;
  copy = await fixture.clone(settings);
  const primary = await resumePrimary(fixture, log);
  primary.chooseAlways();
  writer = await connectAs(fixture.server.instance.socketDir, 'postgres', 'postgres');
  await writer.query(
    `CREATE ROLE reader LOGIN; DO $$ BEGIN FOR n IN 1..${tables} LOOP EXECUTE format('CREATE TABLE t_%s ()', n); END LOOP; END $$`,
  );
  await primary.passBarrier();
  fed = await FedStandby.start(copy, log, base);
  exits = [];
  copy.server.onExit((reason) => exits.push(reason));
  await fed.look();
  await fed.untilReplayed(log.position.end);
  await untilWatched();
  locksReplayed = async () => {
    await writer.query(
      `BEGIN; SELECT pg_current_xact_id(); DO $$ BEGIN FOR n IN 1..${tables} LOOP EXECUTE format('LOCK TABLE t_%s', n); END LOOP; END $$; COMMIT`,
    );
    await primary.passBarrier();
    await until(fixture.timers, () => {
      fed.standby.ask();
      return exits.length > 0 || fed.replayed >= log.position.end;
    });
  };
});
afterEach(async () => {
  await copy.dispose();
  await fixture.dispose();
});

let locksReplayed: () => Promise<void>;

/** As the gateway does. */
const connect = (): Promise<Client> => {
  copy.server.readerComes();
  return connectAs(copy.server.instance.socketDir, 'reader', 'postgres');
};

/** As a session sees it that is there already. */
async function hasRoom(session: Client): Promise<boolean> {
  const few = 'SELECT count(*) < 400 AS few FROM pg_lock_status() WHERE NOT fastpath';
  return session.query<{ few: boolean }>(few).then(
    ({ rows }) => rows[0]!.few,
    () => false,
  );
}

/** A look has been taken; it is not there at once. */
async function untilWatched(): Promise<void> {
  const session = await connectAs(copy.server.instance.socketDir, 'postgres', 'postgres');
  await until(fixture.timers, async () => {
    copy.server.readerComes();
    const { rowCount } = await session.query(
      "SELECT FROM pg_stat_activity WHERE query LIKE '%pg_lock_status%' AND state = 'idle' AND pid <> pg_backend_pid()",
    );
    return rowCount === 1;
  });
  await session.end();
}

async function fill(client: Client): Promise<void> {
  let isRoom = true;
  for (let n = 0; isRoom; n += 100)
    isRoom = await client
      .query(`SELECT pg_advisory_lock(pg_backend_pid(), g) FROM generate_series(${n}, ${n + 99}) g`)
      .then(
        () => true,
        () => false,
      );
}

it.each([1, 4])(
  '%i sessions that take every lock are ended, and the standby replays exclusive locks',
  async (count) => {
    const quiet = await connect();
    await quiet.query('SELECT pg_advisory_lock(1)');
    const greedy = await Promise.all(Array.from({ length: count }, connect));
    await Promise.all(greedy.map(fill));
    const deadline = performance.now() + giveUpMs;
    while (!(await hasRoom(quiet)) && performance.now() < deadline) await pass(fixture.timers, 20);
    await locksReplayed();
    expect(exits).toEqual([]);
    await quiet.query('SELECT 1');
    await quiet.end();
  },
);
