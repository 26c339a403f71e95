import { describe, expect, it } from 'vitest';
import type { ClientFunction } from '../../../ports/client-functions.ts';
import { findTelling, type TellingFunctions } from './telling-functions.ts';

const breathe = (): Promise<void> => Promise.resolve();

function made(name: string, source: string, more: Partial<ClientFunction> = {}): ClientFunction {
  return { name, source, language: 'plpgsql', isUsed: false, calls: [], ...more };
}

function find(functions: readonly ClientFunction[] | null, unnamedTells = false): Promise<TellingFunctions> {
  return findTelling({ mark: 'm', functions, unnamedTells }, breathe);
}

async function tells(source: string, language = 'plpgsql'): Promise<boolean> {
  return (await find([made('f', source, { language })])).namedIn('SELECT f()').tells;
}

describe('a function tells of state', () => {
  it.each([
    'BEGIN PERFORM pg_advisory_lock(k); END',
    'BEGIN RETURN pg_catalog.pg_try_advisory_lock_shared(1, 2); END',
    'BEGIN CREATE TEMP TABLE tt (a int); END',
    'BEGIN CREATE LOCAL /* so */ TEMPORARY TABLE tt (a int); END',
    'BEGIN CREATE OR REPLACE TEMP VIEW v AS SELECT 1; END',
    'BEGIN CREATE TABLE "pg_temp".tt (a int); END',
    'BEGIN SET search_path TO x; END',
    'BEGIN IF true THEN SET x.y = 1; END IF; END',
    'BEGIN FOR i IN 1..2 LOOP RESET x.y; END LOOP; END',
    'BEGIN /* a /* comment */ ; */ SET SESSION x.y = 1; END',
    'BEGIN SET local.x = 1; END',
    'BEGIN <<here>> SET x.y = 1; END',
    "BEGIN PERFORM set_config('x.y', v, false); END",
    "BEGIN PERFORM set_config('x.y', coalesce(v, 'true'), is_local => true); END",
    "BEGIN PERFORM set_config('x.y', set_config('x.z', 'a', false), true); END",
    "BEGIN PERFORM set_config('x.y', 'a',",
    'BEGIN LISTEN here; END',
    "BEGIN UPDATE ONLY pg_catalog.pg_settings SET setting = 1 WHERE name = 'work_mem'; END",
    'BEGIN OPEN c; DECLARE d CURSOR WITH HOLD FOR SELECT 1; END',
    "BEGIN EXECUTE 'SET x.y = 1'; END",
    "BEGIN EXECUTE 'SET ' || n || ' = ' || v; END",
    "BEGIN EXECUTE format('SET %I = %L', n, v); END",
    'BEGIN EXECUTE $q$ LISTEN here $q$; END',
    "BEGIN EXECUTE E'\\x53ET x.y = 1'; END",
    "BEGIN EXECUTE 'SE' || 'T x.y = 1'; END",
    "BEGIN EXECUTE 'SELECT pg_advisory' || '_lock(4)'; END",
    "BEGIN EXECUTE 'SELECT ' || quote_ident(f) || '(4)'; END",
    "BEGIN EXECUTE format('SELECT %I.%I(4)', s, f); END",
    "BEGIN EXECUTE format('SELECT %s', f); END",
    "BEGIN EXECUTE format(f, 'x'); END",
    'BEGIN EXECUTE what; END',
    'BEGIN EXECUTE (EXECUTE x); END',
    'BEGIN FOR r IN EXECUTE what USING 1 LOOP NULL; END LOOP; END',
    'BEGIN RETURN QUERY EXECUTE quote_ident(x); END',
    "BEGIN EXECUTE 'DO $$BEGIN SET x.y = 1; END$$'; END",
    "BEGIN RETURN query_to_xml(q, true, true, ''); END",
  ])('%s', async (source) => {
    expect(await tells(source)).toBe(true);
  });

  it.each([
    'BEGIN PERFORM pg_advisory_xact_lock(k); RETURN pg_try_advisory_xact_lock_shared(1, 2); END',
    'BEGIN CREATE TABLE tt (temp int); SELECT temp INTO x FROM tt; END',
    'BEGIN UPDATE t SET a = 1; INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2; END',
    'BEGIN SET LOCAL x.y = 1; SET CONSTRAINTS ALL DEFERRED; END',
    "BEGIN PERFORM set_config('x.y', coalesce(f(a, b), 'x'), true); END",
    'BEGIN SELECT setting INTO x FROM pg_settings; END',
    "BEGIN -- SET x.y = 1\n RAISE NOTICE 'SET %', v; NOTIFY here; END",
    "BEGIN IF TG_OP = 'SET' THEN new.at := now(); END IF; RETURN new; END",
    "BEGIN EXECUTE 'INSERT INTO t VALUES ($1)' USING new.a; END",
    "BEGIN EXECUTE format('INSERT INTO %I.%I (a, b) VALUES ($1, %L)', s, t, v) USING new.a; END",
    "BEGIN EXECUTE 'INSERT INTO ' || quote_ident(s) || '.' || quote_ident(t) || ' (a) SELECT ' || quote_literal(v); END",
    "BEGIN EXECUTE 'UPDATE log SET a = 1 WHERE t = ' || quote_literal(TG_TABLE_NAME::text) || ' LIMIT ' || 4; END",
    "BEGIN EXECUTE format('CREATE TRIGGER x AFTER INSERT ON %I EXECUTE FUNCTION g()', t); GRANT EXECUTE ON FUNCTION g() TO x; END",
  ])('not so: %s', async (source) => {
    expect(await tells(source)).toBe(false);
  });

  it('by its language, if it is one that nobody can judge', async () => {
    expect(await tells('1 + 1', 'plperl')).toBe(true);
    expect(await tells('pg_advisory_lock_int8', 'internal')).toBe(true);
    expect(await tells('set_config_by_name', 'internal')).toBe(true);
    expect(await tells('aggregate_dummy', 'internal')).toBe(false);
    expect(await tells('EXECUTE prepared', 'sql')).toBe(true);
  });

  it('if it is too long to be judged', async () => {
    expect(await tells(`SELECT 1 ${' '.repeat(200_000)}`, 'sql')).toBe(true);
  });
});

