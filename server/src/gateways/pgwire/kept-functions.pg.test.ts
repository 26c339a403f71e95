/** What functions do to a session, without a word of it in the client's text: it is kept, or the client hears that it is lost. */
import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Relay, startRelay } from '../../adapters/testing/relay.ts';
import * as send from '../../pgwire/frontend-messages.ts';
import { startGateway, type TestGateway } from './testing/gateway.ts';
import { ask, codeOf, leaderAt, q, settled } from './testing/helpers.ts';
import { createMemoryClientService, type MemoryClientService } from './testing/memory-client-service.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { connectWire } from './testing/wire-client.ts';

let pg: TestPostgres;
let leader: TestGateway;
let follower: TestGateway;
let service: MemoryClientService;
let cable: Relay;
let client: Client;

beforeAll(async () => {
  pg = await startTestPostgres();
  await pg.superuser.query('CREATE ROLE open LOGIN; GRANT CREATE, USAGE ON SCHEMA public TO PUBLIC');
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  await pg.superuser.query(`
    CREATE TABLE t (a int); GRANT ALL ON t TO PUBLIC;
    CREATE FUNCTION flock(k bigint) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_lock(k); RETURN true; END';
    CREATE FUNCTION ftemp() RETURNS boolean LANGUAGE plpgsql AS 'BEGIN CREATE TEMP TABLE tt (a int); RETURN true; END';
    CREATE FUNCTION fset(n text, v text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'SET ' || n || ' = ' || quote_literal(v); RETURN true; END $$;
    CREATE FUNCTION tenant(v text) RETURNS text LANGUAGE sql AS $$ SELECT set_config('app.tenant', v, false) $$;
    CREATE FUNCTION memory(v text) RETURNS text LANGUAGE sql AS $$ SELECT set_config('work_mem', v, false) $$;
    CREATE FUNCTION plain() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); PERFORM set_config('a.b', 'c', true); RETURN 1; END $$`);
  leader = await startGateway(pg);
  cable = await startRelay(leader.connection.port);
  service = createMemoryClientService(null);
  service.setService(leaderAt(cable.port));
  follower = await startGateway(pg, { service, limits: { keepWaitMs: 5_000, functionsLookMs: 20 } });
  client = await connected();
});
afterEach(async () => {
  await client.end().catch(() => {});
  await follower.listener.close();
  cable.close();
  await leader.listener.close();
  await pg.superuser.query(
    'DROP TABLE t CASCADE; DROP FUNCTION flock, ftemp, fset, tenant, memory, plain CASCADE',
  );
});

/** It is known what its functions do. */
async function connected(): Promise<Client> {
  const found = await follower.client({ user: 'open' });
  await lookedAt(found);
  await found.query('SELECT 1');
  return found;
}

/** A look at the functions has begun behind this call, and has ended. */
async function lookedAt(user = client): Promise<void> {
  let looks = 0;
  const { functionsOf } = service;
  service.functionsOf = async (...asked) => {
    const begun = looks;
    const found = await functionsOf(...asked);
    looks = begun + 1;
    return found;
  };
  await user.query('SELECT 1');
  await expect.poll(() => looks).toBeGreaterThan(0);
  service.functionsOf = functionsOf;
  await settled();
}

async function cut(): Promise<void> {
  await settled();
  cable.cut();
  await settled();
}

async function values(sql: string): Promise<unknown[]> {
  return (await client.query<unknown[]>({ text: sql, rowMode: 'array' })).rows.flat();
}

const heard = (): Promise<string | undefined> => codeOf(client.query('SELECT 1'));

