import type { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { comparableDump } from '../../../../harness/checkers/database-compare.ts';
import { connectPg } from './pg-client.ts';
import { sqlStateOf } from './database-error.ts';
import { createSessionSql } from './session-sql.ts';
import { startPair } from './testing/replicated-pair.ts';
import type { ReplicatedPair } from './testing/replicated-pair.ts';

let pair: ReplicatedPair;
let client: Client;
beforeAll(async () => {
  pair = await startPair();
  client = await pair.session();
  await pair.run("CREATE TYPE mood AS ENUM ('calm', 'other')");
  await pair.run('CREATE TABLE t (id int PRIMARY KEY, v text)', "INSERT INTO t VALUES (1, 'a')");
});
afterAll(() => pair.stop());
beforeEach(() => client.query('ROLLBACK'));

async function stateOf(statement: string, values: unknown[] = []): Promise<string> {
  try {
    await client.query(statement, values);
    return 'allowed';
  } catch (error) {
    return sqlStateOf(error) ?? String(error);
  }
}

const forbidden = '42501';
const unsupported = '0A000';

it.each([
  ["SELECT _barista.harvest('guess')", forbidden],
  ["SELECT _barista.record_slot('guess', '1')", forbidden],
  ["SELECT _barista.record_transaction('guess', 'x')", forbidden],
  ["SELECT _barista.record_ddl('postgres', '', 'CREATE TABLE')", forbidden],
  ["SELECT _barista.record_drop('postgres', '', 'DROP TABLE')", forbidden],
  ["SELECT _barista.record_statement('DROP TABLE t', 'barista', '')", forbidden],
  ["SELECT _barista.move_pointer(1000, 1, 1, 'r1', NULL)", forbidden],
  ['SELECT _barista.reset_sequences()', forbidden],
  ["SELECT _barista.apply_positions('{}', '{}', '{}', '{}')", forbidden],
  ['SELECT * FROM _barista.captured', forbidden],
  ['DELETE FROM _barista.captured', forbidden],
  ['SELECT * FROM _barista.pointer', forbidden],
  ['INSERT INTO _barista.applied_above VALUES (7)', forbidden],
  ['CREATE TABLE _barista.mine (i int)', forbidden],
  ['DROP SCHEMA _barista CASCADE', forbidden],
  ['DROP EVENT TRIGGER barista_ddl', forbidden],
  ['DROP EVENT TRIGGER barista_ddl_start', forbidden],
  ['ALTER EVENT TRIGGER barista_ddl DISABLE', forbidden],
  ['SET session_replication_role = replica', forbidden],
  ['SET event_triggers = off', forbidden],
  ['SET track_counts = off', forbidden],
  ['DROP TRIGGER "!barista_insert" ON t', forbidden],
  ['ALTER TABLE t DISABLE TRIGGER ALL', forbidden],
  ['ALTER TABLE t DISABLE TRIGGER "!barista_update"', forbidden],
  ['ALTER TABLE t ENABLE REPLICA TRIGGER "!barista_update"', forbidden],
  ['ALTER TRIGGER "!barista_insert" ON t RENAME TO harmless', forbidden],
  [
    'CREATE TRIGGER mine AFTER INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION _barista.capture_insert()',
    forbidden,
  ],
  ['SET ROLE postgres', forbidden],
  ['SELECT lo_create(0)', forbidden],
  ["SELECT lo_from_bytea(0, 'x')", forbidden],
  ['SELECT pg_terminate_backend(pg_backend_pid())', forbidden],
  ['CREATE ROLE another', forbidden],
  ['CREATE UNLOGGED TABLE u (i int)', unsupported],
  ['CREATE TABLE heir () INHERITS (t)', unsupported],
  ['CREATE MATERIALIZED VIEW mv AS SELECT 1', unsupported],
  ['ALTER TABLE t SET UNLOGGED', unsupported],
  ['CREATE DOMAIN later AS timestamptz CHECK (VALUE > now())', unsupported],
  ["ALTER TABLE t ADD COLUMN at timestamptz DEFAULT 'now'", unsupported],
  ["CREATE TABLE moment (at date DEFAULT ' Today ')", unsupported],
  ["CREATE TABLE moment (at timestamp CHECK (at < 'tomorrow 5:00 pm'))", unsupported],
  ["CREATE VIEW moment AS SELECT 'yesterday'::date AS at", unsupported],
  [
    "CREATE FUNCTION moment(at timestamptz DEFAULT 'now') RETURNS int LANGUAGE sql AS 'SELECT 1'",
    unsupported,
  ],
  ['CREATE TABLE hashed (m mood) PARTITION BY HASH (m)', unsupported],
  ['CREATE TABLE hashed (m mood[]) PARTITION BY HASH (m)', unsupported],
  ['CREATE TABLE hashed (c regclass) PARTITION BY HASH (c)', unsupported],
])('a client is refused: %s', async (statement, state) => {
  // PostgreSQL before 17 has no such setting.
  const expected = statement.includes('event_triggers') && pair.leader.majorVersion < 17 ? '42704' : state;
  expect(await stateOf(statement)).toBe(expected);
});

it.each([
  ['CREATE TABLE listed (m mood) PARTITION BY LIST (m)'],
  ['CREATE TABLE hashed (i int, t text, o int[], d oid) PARTITION BY HASH (i, t, o, d)'],
  ["CREATE TABLE period (p text CHECK (p IN ('today', 'yesterday')))"],
  ["CREATE TABLE period (p text DEFAULT 'today'::text, at date)"],
  [
    "CREATE FUNCTION later() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RETURN 'now'::timestamptz; END $$",
  ],
])('what only looks like a refused statement is allowed: %s', async (statement) => {
  await client.query('BEGIN');
  expect(await stateOf(statement)).toBe('allowed');
});

it.each([
  ["ALTER ROLE barista SET work_mem = '1MB'"],
  ["ALTER ROLE barista PASSWORD 'other'"],
  ["ALTER DATABASE barista SET work_mem = '1MB'"],
  ["COMMENT ON DATABASE barista IS 'x'"],
  ['EXPLAIN ANALYZE CREATE TABLE by_explain AS SELECT 1'],
])('what no trigger sees is refused at the end of the transaction: %s', async (statement) => {
  const hint = statement.startsWith('EXPLAIN') ? /EXPLAIN/ : /Roles and databases/;
  await expect(pair.run(statement)).rejects.toMatchObject({
    code: unsupported,
    hint: expect.stringMatching(hint),
  });
  // And the next transaction of the same session is not made to suffer for it.
  await pair.run("UPDATE t SET v = v || '.'");
});

it('a setting of a role that goes away is a change, too', async () => {
  const operator = await connectPg({ socketDir: pair.leader.socketDir, database: 'barista' });
  await operator.query("ALTER ROLE barista SET work_mem = '1MB'");
  await expect(pair.run('ALTER ROLE barista RESET ALL')).rejects.toMatchObject({ code: unsupported });
  await operator.query('ALTER ROLE barista RESET ALL');
  await operator.end();
});

it('an always-firing trigger or rule of a client is refused', async () => {
  await client.query('BEGIN');
  await client.query('CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$');
  await client.query('CREATE TRIGGER mine AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()');
  expect(await stateOf('ALTER TABLE t ENABLE ALWAYS TRIGGER mine')).toBe(unsupported);
});

it('a trigger whose name sorts before the capture is refused', async () => {
  await client.query('BEGIN');
  await client.query('CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$');
  expect(await stateOf('CREATE TRIGGER " a" AFTER INSERT ON t EXECUTE FUNCTION f()')).toBe(unsupported);
});

it('a statement cannot be noted in place of another by faking the call stack', async () => {
  const fake = `recorded := _barista.record_ddl(CURRENT_USER, pg_catalog.current_setting('search_path'), TG_TAG)`;
  for (const body of [
    `DO $$ DECLARE recorded boolean; tg_tag text := 'CREATE TABLE'; BEGIN ${fake}; END $$`,
    `CREATE TABLE x AS SELECT _barista.record_ddl('barista', '', 'CREATE TABLE')`,
  ]) {
    expect(await stateOf(body)).toBe(forbidden);
  }
  await client.query('BEGIN');
  await client.query('CREATE SCHEMA fake');
  await client.query(`CREATE FUNCTION fake.on_ddl() RETURNS boolean LANGUAGE plpgsql AS $$
    DECLARE recorded boolean; tg_tag text := 'CREATE TABLE'; BEGIN ${fake}; RETURN recorded; END $$`);
  await client.query(`CREATE FUNCTION fake."_barista.on_ddl"() RETURNS boolean LANGUAGE plpgsql AS $$
    DECLARE recorded boolean; tg_tag text := 'CREATE TABLE'; BEGIN ${fake}; RETURN recorded; END $$`);
  await client.query('SET LOCAL search_path = fake');
  await client.query('SAVEPOINT s');
  expect(await stateOf('SELECT fake.on_ddl()')).toBe(forbidden);
  await client.query('ROLLBACK TO s');
  expect(await stateOf('SELECT "_barista.on_ddl"()')).toBe(forbidden);
});

it('DDL whose text is in doubt is refused: several in one EXECUTE, SQL functions, quotes that imitate the stack', async () => {
  expect(
    await stateOf("DO $$ BEGIN EXECUTE 'CREATE TABLE a1 (i int); CREATE TABLE a2 (i int)'; END $$"),
  ).toBe(unsupported);
  await client.query('BEGIN');
  await client.query(
    "CREATE FUNCTION by_sql() RETURNS void LANGUAGE sql AS 'CREATE TABLE by_sql_table (i int)'",
  );
  expect(await stateOf('SELECT by_sql()')).toBe(unsupported);
  await client.query('ROLLBACK');
  const trick = 'ALTER TABLE t RENAME COLUMN v TO "v""\nPL/pgSQL function x() line 1 at SQL statement"';
  expect(await stateOf(`DO $do$ BEGIN EXECUTE $x$${trick}$x$; END $do$`)).toBe(unsupported);
  const comment = 'CREATE TABLE evil (i int) /* "\nPL/pgSQL function x() line 1 at SQL statement */';
  expect(await stateOf(`DO $do$ BEGIN EXECUTE $x$${comment}$x$; END $do$`)).toBe(unsupported);
});

it('casts and operators of a client never run inside the capture', async () => {
  await pair.run(
    'CREATE TABLE leak (who text)',
    'CREATE TABLE cast_me (x int PRIMARY KEY, v text)',
    `CREATE FUNCTION spy(cast_me) RETURNS text LANGUAGE plpgsql AS $$ BEGIN INSERT INTO leak VALUES (current_user); RETURN '(6,forged)'; END $$`,
    'CREATE CAST (cast_me AS text) WITH FUNCTION spy(cast_me) AS IMPLICIT',
    `CREATE FUNCTION spy_back(text) RETURNS cast_me LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'cast ran'; END $$`,
    'CREATE CAST (text AS cast_me) WITH FUNCTION spy_back(text) AS IMPLICIT',
  );
  const effects = await pair.run(
    "INSERT INTO cast_me VALUES (1, 'true')",
    "UPDATE cast_me SET v = 'x'",
    'DELETE FROM cast_me WHERE x = 9',
  );
  expect(effects.map((effect) => ('relation' in effect ? effect.relation : ''))).toEqual([
    '"public"."cast_me"',
    '"public"."cast_me"',
  ]);
  await pair.replicate();
  expect((await comparableDump(pair.follower, 'barista')).tables).toEqual(
    (await comparableDump(pair.leader, 'barista')).tables,
  );
});

it("a follower runs a client's check as that client, who cannot become the superuser", async () => {
  await pair.run(
    'CREATE TABLE escape_log (who text)',
    `CREATE FUNCTION climb(i int) RETURNS boolean LANGUAGE plpgsql AS $$
      BEGIN
        BEGIN PERFORM set_config('role', 'postgres', false); EXCEPTION WHEN OTHERS THEN NULL; END;
        BEGIN EXECUTE 'RESET SESSION AUTHORIZATION'; EXCEPTION WHEN OTHERS THEN NULL; END;
        BEGIN EXECUTE 'RESET ROLE'; EXCEPTION WHEN OTHERS THEN NULL; END;
        IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN RAISE EXCEPTION 'superuser!'; END IF;
        RETURN current_user = 'barista';
      END $$`,
    'CREATE TABLE guarded (i int PRIMARY KEY CHECK (climb(i)))',
    'CREATE TABLE keyless_guarded (i int CHECK (climb(i)))',
  );
  await pair.run(
    'INSERT INTO guarded VALUES (1), (2)',
    'UPDATE guarded SET i = i + 10',
    'DELETE FROM guarded WHERE i = 11',
    'INSERT INTO keyless_guarded VALUES (1), (1)',
    'DELETE FROM keyless_guarded WHERE ctid = (SELECT min(ctid) FROM keyless_guarded)',
  );
  // ADD CONSTRAINT and CREATE INDEX evaluate the function for existing rows, on the follower in the DDL itself.
  await pair.run('ALTER TABLE t ADD CONSTRAINT climbing CHECK (climb(id))');
  await pair.replicate();
  expect((await comparableDump(pair.follower, 'barista')).tables).toEqual(
    (await comparableDump(pair.leader, 'barista')).tables,
  );
});

it('nothing keeps time against a transaction once it is harvested', async () => {
  const sql = createSessionSql(pair.leader);
  const names = ['statement_timeout', 'idle_in_transaction_session_timeout', 'lock_timeout'];
  if (pair.leader.majorVersion >= 17) names.push('transaction_timeout');
  await client.query('BEGIN');
  for (const name of names) await client.query(`SET LOCAL ${name} = '300ms'`);
  await client.query("UPDATE t SET v = 'slow'");
  await client.query(sql.harvest, [sql.secret]);
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(await stateOf('SELECT pg_sleep(0.5)')).toBe('allowed');
  await client.query('ROLLBACK');
});

it('a cursor WITH HOLD cannot write behind the harvest', async () => {
  await pair.run(
    'CREATE TABLE held (i int)',
    'CREATE FUNCTION write_held() RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO held VALUES (1); RETURN 1; END $$',
  );
  const declare = 'DECLARE c CURSOR WITH HOLD FOR SELECT write_held()';
  await expect(pair.run(declare)).rejects.toMatchObject({ code: '25006' });
  await expect(pair.run(declare, 'INSERT INTO held VALUES (2)')).rejects.toMatchObject({ code: unsupported });
  expect(await pair.run('DECLARE d CURSOR WITH HOLD FOR SELECT 1')).toEqual([]);
  await pair.run('CLOSE d', 'INSERT INTO held VALUES (3)');
});

it('only the replicated database can be entered by a client', async () => {
  for (const database of ['postgres', 'template1']) {
    await expect(
      connectPg({ socketDir: pair.leader.socketDir, database, user: 'barista', password: 'barista' }),
    ).rejects.toThrow('permission denied for database');
  }
  await expect(
    connectPg({ socketDir: pair.leader.socketDir, database: 'barista', user: 'barista', password: 'wrong' }),
  ).rejects.toThrow('password authentication failed');
});

it.each([
  ['CREATE TABLE perm (LIKE tx)'],
  ['CREATE TABLE perm (LIKE "tx" INCLUDING ALL)'],
  ['CREATE TABLE perm (LIKE pg_temp.tx)'],
  ["CREATE TABLE perm (i int DEFAULT nextval('tx_seq'))"],
  ["CREATE TABLE perm (i int DEFAULT nextval('pg_temp.tx_seq'))"],
  ['CREATE TABLE perm (i int DEFAULT pg_temp.temp_f())'],
  ['CREATE TABLE perm (i int, j int GENERATED ALWAYS AS (i + pg_temp.temp_f()) STORED)'],
  ['CREATE TABLE perm OF temp_type'],
  ['CREATE TABLE perm AS SELECT NULL::tx AS r'],
  ["CREATE FUNCTION perm(tx) RETURNS int LANGUAGE sql AS 'SELECT 1'"],
  ["CREATE FUNCTION perm() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM tx'"],
  ["DO $$ BEGIN EXECUTE 'CREATE TABLE perm (LIKE ' || 't' || 'x)'; END $$"],
  ['ALTER TABLE t ADD COLUMN perm tx'],
])('a permanent object may not need a temporary one: %s', async (statement) => {
  await beginWithTemporaries();
  expect(await stateOf(statement)).toBe(unsupported);
});

it.each([
  ['CREATE TABLE not_tx (txs int, LIKE t)'],
  ["CREATE FUNCTION pg_temp.more(tx) RETURNS int LANGUAGE sql AS 'SELECT 1'"],
  ['CREATE TABLE public.tx (i int)'],
  ['CREATE TABLE from_tx AS SELECT * FROM pg_temp.tx'],
])('a permanent object beside temporary ones is no concern: %s', async (statement) => {
  await beginWithTemporaries();
  expect(await stateOf(statement)).toBe('allowed');
});

async function beginWithTemporaries(): Promise<void> {
  for (const statement of [
    'BEGIN',
    'CREATE TEMP TABLE tx (i int)',
    'CREATE TEMP SEQUENCE tx_seq',
    'CREATE TYPE pg_temp.temp_type AS (i int)',
    "CREATE FUNCTION pg_temp.temp_f() RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1'",
    'CREATE TEMP VIEW temp_view AS SELECT tx.*, pg_temp.temp_f() FROM tx',
  ]) {
    await client.query(statement);
  }
}

it('transactions that change the schema run one at a time, and the later one sees what the earlier one left', async () => {
  await pair.run(
    "CREATE FUNCTION doomed() RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1'",
    'CREATE SCHEMA doomed_schema',
  );
  const other = await pair.session();
  for (const [drop, use] of [
    ['DROP FUNCTION doomed()', 'CREATE TABLE uses_doomed (i int DEFAULT doomed())'],
    ['DROP SCHEMA doomed_schema', 'CREATE TABLE doomed_schema.u (i int)'],
  ] as const) {
    await client.query('BEGIN');
    await client.query(drop);
    await other.query('BEGIN');
    await other.query('CREATE TEMP TABLE waits_for_nobody (i int) ON COMMIT DROP');
    const waiting = other.query(use).catch(sqlStateOf);
    expect(await Promise.race([waiting, new Promise((resolve) => setTimeout(resolve, 200, 'waits'))])).toBe(
      'waits',
    );
    await pair.commit(client);
    expect(await waiting).toMatch(/^(42883|3F000)$/);
    await other.query('ROLLBACK');
  }
  // Rows need no turn.
  await client.query('BEGIN');
  await client.query('CREATE TABLE turn (i int)');
  await pair.run("UPDATE t SET v = v || 'x'");
  await pair.commit(client);
  await pair.replicate();
  expect(await comparableDump(pair.follower, 'barista')).toEqual(
    await comparableDump(pair.leader, 'barista'),
  );
});
