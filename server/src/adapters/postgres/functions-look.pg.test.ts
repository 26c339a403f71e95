/** What a look at a database's functions finds, and when it finds another mark. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestPostgres, type TestPostgres } from '../../gateways/pgwire/testing/postgres.ts';
import type { ClientFunctions } from '../../ports/client-functions.ts';
import { lookAtFunctions } from './functions-look.ts';

let pg: TestPostgres;
beforeAll(async () => {
  pg = await startTestPostgres();
});
afterAll(async () => {
  await pg.stop();
});

async function look(): Promise<ClientFunctions> {
  return (await lookAtFunctions(pg.superuser, null)) as ClientFunctions;
}

it('finds functions, what they call, and whether they may run without being named', async () => {
  expect(await look()).toMatchObject({ functions: [], unnamedTells: false });
  const locks = 'BEGIN PERFORM pg_advisory_lock(k); RETURN true; END';
  await pg.superuser.query(`
    CREATE FUNCTION locks(k bigint) RETURNS boolean LANGUAGE plpgsql AS '${locks}';
    CREATE FUNCTION atomic() RETURNS boolean BEGIN ATOMIC SELECT pg_advisory_lock(4); SELECT locks(4); END;
    CREATE FUNCTION sets(x text DEFAULT set_config('a.b', 'c', false)) RETURNS text LANGUAGE sql AS 'SELECT $1';
    CREATE FUNCTION adds(int, bigint) RETURNS int LANGUAGE sql AS 'SELECT $1';
    CREATE AGGREGATE gathers(bigint) (SFUNC = adds, STYPE = int);
    CREATE FUNCTION pg_temp.own() RETURNS int LANGUAGE sql AS 'SELECT 1';
    CREATE VIEW v AS SELECT sets('x')`);
  const { functions, unnamedTells } = await look();
  expect(unnamedTells).toBe(false);
  const found = (functions ?? []).toSorted((one, other) => one.name.localeCompare(other.name));
  expect(found.map(({ name, language, isUsed, calls }) => [name, language, isUsed, calls])).toEqual([
    ['adds', 'sql', false, []],
    ['atomic', 'sql', false, ['locks', 'pg_advisory_lock']],
    ['gathers', 'internal', false, ['adds']],
    ['locks', 'plpgsql', false, []],
    ['sets', 'sql', true, ['set_config']],
  ]);
  expect(found[3]?.source).toBe(locks);
});

it.each([
  'CREATE FUNCTION more() RETURNS int LANGUAGE sql AS $$SELECT 1$$',
  'CREATE OR REPLACE FUNCTION more() RETURNS int LANGUAGE sql AS $$SELECT 2$$',
  'CREATE VIEW uses AS SELECT more()',
  'DROP VIEW uses',
  'CREATE TABLE with_default (a text, b int DEFAULT more())',
  "ALTER TABLE with_default ALTER a SET DEFAULT set_config('a.b', 'c', false)",
  'DROP TABLE with_default',
  'DROP FUNCTION more()',
])('has another mark behind %s, and the same one as long as nothing changes', async (sql) => {
  const { mark } = await look();
  expect(await lookAtFunctions(pg.superuser, mark)).toBe('same');
  await pg.superuser.query(sql);
  expect((await look()).mark).not.toBe(mark);
});

it('has the same mark when temporary objects come and go', async () => {
  const { mark } = await look();
  await pg.superuser.query(
    'CREATE TEMP TABLE passing (a int DEFAULT 1 CHECK (a > 0)); CREATE TEMP VIEW seen AS SELECT * FROM passing',
  );
  expect(await lookAtFunctions(pg.superuser, mark)).toBe('same');
});

it.each([
  ['a view', 'CREATE VIEW locking AS SELECT pg_try_advisory_lock(4)', 'DROP VIEW locking'],
  ['a default', "CREATE TABLE locking (a text DEFAULT set_config('a.b', 'c', false))", 'DROP TABLE locking'],
  [
    'a policy',
    'CREATE TABLE locking (a int); CREATE POLICY p ON locking USING (pg_try_advisory_lock(a))',
    'DROP TABLE locking',
  ],
  [
    'a condition of a trigger',
    `CREATE TABLE locking (a int); CREATE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
      CREATE TRIGGER f BEFORE INSERT ON locking FOR EACH ROW WHEN (pg_try_advisory_lock(new.a)) EXECUTE FUNCTION fires()`,
    'DROP TABLE locking; DROP FUNCTION fires()',
  ],
  ['a check', 'CREATE DOMAIN locking AS int CHECK (pg_try_advisory_lock(VALUE))', 'DROP DOMAIN locking'],
  [
    'an operator',
    'CREATE OPERATOR <<< (RIGHTARG = bigint, FUNCTION = pg_try_advisory_lock)',
    'DROP OPERATOR <<< (none, bigint)',
  ],
])('finds %s that calls a function of PostgreSQL which tells', async (_, makes, drops) => {
  await pg.superuser.query(makes);
  expect((await look()).unnamedTells).toBe(true);
  await pg.superuser.query(drops);
  expect((await look()).unnamedTells).toBe(false);
});

it('reads no sources beyond its bounds', async () => {
  const long = `/* ${'x'.repeat(8_400_000)} */ SELECT 1`;
  await pg.superuser.query(`CREATE FUNCTION long() RETURNS int LANGUAGE sql AS '${long}'`);
  expect(await look()).toMatchObject({ functions: null, unnamedTells: true });
});
