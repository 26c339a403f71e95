/**
 * The wait of a COMMIT to be chosen is not ended by anything but the choice; where PostgreSQL ends it all the same, nobody is answered before what can be seen is chosen.
 *
 * "Chosen" is here what the test says: `holdAnswers` is a barrier that has not been reached.
 */
import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import * as send from '../../pgwire/frontend-messages.ts';
import { startGateway, type TestGateway } from './testing/gateway.ts';
import {
  ask,
  backends,
  cancelPacket,
  failure,
  fatal,
  holdCommits,
  keyOf,
  keys,
  lastWords,
  q,
  run,
  sleep,
  sleeping,
  untilCommitsWait,
  waitingCommits,
} from './testing/helpers.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { connectWire, type WireClient } from './testing/wire-client.ts';
import { connect } from 'node:net';

let pg: TestPostgres;
let gateway: TestGateway;
let wire: WireClient;
let reader: Client;
let letCommitsGo: (() => Promise<void>) | null = null;

beforeAll(async () => {
  pg = await startTestPostgres();
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  gateway = await startGateway(pg);
  wire = await connectWire(gateway.connection);
  reader = await gateway.client();
  await ask(wire, q('CREATE TABLE t (a int PRIMARY KEY)'));
});
afterEach(async () => {
  gateway.service.letGo();
  await letCommitsGo?.();
  letCommitsGo = null;
  wire.close();
  await reader.end().catch(() => {});
  await gateway.listener.close();
  await pg.superuser.query('DROP TABLE IF EXISTS t');
});

const insert = 'INSERT INTO t VALUES (1)';

/** A reader's answer does not come before the barrier is reached; then it comes, and is right. */
async function readerMustWait(): Promise<void> {
  let answered = false;
  const read = reader.query('SELECT count(*)::int AS n FROM t').then(({ rows }) => {
    answered = true;
    return rows;
  });
  await sleep(200);
  expect(answered).toBe(false);
  gateway.service.letGo();
  expect(await read).toEqual([{ n: 1 }]);
}

