import { describe, expect, it } from 'vitest';
import { customSettings, customSettingsAmong, tellsOfState } from './telling-text.ts';

describe('texts after which PostgreSQL is asked what the session has', () => {
  it.each([
    'SET a = 1',
    '  set search_path to x',
    'SELECT 1; SET a = 1',
    '/* tag */ SET a = 1',
    '-- tag\n  SET a = 1',
    'SET SESSION a = 1',
    'RESET ALL',
    'DISCARD ALL',
    'PREPARE p AS SELECT 1',
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
  ])('%s', (text) => {
    expect(tellsOfState(text)).toBe(true);
  });

  it.each([
    'UPDATE t SET a = 1',
    'UPDATE t\n  SET a = 1',
    'SET LOCAL a = 1',
    'SET TRANSACTION READ ONLY',
    "SELECT set_config('a', 'b', true)",
    'SELECT temp, hold, listen FROM t',
    "INSERT INTO t VALUES ('RESET')",
    'BEGIN',
  ])('and not: %s', (text) => {
    expect(tellsOfState(text)).toBe(false);
  });
});

it('custom settings are found by their names', () => {
  expect(customSettings("SET app.user = 'x'; set session a.b to 1")).toEqual(['app.user', 'a.b']);
  expect(customSettings("SELECT set_config('app.tenant', $1, false), 'no name'")).toEqual(['app.tenant']);
  expect(customSettingsAmong('\0\0app.user\0\0x')).toEqual(['app.user']);
});
