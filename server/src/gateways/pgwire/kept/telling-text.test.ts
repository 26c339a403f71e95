import { describe, expect, it } from 'vitest';
import {
  customSettingNamed,
  customSettings,
  hasPlainValues,
  setsCustom,
  setsHidden,
  tellsOfState,
} from './telling-text.ts';

describe('texts after which PostgreSQL is asked what the session has', () => {
  it.each([
    'SET a = 1',
    '  set search_path to x',
    'SELECT 1; SET a = 1',
    '/* tag */ SET a = 1',
    '-- tag\n  SET a = 1',
    'SET SESSION a = 1',
    'SET transaction.a = 1',
    'SET"a" = 1',
    'SET/**/a = 1',
    '\0SET a = 1\0\0\0',
    'name\0LISTEN x\0\0\0',
    `-- ${'x'.repeat(900)}\n-- y\rSET a = 1`,
    'RESET ALL',
    'DISCARD ALL',
    'PREPARE p AS SELECT 1',
    'PREPARE transaction AS SELECT 1',
    'PREPARE transaction (int) AS SELECT 1',
    'PREPARE transactional AS SELECT 1',
    "PREPARE TRANSACTION 'x'; SET a = 1",
    'DEALLOCATE p',
    'LISTEN x',
    'UNLISTEN *',
    "SELECT set_config('a', 'b', false)",
    'SELECT pg_advisory_lock(1)',
    'CREATE TEMP TABLE t (a int)',
    'CREATE TEMPORARY VIEW v AS SELECT 1',
    'create local temporary sequence s',
    'SELECT 1 INTO TEMP t',
    'CREATE TABLE pg_temp.t (a int)',
    'DECLARE c CURSOR WITH HOLD FOR SELECT 1',
    'DO $$ BEGIN SET a = 1; END $$',
    "UPDATE pg_settings SET setting = '1' WHERE name = 'a'",
  ])('%s', (text) => {
    expect(tellsOfState(text)).toBe(true);
  });

  it.each([
    'UPDATE t SET a = 1',
    'UPDATE t\n  SET a = 1',
    'SETTINGS',
    'UPDATE t -- t\n, u\n SET a = 1',
    'SET LOCAL a = 1',
    'INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 1',
    'INSERT INTO t VALUES (1) ON CONFLICT DO  NOTHING',
    'SET TRANSACTION READ ONLY',
    "SELECT set_config('a', 'b', true)",
    'SELECT temp, hold, listen FROM t',
    "INSERT INTO t VALUES ('RESET')",
    'BEGIN',
    "PREPARE TRANSACTION 'x'",
    "prepare\n  transaction E'x'",
    'PREPARE TRANSACTION $$x$$',
    "PREPARE TRANSACTION U&'x'",
    "PREPARE/* of */TRANSACTION -- named\n 'x'",
    "INSERT INTO t VALUES (1); PREPARE TRANSACTION 'x'",
    "\0PREPARE TRANSACTION 'x'\0\0\0",
  ])('and not: %s', (text) => {
    expect(tellsOfState(text)).toBe(false);
  });
});

describe('a long text', () => {
  it('counts as telling where statements may begin in more places than are looked at', () => {
    const text = `${'; s'.repeat(20_000)}; set`;
    expect(tellsOfState(text)).toBe(true);
    expect(tellsOfState(`${'; s'.repeat(20_000)}; se`)).toBe(false);
  });

  it.each([
    `UPDATE t SET a = 1 WHERE b IN (${"'x',\n".repeat(20_000)}'y')`,
    `UPDATE t SET a = 1\0${'\0\0\0\x05hello'.repeat(10_000)}`,
    `${'INSERT INTO t VALUES (1);\n'.repeat(20_000)}UPDATE t SET a = 1`,
    `UPDATE t SET a = 1${';'.repeat(100_000)}`,
  ])('and not: %#', (text) => {
    expect([tellsOfState, setsHidden, setsCustom].map((looks) => looks(text))).toEqual([false, false, false]);
  });

  it('names custom settings so often that they are not told', () => {
    expect(customSettings("'a.b' ".repeat(1_000))).toHaveLength(1_000);
    expect(customSettings("'a.b' ".repeat(1_001))).toBeNull();
  });
});

it('custom settings are found by their names', () => {
  expect(customSettings("SET app.user = 'x'; set session a.b to 1")).toEqual(['app.user', 'a.b']);
  expect(customSettings("SELECT set_config('app.tenant', $1, false), 'no name'")).toEqual(['app.tenant']);
  expect(customSettingNamed('App.user')).toBe('app.user');
  for (const other of ['user', 'app.user is', `app.${'x'.repeat(125)}`])
    expect(customSettingNamed(other)).toBeNull();
});

it('custom settings are found by names in quotes, and with blanks', () => {
  expect(customSettings(`SET "app"."X" = 1; SET app . y TO 1; SET"a".b=1; SET session.z = 1`)).toEqual([
    'app.x',
    'app.y',
    'a.b',
    'session.z',
  ]);
});

describe('a text may set what cannot be found so', () => {
  it.each([
    'SET gr\u00f6\u00dfe.x = 1',
    'SET app.gr\u00f6\u00dfe = 1',
    'SET app./* of mine */x = 1',
    "SELECT set_config('app.' || x, '1', false)",
    "SELECT set_config('gr\u00f6\u00dfe.x', '1', false)",
    'SELECT set_config(name, value, false) FROM mine',
  ])('%s', (text) => {
    expect(setsHidden(text)).toBe(true);
  });

  it.each([
    'SET app.x = 1',
    'SET "app"."x" = 1',
    "SET app.x = 'gr\u00f6\u00dfe. /* */'",
    'SET ROLE gr\u00f6\u00dfe',
    'SET TIME ZONE LOCAL -- of mine',
    'UPDATE t SET gr\u00f6\u00dfe = 1 WHERE a.b = 2',
    "SELECT set_config('app.x', '1', false)",
    "SELECT set_config('app.x'::text, $1, false)",
    'SELECT set_config($1, $2, false)',
    "SELECT set_config('app.' || x, '1', true)",
  ])('and not: %s', (text) => {
    expect(setsHidden(text)).toBe(false);
  });
});

it('an EXECUTE has plain values if each of them is a string or a number', () => {
  for (const plain of ["EXECUTE p('app.x', 'a (b)')", 'EXECUTE p', "EXPLAIN ANALYZE EXECUTE p('it''s', 1)"])
    expect([plain, hasPlainValues(plain)]).toEqual([plain, true]);
  for (const other of [
    "EXECUTE p('app.' || 'x')",
    "EXECUTE p(concat('a', 'b'))",
    'EXECUTE p($$app.x$$)',
    String.raw`EXECUTE p(E'app\x2ex')`,
    "EXECUTE p(U&'app.x')",
    "EXECUTE p(/* ' */ 'app.' || 'x')",
    "EXECUTE p( -- '\n 'app.' || 'x')",
  ])
    expect([other, hasPlainValues(other)]).toEqual([other, false]);
});