describe('a session that mentions synchronous_commit', () => {
  it.each<[string, readonly Buffer[]]>([
    ['SET', [q('SET synchronous_commit = off')]],
    ['SET LOCAL', [q(`BEGIN; SET LOCAL Synchronous_Commit TO local; ${insert}; COMMIT`)]],
    ['a quoted name', [q('SET "synchronous_commit" = off')]],
    ['set_config', [q("SELECT set_config('synchronous_commit', 'off', false)")]],
    [
      'set_config with a parameter',
      [run('SELECT set_config($1, $2, false)', 'synchronous_commit', 'off'), send.sync],
    ],
    ['the view of settings', [q("UPDATE pg_settings SET setting = 'off' WHERE name = 'synchronous_commit'")]],
    ['a block of PL/pgSQL', [q("DO $$ BEGIN EXECUTE 'SET synchronous_commit = off'; END $$")]],
    ['a prepared statement', [send.parse('s', 'SET synchronous_commit = off'), send.sync]],
    ['a long text', [q(`/* ${'x'.repeat(300_000)} */ SET synchronous_commit = off`)]],
  ])('by %s makes every answer wait for a barrier, until it has ended', async (_, messages) => {
    wire.send(...messages);
    await wire.until('Z');
    expect(gateway.service.distrusted).toBe(1);
    gateway.service.holdAnswers();
    wire.send(q(insert));
    await expect.poll(() => keys(pg)).toEqual([1]);
    await readerMustWait();
    wire.close();
    await expect.poll(() => gateway.service.distrusted).toBe(0);
    expect(gateway.service.calls.barrier).toBe(1);
  });

  it.each(['-c synchronous_commit=off', '--synchronous-commit=off', '-c sync\\hronous_commit=off'])(
    'as it connects (%s), too',
    async (options) => {
      const other = await gateway.client({ options });
      const { rows } = await other.query('SHOW synchronous_commit');
      expect(rows).toEqual([{ synchronous_commit: 'off' }]);
      expect(gateway.service.distrusted).toBe(1);
      await other.end();
      await expect.poll(() => gateway.service.distrusted).toBe(0);
    },
  );

  it('is distrusted before PostgreSQL has the message that mentions it', async () => {
    gateway.service.distrust = () => {
      throw new Error('no');
    };
    wire.send(q(`SET synchronous_commit = off; ${insert}`));
    expect(await lastWords(wire)).toEqual([fatal('XX000')]);
    // The reader's.
    await expect.poll(() => backends(pg)).toBe(1);
    expect(await keys(pg)).toEqual([]);
  });

  it('sees its own setting in force', async () => {
    expect(await ask(wire, q('SET synchronous_commit = off'))).toEqual(['C SET\\0', 'Z I']);
    expect(await ask(wire, q('SHOW synchronous_commit'))).toContainEqual(expect.stringContaining('off'));
  });

  it('is distrusted as long as PostgreSQL runs what it left behind', async () => {
    letCommitsGo = await holdCommits(pg);
    await ask(wire, q('SET synchronous_commit = off'));
    await pg.superuser.query('SELECT pg_advisory_lock(1)');
    wire.send(q(`SELECT pg_advisory_lock(1); ${insert}`));
    const held = "SELECT FROM pg_stat_activity WHERE wait_event = 'advisory'";
    await expect.poll(async () => (await pg.superuser.query(held)).rowCount).toBe(1);
    wire.close();
    await sleep(100);
    expect([gateway.service.distrusted, await backends(pg)]).toEqual([1, 2]);
    await pg.superuser.query('SELECT pg_advisory_unlock(1)');
    await expect.poll(() => keys(pg)).toEqual([1]);
    await expect.poll(() => gateway.service.distrusted).toBe(0);
  });

  it('stays distrusted until the barrier behind its end is reached', async () => {
    await ask(wire, q('SET synchronous_commit = off'));
    gateway.service.holdAnswers();
    wire.close();
    await expect.poll(() => gateway.service.calls.barrier).toBe(1);
    await sleep(50);
    expect(gateway.service.distrusted).toBe(1);
    gateway.service.letGo();
    await expect.poll(() => gateway.service.distrusted).toBe(0);
  });

  it.each([
    'ALTER ROLE barista SET synchronous_commit = off; ALTER ROLE barista RESET synchronous_commit',
    'CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql SET synchronous_commit = off AS $$ SELECT 1 $$',
    `/* ${'x'.repeat(200_000)} */ ALTER DATABASE barista RESET synchronous_commit`,
  ])('in a way that outlives it is distrusted for the rest of the generation: %#', async (sql) => {
    const answer = await ask(wire, q(sql));
    expect(answer.at(-1)).toBe('Z I');
    wire.close();
    await expect.poll(() => backends(pg)).toBe(1);
    await sleep(100);
    expect([gateway.service.distrusted, gateway.service.calls.barrier]).toEqual([1, 0]);
  });

  it('costs the others nothing else: everybody is answered', async () => {
    await ask(wire, q('SET synchronous_commit = off'));
    for (let n = 2; n < 20; n += 1) await reader.query('INSERT INTO t VALUES ($1)', [n]);
    expect(await keys(pg)).toHaveLength(18);
  });

  it('is not one that copies the words', async () => {
    await ask(wire, q('CREATE TEMP TABLE words (a text)'));
    wire.send(q('COPY words FROM STDIN'));
    await wire.until('G');
    const head = Buffer.from([0x64, 0, 0, 0, 24]);
    await ask(wire, head, Buffer.from('synchronous_commit\n\n'), Buffer.from([0x63, 0, 0, 0, 4]));
    expect(gateway.service.distrusted).toBe(0);
  });
});

