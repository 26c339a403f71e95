/** Sessions that a replica opens again behind a restart: they have what they had, whatever was said of their roles and databases since; those that could not be opened end in time, and everywhere. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openStatementDatabase } from '../../adapters/postgres/statements/own-database.ts';
import { bind, closeStatement, execute as run, parse, query, sync } from '../../pgwire/frontend-messages.ts';
import type { Operation } from './operation.ts';
import { SessionMemory } from './session-memory.ts';
import { begin, execute, type Machine, make } from './testing/machine.ts';
import { answerBytesMax, openOf, requestOf, secret, sessionOf, words } from './testing/statement-replica.ts';

let machine: Machine;
let log: Operation[];
let seqs: Map<string, number>;

beforeEach(async () => {
  machine = await make();
  log = [];
  seqs = new Map();
});

afterEach(async () => {
  await machine.executor.stop().catch(() => undefined);
  await machine.postgres.remove();
});

async function add(operation: Operation): Promise<string> {
  log.push(operation);
  await execute(machine, log);
  return words(machine.results.get(log.length)?.answer ?? Buffer.alloc(0));
}

const open = (name: string, user = 'barista'): Promise<string> => add({ ...openOf(name), user });

function send(name: string, bytes: Buffer): Promise<string> {
  const seq = (seqs.get(name) ?? 0) + 1;
  seqs.set(name, seq);
  return add(requestOf(name, seq, bytes));
}

const sql = (name: string, text: string): Promise<string> => send(name, query(text));
const show = (name: string, setting: string): Promise<string> =>
  sql(name, `SELECT current_setting('${setting}', true)`);

async function restart(): Promise<void> {
  await machine.executor.stop();
  machine = await begin(machine.postgres, false);
  expect(machine.started).toEqual({ code: 'exact', pointer: log.length });
}

it('have settings whose names are not ASCII, and none is lost for one that the client cannot be told', async () => {
  await open('a');
  await sql('a', "SELECT set_config('q.É', '1', false); SET \"É\".x = 2; SET Q.plain = 3");
  await restart();
  expect(await show('a', 'q.É')).toBe('(1) SELECT 1 I');
  expect(await show('a', 'É.X')).toBe('(2) SELECT 1 I');
  await sql('a', 'SET client_encoding = SJIS');
  await restart();
  expect(await show('a', 'q.plain')).toBe('(3) SELECT 1 I');
});

it('have the settings that their role and database gave when they were opened', async () => {
  await open('b');
  for (const text of [
    "ALTER ROLE barista SET work_mem = '5MB'",
    "ALTER ROLE barista SET statement_timeout = '20s'",
    "ALTER DATABASE barista SET application_name = 'at first, \\ and more'",
    "ALTER DATABASE barista SET work_mem = '4MB'",
  ])
    expect(await sql('b', text)).toMatch(/^ALTER/);
  await open('a');
  expect(await show('a', 'work_mem')).toBe('(5MB) SELECT 1 I');
  for (const text of [
    "ALTER ROLE barista SET work_mem = '6MB'",
    'ALTER ROLE barista SET enable_seqscan = off',
    "ALTER ROLE barista SET statement_timeout = '1ms'",
    'ALTER DATABASE barista RESET application_name',
  ])
    expect(await sql('b', text)).toMatch(/^ALTER/);
  await restart();
  for (const reset of ['SELECT 1', 'RESET ALL']) {
    await sql('a', reset);
    expect(await show('a', 'work_mem')).toBe('(5MB) SELECT 1 I');
    expect(await show('a', 'application_name')).toBe('(at first, \\ and more) SELECT 1 I');
    expect(await show('a', 'enable_seqscan')).toBe('(on) SELECT 1 I');
    expect(await show('a', 'statement_timeout')).toBe('(0) SELECT 1 I');
  }
  expect(await show('b', 'work_mem')).toBe('(4MB) SELECT 1 I');
  // What is opened now has what is said now.
  await open('c');
  expect(await show('c', 'work_mem')).toBe('(6MB) SELECT 1 I');
});

it('have the settings of PL/pgSQL, though they have called no function of it since', async () => {
  await open('a');
  await sql('a', 'DO $$ BEGIN NULL; END $$');
  expect(await show('a', 'plpgsql.variable_conflict')).toBe('(error) SELECT 1 I');
  await restart();
  expect(await show('a', 'plpgsql.variable_conflict')).toBe('(error) SELECT 1 I');
});

it('keep what their clients have asked for themselves', async () => {
  await add({ ...openOf('a'), parameters: [['options', '-c work_mem=9MB']] });
  await open('b');
  await sql('b', "ALTER ROLE barista SET work_mem = '6MB'");
  await restart();
  expect(await show('a', 'work_mem')).toBe('(9MB) SELECT 1 I');
  expect(await show('b', 'statement_timeout')).toBe('(0) SELECT 1 I');
});

it('end when their role may not log in any more, and not before that is committed', async () => {
  const operator = await machine.postgres.connect();
  await operator.query('ALTER ROLE barista CREATEROLE');
  await open('a');
  for (const text of ['CREATE ROLE guest LOGIN', 'CREATE ROLE other LOGIN', 'CREATE ROLE third LOGIN'])
    await sql('a', text);
  for (const [name, user] of [
    ['g', 'guest'],
    ['o', 'other'],
    ['t', 'third'],
    ['t2', 'third'],
  ] as const)
    await open(name, user);
  await sql('a', 'BEGIN');
  await sql('a', 'ALTER ROLE guest NOLOGIN');
  expect(await sql('g', 'SELECT 1')).toBe('(1) SELECT 1 I');
  await sql('a', 'ROLLBACK');
  expect(await sql('g', 'SELECT 1')).toBe('(1) SELECT 1 I');
  await sql('a', 'ALTER ROLE guest NOLOGIN');
  expect(await sql('g', 'SELECT 1')).toBe('!08003');
  await sql('a', 'ALTER ROLE third CONNECTION LIMIT 1');
  expect(await sql('t', 'SELECT 1')).toBe('(1) SELECT 1 I');
  expect(await sql('t2', 'SELECT 1')).toBe('!08003');
  await restart();
  // Of the same name, and another role.
  await sql('a', 'DROP ROLE other; CREATE ROLE other LOGIN');
  expect(await sql('o', 'SELECT 1')).toBe('!08003');
  expect(await sql('a', 'REVOKE CONNECT ON DATABASE barista FROM PUBLIC')).toBe('REVOKE I');
  expect(await sql('t', 'SELECT 1')).toBe('!08003');
  expect(await sql('a', 'SELECT 1')).toBe('(1) SELECT 1 I');
  await restart();
  expect([...machine.executor.openSessions()]).toEqual([sessionOf('a')]);
});

it('have prepared statements of what was dropped, as soon as it is there again', async () => {
  await open('a');
  await open('b');
  await sql('b', 'CREATE TABLE gone (a int)');
  await sql('a', 'PREPARE p AS INSERT INTO gone VALUES (1)');
  await send('a', Buffer.concat([parse('q', 'SELECT count(*) FROM gone'), sync]));
  const count = Buffer.concat([bind({ portal: '', statement: 'q' }), run(''), sync]);
  await sql('b', 'DROP TABLE gone');
  await restart();
  expect(await sql('a', 'EXECUTE p')).toBe('!26000 I');
  await restart();
  await sql('b', 'CREATE TABLE gone (a int)');
  expect(await sql('a', 'EXECUTE p')).toBe('INSERT 0 1 I');
  expect(await send('a', count)).toBe('(1) SELECT 1 I');
  await restart();
  expect(await sql('a', 'EXECUTE p')).toBe('INSERT 0 1 I');
});

it('have no statements that they have closed, and keep so many bytes of them prepared', async () => {
  await open('a');
  await send('a', Buffer.concat([parse('p', 'SELECT 1'), sync]));
  await send('a', Buffer.concat([closeStatement('p'), sync]));
  await restart();
  expect(await send('a', Buffer.concat([parse('p', 'SELECT 2'), sync]))).toBe('I');
  const long = `SELECT length('${'x'.repeat(200_000)}')`;
  for (let n = 0; n < 20; n += 1)
    expect(await send('a', Buffer.concat([parse(`long${n}`, long), sync]))).toBe('I');
  expect(await send('a', Buffer.concat([parse('long20', long), sync]))).toBe('!53400 I');
  expect(await sql('a', `PREPARE long20 AS ${long}`)).toBe('!53400 I');
  const unnamed = [parse('', long), bind({ portal: '', statement: '' }), run(''), sync];
  expect(await send('a', Buffer.concat(unnamed))).toBe('(200000) SELECT 1 I');
  await restart();
  expect(await sql('a', `PREPARE long20 AS ${long}`)).toBe('!53400 I');
  await sql('a', 'DEALLOCATE long0');
  expect(await sql('a', `PREPARE long20 AS ${long}`)).toBe('PREPARE I');
});

it('leave nothing behind when they are closed', async () => {
  await open('a');
  await open('z');
  await add({ kind: 'close', session: sessionOf('z') });
  await restart();
  const database = await openStatementDatabase({
    socketDir: machine.postgres.socketDir,
    secret,
    messageBytesMax: answerBytesMax,
    isAfterCrash: false,
  });
  await new SessionMemory(database).forget(log.length);
  const rows = await database.query('SELECT session::int FROM pg_barista.statement_session ORDER BY 1');
  await database.close();
  expect(rows).toEqual([{ session: 1 }]);
});

it('have settings of their own, however long the text is that makes them', async () => {
  await open('a');
  // The last byte of its message's length is a letter.
  const value = 'v'.repeat(0x61 - 4 - "SET my.own = ''".length - 1);
  expect(await sql('a', `SET my.own = '${value}'`)).toBe('SET I');
  await restart();
  expect(await show('a', 'my.own')).toBe(`(${value}) SELECT 1 I`);
});

it.each([
  ['its role', 'SET ROLE other', 'REVOKE other FROM plain'],
  [
    'a text search configuration',
    "SET default_text_search_config = 'public.gone'",
    'DROP TEXT SEARCH CONFIGURATION gone',
  ],
])('are lost without %s, which costs no database, and are closed everywhere', async (_what, has, loses) => {
  const operator = await machine.postgres.connect();
  await operator.query('ALTER ROLE barista CREATEROLE');
  await open('b');
  await sql('b', 'CREATE ROLE other');
  await sql('b', 'CREATE ROLE plain LOGIN');
  await sql('b', 'GRANT other TO plain');
  await sql('b', 'CREATE TEXT SEARCH CONFIGURATION gone (COPY = simple)');
  await open('a', 'plain');
  await open('c');
  expect(await sql('a', has)).toBe('SET I');
  const done = await sql('b', `DO $$ BEGIN EXECUTE '${loses.slice(0, 2)}' || '${loses.slice(2)}'; END $$`);
  expect(done).toBe('DO I');
  await restart();
  expect([...machine.executor.lostSessions()]).toEqual([sessionOf('a')]);
  expect([...machine.executor.openSessions()]).toHaveLength(2);
  const asked = requestOf('a', 2, query('SELECT 1'));
  expect(machine.executor.lacks(asked)).toBe(true);
  expect(machine.executor.lacks(requestOf('c', 1, query('SELECT 1')))).toBe(false);
  // It is opened once, whatever comes again.
  await open('a', 'plain');
  expect([...machine.executor.lostSessions()]).toHaveLength(1);
  await add({ kind: 'close', session: sessionOf('a') });
  expect(machine.executor.lacks(asked)).toBe(false);
  expect(await sql('a', 'SELECT 1')).toContain('08003');
  await restart();
  expect([...machine.executor.lostSessions()]).toEqual([]);
});

it('end where another role has got the name of their own unseen, and are whom SET ROLE made them under a new name', async () => {
  const operator = await machine.postgres.connect();
  await operator.query(
    'CREATE ROLE work; CREATE ROLE leaves LOGIN IN ROLE work; CREATE ROLE stays LOGIN IN ROLE work',
  );
  await open('a', 'leaves');
  await open('b', 'stays');
  await sql('b', 'SET ROLE work');
  await operator.query(
    'ALTER ROLE work RENAME TO works; CREATE ROLE work; GRANT work TO stays; ALTER ROLE leaves RENAME TO others; CREATE ROLE leaves LOGIN',
  );
  await restart();
  expect(await sql('b', 'SELECT current_user')).toBe('(works) SELECT 1 I');
  expect(await sql('a', 'SELECT current_user')).toBe('!08003');
});

it('goes on where the role is dropped that SET ROLE made it, keeps what it sets then, and ends at a restart', async () => {
  const operator = await machine.postgres.connect();
  await operator.query('CREATE ROLE work; GRANT work TO barista');
  await open('a');
  await open('b');
  await sql('b', 'SET ROLE work');
  await operator.query('DROP ROLE work');
  for (const size of ['8MB', '9MB', '10MB']) expect(await sql('b', `SET work_mem = '${size}'`)).toBe('SET I');
  expect(await show('b', 'work_mem')).toBe('(10MB) SELECT 1 I');
  await restart();
  expect(await sql('b', 'SELECT 1')).toBe('!08003');
  expect(await sql('a', 'SELECT 1')).toBe('(1) SELECT 1 I');
});