describe('what a function has done to the session is told as lost', () => {
  it.each<[string, string, string]>([
    ['a lock', '', 'SELECT flock(4)'],
    ['a temporary table', '', 'SELECT ftemp()'],
    ['a setting whose name it puts together', '', "SELECT fset('app.' || 'x', 'y')"],
    [
      'a lock of a function that it calls',
      "CREATE FUNCTION outer_lock() RETURNS void LANGUAGE plpgsql AS 'BEGIN PERFORM public.flock(4); END'",
      'SELECT "outer_lock"()',
    ],
    [
      'a lock of a body that is not a string',
      'CREATE FUNCTION atomic_lock() RETURNS boolean BEGIN ATOMIC SELECT pg_try_advisory_lock(4); END',
      'SELECT atomic_lock()',
    ],
    [
      'a lock of a function whose name is put together',
      "CREATE FUNCTION calls(f text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE format('SELECT %I(4)', f); END $$",
      "SELECT calls('fl' || 'ock')",
    ],
    [
      'a lock of a procedure',
      "CREATE PROCEDURE locks() LANGUAGE plpgsql AS 'BEGIN PERFORM flock(4); COMMIT; END'",
      'CALL locks()',
    ],
    [
      'a lock that a trigger takes',
      `CREATE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM flock(new.a); RETURN new; END';
        CREATE TRIGGER fires BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fires()`,
      'INSERT INTO t VALUES (4)',
    ],
    ['a lock that a view takes', 'CREATE VIEW v AS SELECT flock(4)', 'SELECT * FROM v'],
    [
      'a lock that a view takes by itself',
      'CREATE VIEW v AS SELECT pg_try_advisory_lock(4)',
      'SELECT * FROM v',
    ],
    [
      'a lock of the default of a type',
      'CREATE DOMAIN locked AS boolean DEFAULT pg_try_advisory_lock(4); CREATE TABLE d (a int, b locked)',
      'INSERT INTO d VALUES (1)',
    ],
    ['a lock of a default', 'CREATE TABLE d (a int, b boolean DEFAULT flock(4))', 'INSERT INTO d VALUES (1)'],
    [
      'a lock of an operator',
      'CREATE OPERATOR !!! (RIGHTARG = bigint, FUNCTION = flock)',
      'SELECT !!! 4::bigint',
    ],
    ['a lock of a block of code', '', "DO $$ BEGIN EXECUTE 'SELECT pg_adv' || 'isory_lock(4)'; END $$"],
    ['a setting of a block of code', '', "DO $$ BEGIN EXECUTE 'SET app.' || 'x = 1'; END $$"],
    ['a lock of a text in a parameter', '', "SELECT query_to_xml('SELECT fl' || 'ock(4)', true, true, '')"],
    ['a lock of a name in numbers', '', 'SELECT U&"\\0066lock"(4)'],
  ])('%s', async (_, made, text) => {
    await client.end();
    await pg.superuser.query(`SET ROLE open; ${made}; RESET ROLE`);
    client = await connected();
    await client.query(text);
    await cut();
    expect(await heard()).toBe('55000');
    expect(await values('SELECT 2')).toEqual([2]);
    await client.end();
    await pg.superuser.query('DROP OWNED BY open CASCADE; GRANT CREATE, USAGE ON SCHEMA public TO PUBLIC');
  });

  it('by a statement that is prepared, each time that it is executed', async () => {
    const locks = { name: 'locks', text: 'SELECT flock($1)' };
    await client.query({ ...locks, values: [1] });
    await cut();
    expect(await heard()).toBe('55000');
    await client.query({ ...locks, values: [2] });
    await cut();
    expect(await heard()).toBe('55000');
  });

  it.each(['', 'named'])('by a statement whose function became another one since: "%s"', async (name) => {
    const wire = await connectWire({ ...follower.connection, user: 'open' });
    await ask(wire, send.parse(name, 'SELECT plain()'), send.sync);
    await pg.superuser.query(
      "CREATE OR REPLACE FUNCTION plain() RETURNS int LANGUAGE plpgsql AS 'BEGIN PERFORM flock(4); RETURN 1; END'",
    );
    await lookedAt();
    await ask(wire, send.bind({ portal: '', statement: name }), send.execute(''), send.sync);
    await cut();
    expect((await ask(wire, q('SELECT 1')))[0]).toContain('55000');
    wire.close();
  });

  it("by SQL's EXECUTE, of a function that became another one since", async () => {
    await client.query('PREPARE p AS SELECT plain()');
    await pg.superuser.query(
      "CREATE OR REPLACE FUNCTION plain() RETURNS int LANGUAGE plpgsql AS 'BEGIN PERFORM flock(4); RETURN 1; END'",
    );
    await lookedAt();
    await client.query('EXECUTE p');
    await cut();
    expect(await heard()).toBe('55000');
  });

  it('by one that was made a moment ago', async () => {
    service.functionsOf = () => Promise.resolve(null);
    const another = await follower.client({ user: 'open' });
    await another.query(
      "CREATE FUNCTION fresh() RETURNS void LANGUAGE plpgsql AS 'BEGIN PERFORM flock(4); END'",
    );
    await client.query('SELECT fresh()');
    await cut();
    expect(await heard()).toBe('55000');
    await another.query('DROP FUNCTION fresh()');
    await another.end();
  });

  it('by one that the session has made itself, and called at once', async () => {
    service.functionsOf = () => Promise.resolve(null);
    await client.query(
      "CREATE FUNCTION fresh() RETURNS void LANGUAGE plpgsql AS 'BEGIN PERFORM flock(4); END'",
    );
    await client.query('SELECT fresh()');
    await cut();
    expect(await heard()).toBe('55000');
    await client.query('DROP FUNCTION fresh()');
  });

  it('by one that is called before anything is known of functions', async () => {
    service.functionsOf = () => Promise.resolve(null);
    await follower.listener.close();
    follower = await startGateway(pg, { service, limits: { keepWaitMs: 5_000 } });
    service.functionsOf = () => Promise.resolve(null);
    client = await follower.client({ user: 'open' });
    await client.query('SELECT flock(4)');
    await cut();
    expect(await heard()).toBe('55000');
  });

  it('once it was idle, by one that was made behind the last look', async () => {
    await pg.superuser.query(
      "CREATE OR REPLACE FUNCTION plain() RETURNS int LANGUAGE plpgsql AS 'BEGIN PERFORM flock(4); RETURN 1; END'",
    );
    await client.query('SELECT plain()');
    await lookedAt();
    await expect.poll(lastQuestions).toBeGreaterThan(0);
    await cut();
    expect(await heard()).toBe('55000');
  });
});