describe('the wait of a COMMIT that is ended early', () => {
  /** The replica notices it in PostgreSQL's log, and holds answers from before the transaction can be seen. */
  async function endWait(
    how: (writer: Client) => Promise<unknown>,
  ): Promise<{ writer: Client; done: Promise<unknown> }> {
    const writer = await gateway.client();
    letCommitsGo = await holdCommits(pg);
    const done = writer.query(insert).catch((error: unknown) => error);
    await untilCommitsWait(pg, 1);
    expect(await keys(pg)).toEqual([]);
    gateway.service.holdAnswers();
    await how(writer);
    await expect.poll(() => keys(pg)).toEqual([1]);
    return { writer, done };
  }

  it.each<[string, (writer: Client) => Promise<unknown>]>([
    [
      'pg_cancel_backend',
      (writer) => pg.superuser.query('SELECT pg_cancel_backend($1)', [keyOf(writer).processID]),
    ],
    [
      'pg_terminate_backend',
      (writer) => pg.superuser.query('SELECT pg_terminate_backend($1)', [keyOf(writer).processID]),
    ],
    ['an empty list of standbys', () => pg.set('synchronous_standby_names', '')],
  ])('by %s: nobody is answered before what can be seen is chosen', async (_, how) => {
    const { writer, done } = await endWait(how);
    let told = false;
    void done.then(() => {
      told = true;
    });
    await sleep(50);
    expect(told).toBe(false);
    await readerMustWait();
    await done;
    await writer.end().catch(() => {});
  });
});

describe('a CancelRequest', () => {
  async function cancel(client: Client): Promise<void> {
    await new Promise((resolve) => {
      const socket = connect(gateway.connection.port, '127.0.0.1', () =>
        socket.end(cancelPacket(keyOf(client))),
      );
      socket.on('close', resolve).resume();
    });
    // PostgreSQL gets it on another connection.
    await sleep(50);
  }

  it('stops a running statement', async () => {
    const cancelled = failure(reader.query('SELECT pg_sleep(20)'));
    await expect.poll(() => sleeping(pg)).toBe(1);
    await cancel(reader);
    expect((await cancelled).code).toBe('57014');
    expect((await reader.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('of a session that is owed nothing does not reach PostgreSQL, so that it cannot hit what comes next', async () => {
    await ask(wire, q('SELECT 1'));
    const log = await pg.connect();
    for (let n = 0; n < 20; n += 1) {
      await cancel(reader);
      expect((await reader.query('SELECT pg_sleep(0.01), 1 AS one')).rows).toHaveLength(1);
    }
    await log.end();
  });

  it.each<[string, string[], string]>([
    ['an autocommitted change', [], insert],
    ['a COMMIT', ['BEGIN', insert], 'COMMIT'],
    ['a PREPARE TRANSACTION', ['BEGIN', insert], "PREPARE TRANSACTION 'cancelled'"],
  ])('does not end the wait of %s', async (_, before, last) => {
    const writer = await gateway.client();
    for (const sql of before) await writer.query(sql);
    letCommitsGo = await holdCommits(pg);
    const done = writer.query(last);
    await untilCommitsWait(pg, 1);
    await cancel(writer);
    expect(await waitingCommits(pg)).toBe(1);
    expect(await keys(pg)).toEqual([]);
    await letCommitsGo();
    await done;
    if (last.startsWith('PREPARE')) await writer.query("ROLLBACK PREPARED 'cancelled'");
    await writer.end();
  });

  it('reaches a statement ahead of a COMMIT that was sent with it', async () => {
    const writer = await gateway.client();
    await writer.query('BEGIN');
    const cancelled = failure(writer.query(`${insert}; SELECT pg_sleep(20); COMMIT`));
    await expect.poll(() => sleeping(pg)).toBe(1);
    await cancel(writer);
    expect((await cancelled).code).toBe('57014');
    await writer.end();
  });

  it('with another key does nothing', async () => {
    const whole = reader.query('SELECT pg_sleep(0.5), 1 AS one');
    const { processID, secretKey } = keyOf(reader);
    const wrong = { processID, secretKey: secretKey ^ 1 } as unknown as Client;
    await cancel(wrong);
    expect((await whole).rows).toHaveLength(1);
  });
});
