import { expect, it } from 'vitest';
import { discardsAll, kindOfText } from './asking-text.ts';

it.each([
  '',
  ' ; ;',
  '-- ping',
  '/* ping /* nested */ */;',
  'SELECT 1',
  'SELECT 1 AS x, 2 y, 3 "the ""third"""',
  'SELECT true, NULL, -1.5e-7, .5, 0x1F, 1_000',
  "SELECT 'it''s', E'a', $$b'c$$, $t$ $$ $t$, B'1', x'1f', 'in'\n'two'",
  "SELECT 1 -- it's",
  '/* SQLAlchemy */ SELECT 1',
  'SELECT $1, $2::int, CAST($3 AS pg_catalog.text)',
  "SELECT 1::int, '{1}'::integer[], 1::numeric(10, 2), now()::timestamp(3) with time zone::date",
  "SELECT date '2020-01-01', interval '1 day', double precision '1'",
  'SELECT version(), pg_catalog.now(), current_database(), current_schema(), current_schema',
  'SELECT current_user, session_user, current_timestamp(3), pg_is_in_recovery(), txid_current_if_assigned()',
  'SELECT 1 + 1 = 2 AS fine, (1)',
  "SELECT current_setting('search_path', true) || 'x', pg_barista.request_committed($1)",
  'SHOW search_path; BEGIN; SAVEPOINT s; ROLLBACK TO s; COMMIT',
  "SET barista.request_id = 'n'; SET LOCAL lock_timeout TO '1s'; RESET statement_timeout",
  'SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY',
  "SELECT set_config('barista.request_id', $1, true)",
])('asks, and leaves later texts what they mean: %s', (text) => {
  expect(kindOfText(text)).toBe('asks');
});

it('gives one setting, whose name comes later', () => {
  expect(kindOfText('SELECT set_config($1, $2, false), now()')).toBe('gives');
  expect(kindOfText('SELECT set_config($1, $2, false), set_config($3, $4, false)')).toBe('alters');
});

it.each([
  'SET search_path = a',
  'SET LOCAL ROLE other',
  'SET SESSION AUTHORIZATION other',
  'RESET ALL',
  "SET x.y = 'z'",
  "SELECT 1; SET TIME ZONE 'UTC'",
  "SELECT set_config('search_path', 'a', false)",
  "SELECT set_config('search' || '_path', 'a', false)",
  "SELECT set_config(setting_name => 'search_path', new_value => 'a', is_local => true)",
])('may alter what later texts mean: %s', (text) => {
  expect(kindOfText(text)).toBe('alters');
});

it.each([
  'SELECT 1 FROM t',
  'SELECT 1 INTO t',
  'SELECT a',
  'SELECT f()',
  'SELECT public.version()',
  'SELECT public.f AS x',
  'SELECT 1::mine',
  "SELECT mine '1'",
  'SELECT (SELECT 1)',
  'SELECT txid_current()',
  "SELECT nextval('s')",
  "SELECT version('x')",
  'SELECT 1 AS',
  'SELECT 1,',
  'SELECT 1; INSERT INTO t VALUES (1)',
  "SELECT E'a\\'b'; INSERT INTO t VALUES (1) --'",
  "SELECT $1$a'b$1$",
  "SELECT $a$ 'b",
  "SELECT 'a",
  '/* SELECT 1',
  'SELECT "a',
  'SELECT 1a$b',
  "SELECT U&'a'",
  "COMMIT PREPARED 'x'",
  "PREPARE TRANSACTION 'x'",
  'VALUES (1)',
  'EXECUTE p',
  `SELECT '${'x'.repeat(1_000)}'`,
])('may act: %s', (text) => {
  expect(kindOfText(text)).toBe('acts');
});

it('knows DISCARD ALL by itself', () => {
  for (const text of ['DISCARD ALL', '/* reset */ discard all;']) expect(discardsAll(text)).toBe(true);
  for (const text of ['DISCARD PLANS', 'DISCARD ALL; SELECT 1', 'SELECT 1', "DISCARD 'ALL"])
    expect(discardsAll(text)).toBe(false);
});
