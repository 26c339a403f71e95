/** A lock table that a client has filled: sessions that are open hear PostgreSQL's own error and go on, at every port. */
import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import * as send from '../../pgwire/frontend-messages.ts';
import { startFollower, startGateway, type TestGateway } from './testing/gateway.ts';
import { ask, q, run } from './testing/helpers.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { connectWire, describeFrame, type WireClient } from './testing/wire-client.ts';

let pg: TestPostgres;
let leader: TestGateway;
let follower: TestGateway;
let filler: Client;

beforeAll(async () => {
  pg = await startTestPostgres({
    max_connections: '20',
    max_prepared_transactions: '0',
    max_locks_per_transaction: '10',
  });
  await pg.superuser.query('CREATE ROLE open LOGIN; CREATE TABLE t (a int); GRANT ALL ON t TO PUBLIC');
  leader = await startGateway(pg);
  follower = await startFollower(pg, leader.connection.port);
  // A look at functions gives back its locks when it ends.
  for (const { service } of [leader, follower]) service.functionsOf = () => Promise.resolve(null);
});
afterAll(async () => {
  await follower.listener.close();
  await leader.listener.close();
  await pg.stop();
});
beforeEach(async () => {
  filler = await pg.connect();
});
afterEach(async () => {
  await filler.end();
});

/** Takes every entry that there is. */
async function fillLocks(): Promise<void> {
  await filler.query(`BEGIN; DO $$ BEGIN
    FOR n IN 1..1000000 LOOP
      BEGIN PERFORM pg_advisory_xact_lock(n); EXCEPTION WHEN out_of_memory THEN EXIT; END;
    END LOOP;
  END $$`);
}

const insert = 'INSERT INTO t VALUES (1)';
const said = (frames: readonly Parameters<typeof describeFrame>[0][]): string =>
  frames
    .map(describeFrame)
    .map((line) => line.replace(/ M=.*/, ''))
    .join(', ');

describe.each(['leader', 'follower'] as const)('a session at the %s, while the lock table is full', (at) => {
  let wire: WireClient;
  beforeEach(async () => {
    wire = await connectWire((at === 'leader' ? leader : follower).connection);
    await ask(wire, q(insert));
  });
  afterEach(() => wire.close());

  it.each<readonly [string, string | null, readonly Buffer[]]>([
    ['a change', null, [q(insert)]],
    ['a change by messages', null, [run(insert), send.sync]],
    ['two changes in one message', null, [q(`${insert}; ${insert}`)]],
    ['a change in a block', 'BEGIN', [q(insert)]],
    ['a change with its COMMIT', 'BEGIN', [q(`${insert}; COMMIT`)]],
    ['a change with its COMMIT by messages', 'BEGIN', [run(insert), run('COMMIT'), send.sync]],
  ])('hears 53200 for %s, and goes on', async (_, before, request) => {
    if (before !== null) await ask(wire, q(before));
    await fillLocks();
    wire.send(...request);
    const heard = said(await wire.until('Z'));
    expect(heard).toContain('E V=ERROR C=53200, Z ');
    await filler.query('ROLLBACK');
    if (heard.endsWith('Z E')) await ask(wire, q('ROLLBACK'));
    wire.send(q(insert));
    expect(said(await wire.until('Z'))).toContain('C INSERT 0 1');
  });
});

describe.each(['leader', 'follower'] as const)('a log-in at the %s, while the lock table is full', (at) => {
  it.each(['barista', 'open'])('hears what PostgreSQL says (%s)', async (user) => {
    const gateway = at === 'leader' ? leader : follower;
    const change = { user, database: pg.database };
    if (user === 'barista') await (await gateway.client(change)).end();
    await fillLocks();
    const error = await gateway.client(change).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: '53200', severity: 'FATAL', message: 'out of shared memory' });
  });
});