describe('what a function has set is kept', () => {
  it('a setting of PostgreSQL', async () => {
    await client.query("SELECT memory('7MB')");
    await cut();
    expect(await values('SHOW work_mem')).toEqual(['7MB']);
  });

  it.each(["EXECUTE sets('app.tenant', 't2')", "EXPLAIN ANALYZE EXECUTE sets('app.tenant', 't2')"])(
    'a custom setting that a prepared statement is given the name of: %s',
    async (executes) => {
      for (const how of ['by SQL', 'by a message']) {
        const text = 'SELECT set_config($1, $2, false)';
        if (how === 'by SQL') await client.query(`PREPARE sets (text, text) AS ${text}`);
        else await client.query({ name: 'sets', text, values: ['a.b', 'c'] });
        await client.query(executes);
        await cut();
        expect(await values("SELECT current_setting('app.tenant', true)")).toEqual(['t2']);
        await client.query("EXECUTE sets('app.' || 'other', 't3')");
        await cut();
        expect(await heard()).toBe('55000');
        await client.query('DEALLOCATE sets');
      }
    },
  );

  it('a custom setting that it names', async () => {
    await client.query("SELECT tenant('t1')");
    await cut();
    expect(await values("SELECT current_setting('app.tenant', true)")).toEqual(['t1']);
  });
});

/** Sessions of the client's role whose last statement was the gateway's question. */
async function lastQuestions(): Promise<number> {
  const { rows } = await pg.superuser.query<{ count: number }>(
    "SELECT count(*)::int FROM pg_stat_activity WHERE usename = 'open' AND query LIKE 'SELECT ''s''%'",
  );
  return rows[0]!.count;
}

it('is not asked for behind what calls no such function', async () => {
  for (const text of ['SELECT 1', 'INSERT INTO t VALUES (1)', 'SELECT plain()', 'UPDATE t SET a = 2']) {
    await client.query(text);
    await client.query({ name: text.slice(0, 11), text });
    expect(await lastQuestions()).toBe(0);
  }
  await client.query("SELECT tenant('t1')");
  expect(await lastQuestions()).toBe(1);
  await cut();
  expect(await values('SELECT 1')).toEqual([1]);
});

it.each([
  ['a table', 'CREATE TABLE other (a int)', 'DROP TABLE other'],
  ['a table with a default', 'CREATE TABLE other (a serial PRIMARY KEY)', 'DROP TABLE other'],
  [
    'a function that tells nothing',
    "CREATE FUNCTION other() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    'DROP FUNCTION other',
  ],
])('is not called lost if others make %s', async (_, made, dropped) => {
  await client.query('SELECT plain()');
  await pg.superuser.query(made);
  await cut();
  expect(await values('SELECT 1')).toEqual([1]);
  await pg.superuser.query(dropped);
});