describe('what calls such a function', () => {
  const flock = made('flock', 'BEGIN PERFORM pg_advisory_lock(k); END');

  it('tells, too, through others, in a circle, and in either order', async () => {
    const found = await find([
      made('outer', 'BEGIN PERFORM "Middle"(1); END'),
      made('Middle', 'SELECT inner_one()', { language: 'sql' }),
      made('inner_one', "BEGIN EXECUTE 'SELECT fl' || 'ock(4)'; PERFORM outer(1); END"),
      made('other', "BEGIN RAISE NOTICE 'flock'; END"),
      made('atomic', '', { language: 'sql', calls: ['flock'] }),
      made('own', '', { language: 'sql', calls: ['pg_advisory_lock'] }),
      flock,
    ]);
    const said = [
      'outer',
      'MIDDLE',
      'inner_one',
      'other',
      'atomic',
      'own',
      'flock',
      'flocks',
      'xflock',
    ].filter((name) => found.namedIn(`SELECT a.${name}(1)`).tells);
    expect(said).toEqual(['outer', 'MIDDLE', 'inner_one', 'atomic', 'own', 'flock']);
    expect(found.all).toBe(false);
  });

  it.each([
    ['a trigger runs it', [flock, made('fires', 'BEGIN PERFORM flock(1); END', { isUsed: true })], false],
    ['its name is not found in a text', [made('größe', 'BEGIN SET x = 1; END')], false],
    ['PostgreSQL knows of a view that locks', [], true],
    ['there are too many functions', null, true],
  ])('makes every text tell if %s', async (_, functions, unnamedTells) => {
    const found = await find(functions, unnamedTells);
    expect([found.all, found.namedIn('SELECT 1').tells]).toEqual([true, true]);
  });

  it('does not if nothing runs it by itself', async () => {
    const found = await find([flock, made('fires', 'BEGIN RETURN new; END', { isUsed: true })]);
    expect(found.namedIn('INSERT INTO t VALUES (1)')).toMatchObject({ tells: false, hides: false });
  });
});

describe('a custom setting that a function sets', () => {
  it('is known by its name', async () => {
    const found = await find([
      made('sets', "BEGIN PERFORM set_config('App.tenant', v, false); SET app.\"User\" = 'x'; END"),
    ]);
    expect(found.settings).toEqual(['app.tenant', 'app.user']);
    expect(found.namedIn('SELECT sets()')).toMatchObject({ tells: true, hides: false });
  });

  it.each([
    "BEGIN EXECUTE 'SET ' || n || ' = ' || v; END",
    'BEGIN PERFORM set_config(n, v, false); END',
    'BEGIN EXECUTE what; END',
    'BEGIN SET größe.x = 1; END',
  ])('is hidden where its name is not: %s', async (source) => {
    const found = await find([made('sets', source), made('calls', 'BEGIN PERFORM sets(); END')]);
    expect(found.namedIn('SELECT calls()')).toMatchObject({ tells: true, hides: true });
  });

  it('is not looked for in what need not be named, and says nothing of one', async () => {
    const opaque = made('fires', 'BEGIN EXECUTE what; END', { isUsed: true });
    expect((await find([opaque])).namedIn('SELECT 1')).toMatchObject({ tells: true, hides: false });
    const sets = made('fires', "BEGIN EXECUTE 'SET ' || n; END", { isUsed: true });
    expect((await find([sets])).namedIn('SELECT 1')).toMatchObject({ tells: true, hides: true });
  });
});

it('names are found in no more than they are', async () => {
  const found = await find([made('lock', 'BEGIN SET x = 1; END')]);
  const said = [
    'lock(1)',
    'a.LOCK',
    '"lock"',
    'U&"\\006cock"',
    'lock1',
    'lock$',
    'lockö',
    'block',
    '',
  ].filter((text) => found.namedIn(text).tells);
  expect(said).toEqual(['lock(1)', 'a.LOCK', '"lock"', 'U&"\\006cock"']);
});
