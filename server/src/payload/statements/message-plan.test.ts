/** Which requests may change what their session has: of others nothing is asked behind them. */
import { describe, expect, it } from 'vitest';
import {
  bind,
  closePortal,
  closeStatement,
  execute,
  parse,
  query,
  sync,
} from '../../pgwire/frontend-messages.ts';
import { usualRules } from '../../pgwire/text-rules.ts';
import { planRequest } from './message-plan.ts';
import type { StatementMeaning } from './request-plan.ts';

function changes(bytes: Buffer, statements: ReadonlyMap<string, StatementMeaning> = new Map()): boolean {
  const advance = { column: 'c', call: () => 'SELECT 1' };
  const plan = planRequest(bytes, {
    status: 'I',
    rules: usualRules,
    statements,
    portals: new Map(),
    advance,
  });
  if (plan.code === 'refused') throw new Error(plan.message);
  return plan.mayChangeState;
}

describe('a request that may change its session', () => {
  it.each([
    'SET a.b = 1',
    'UPDATE t SET a = 1; SET a.b = 1',
    '/* x */ set local statement_timeout = 5',
    'SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY',
    "SELECT set_config('a.b', '1', false)",
    'SELECT pg_try_advisory_lock(1)',
    'DECLARE c CURSOR WITH HOLD FOR SELECT 1',
    'EXECUTE p',
    "SET transaction.x = '1'",
    'DECLARE c CURSOR WITH/**/HOLD FOR SELECT 1',
    "SELECT '/*' || set_config('a.b', '1', false) || '*/'",
    'DO $$ BEGIN END $$',
    'DISCARD ALL',
  ])('%s', (text) => {
    expect(changes(query(text))).toBe(true);
  });

  it.each([
    'UPDATE t SET a = 1',
    'INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2',
    'SET TRANSACTION ISOLATION LEVEL SERIALIZABLE',
    'BEGIN',
    'DECLARE c CURSOR FOR SELECT 1',
  ])('and not: %s', (text) => {
    expect(changes(query(text))).toBe(false);
  });

  it('closes a statement that has a name, and not one without, nor a portal', () => {
    expect(changes(Buffer.concat([closeStatement('p'), sync]))).toBe(true);
    expect(changes(Buffer.concat([closeStatement(''), sync]))).toBe(false);
    expect(changes(Buffer.concat([closePortal('p'), sync]))).toBe(false);
  });
});

it('a statement that was prepared changes its session whenever it is executed', () => {
  const named = Buffer.concat([parse('s', 'SET a.b = 1'), sync]);
  expect(changes(named)).toBe(true);
  const again = Buffer.concat([bind({ portal: '', statement: 's' }), execute(''), sync]);
  const set: StatementMeaning = { kind: 'setting', word: 'set', changesState: true };
  expect(changes(again, new Map([['s', set]]))).toBe(true);
  const update: StatementMeaning = { kind: 'plain', word: 'update', changesState: false };
  expect(changes(again, new Map([['s', update]]))).toBe(false);
});

describe('a function whose body is SQL of its own', () => {
  function plan(text: string): string {
    const advance = { column: 'c', call: () => 'SELECT 1' };
    const context = {
      status: 'I',
      rules: usualRules,
      statements: new Map(),
      portals: new Map(),
      advance,
    } as const;
    const planned = planRequest(query(text), context);
    return planned.code === 'refused' ? planned.sqlState : planned.mode;
  }

  it.each([
    'CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; END',
    "create or replace procedure p(a numeric(10, 2) default (1))\nbegin  atomic insert into t values ('; end'); select case when true then 1 end;\nend ;",
  ])('is one statement: %s', (text) => {
    expect(plan(text)).toBe('perhapsAlone');
  });

  it.each([
    'CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; END; COMMIT',
    'CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; END; SELECT 1; END',
    'CREATE FUNCTION f(begin atomic) RETURNS int LANGUAGE sql RETURN 1; INSERT INTO t VALUES (1); END',
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS ' begin atomic '; SELECT atomic FROM t; END",
    'CREATE VIEW v AS SELECT begin atomic FROM t; INSERT INTO t VALUES (1); END',
    'CREATE FUNCTION f() RETURNS int /* x */ BEGIN ATOMIC SELECT 1; END',
    'CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1',
  ])('and not: %s', (text) => {
    expect(plan(text)).not.toBe('perhapsAlone');
  });
});
