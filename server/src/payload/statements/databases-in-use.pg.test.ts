/** PostgreSQL sleeps until others have left a database; while it does, nobody else is served. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestPostgres } from '../../gateways/pgwire/testing/postgres.ts';
import * as send from '../../pgwire/frontend-messages.ts';
import { frameOf, readErrorFields } from '../../pgwire/backend-messages.ts';
import { front } from '../../pgwire/message-types.ts';
import {
  OperationFeed,
  sessionOf,
  startReplica,
  startStatementPostgres,
  type StatementReplica,
} from './testing/statement-replica.ts';

let postgres: TestPostgres;
let replica: StatementReplica;
let feed: OperationFeed;

beforeAll(async () => {
  postgres = await startStatementPostgres();
  await postgres.superuser.query('ALTER ROLE barista CREATEDB; CREATE ROLE other LOGIN');
  for (const name of ['busy', '"Ünd so"'])
    await postgres.superuser.query(`CREATE DATABASE ${name} OWNER barista`);
  replica = await startReplica(postgres);
  feed = new OperationFeed([replica]);
  await feed.open('a');
  await feed.open('foreign', 'other');
  await feed.open('in busy', 'other', 'busy');
  await feed.open('in the other', 'barista', 'Ünd so');
  await feed.open('in the template', 'other', 'template1');
});
afterAll(async () => {
  await replica.executor.stop();
  await postgres.stop();
});

/** What the process of the session a was given last that is a statement about databases. */
async function lastQuery(): Promise<string> {
  const { rows } = await postgres.superuser.query<{ query: string }>(
    "SELECT query FROM pg_stat_activity WHERE usename = 'barista' AND datname = 'barista' AND pid <> pg_backend_pid()",
  );
  return rows.map(({ query }) => query).join();
}

it.each([
  ['DROP DATABASE busy'],
  ['DROP DATABASE "Ünd so"'],
  ['ALTER DATABASE busy RENAME TO idle'],
  ['ALTER DATABASE busy SET TABLESPACE pg_default'],
  ['CREATE DATABASE copied TEMPLATE Busy'],
  ['CREATE DATABASE fresh'],
  ['CREATE TABLE t (a int); ALTER DATABASE busy RENAME TO idle'],
])('PostgreSQL is not given %s while another session is there', async (sql) => {
  expect(await feed.sql('a', sql)).toBe('!55006 I');
  expect(await lastQuery()).not.toContain(sql.slice(0, 10));
});

it('a name with escapes is refused, and no name of a client is SQL of ours', async () => {
  for (const sql of [
    'DROP DATABASE U&"b\\0075sy"',
    "CREATE DATABASE copied TEMPLATE E'bus\\x79'",
    "CREATE DATABASE copied TEMPLATE 'bus\\y'",
  ])
    expect(await feed.sql('a', sql)).toBe('!0A000 I');
  // The second byte of a letter is a backslash, which would hide the quote behind it.
  expect(await feed.sql('a', "SET client_encoding = 'SJIS'; SET backslash_quote = on")).toBe('SET SET I');
  const code = ') OR set_config($x$app.found$x$, $x$1$x$, false) IS NOT NULL --';
  const sql = Buffer.from(`CREATE DATABASE "${code}" TEMPLATE "\x83\x5c"\0`, 'latin1');
  await feed.send('a', frameOf(front.query, sql));
  expect(
    await feed.sql('a', "RESET client_encoding; SELECT current_setting('app.found', true) IS NULL"),
  ).toBe('RESET (t) SELECT 1 I');
});

it('what it says is what PostgreSQL says', async () => {
  const told = async (sql: string): Promise<(string | undefined)[]> => {
    const result = await feed.send('a', send.query(sql));
    const fields = readErrorFields(result!.answer);
    return ['M', 'D'].map((field) => fields.get(field));
  };
  expect(await told('DROP DATABASE busy')).toEqual([
    'database "busy" is being accessed by other users',
    'There is 1 other session using the database.',
  ]);
  await feed.open('also in busy', 'other', 'busy');
  expect(await told('CREATE DATABASE copied TEMPLATE busy')).toEqual([
    'source database "busy" is being accessed by other users',
    'There are 2 other sessions using the database.',
  ]);
});

it('a block fails, and so does what was prepared before', async () => {
  expect(await feed.sql('a', 'BEGIN')).toBe('BEGIN T');
  expect(await feed.sql('a', 'DROP DATABASE busy')).toBe('!25001 E');
  expect(await feed.sql('a', 'ROLLBACK; ALTER DATABASE busy RENAME TO idle')).toBe('!0A000 E');
  expect(await feed.sql('a', 'ROLLBACK')).toBe('ROLLBACK I');
  expect(await feed.sql('a', 'BEGIN')).toBe('BEGIN T');
  expect(await feed.sql('a', 'ALTER DATABASE busy RENAME TO idle')).toBe('!55006 E');
  expect(await feed.sql('a', 'ROLLBACK')).toBe('ROLLBACK I');
  await feed.send('a', Buffer.concat([send.parse('d', 'DROP DATABASE busy'), send.sync]));
  const bound = [send.bind({ portal: '', statement: 'd' }), send.execute(''), send.sync];
  const result = await feed.send('a', Buffer.concat(bound));
  expect(readErrorFields(result!.answer).get('C')).toBe('55006');
  expect(await lastQuery()).not.toContain('DROP');
});

it('PostgreSQL refuses what it refuses ahead of its wait', async () => {
  expect(await feed.sql('a', 'DROP DATABASE nowhere')).toBe('!3D000 I');
  expect(await feed.sql('a', 'DROP DATABASE barista')).toBe('!55006 I');
  expect(await feed.sql('foreign', 'DROP DATABASE busy')).toBe('!42501 I');
  expect(await feed.sql('foreign', 'CREATE DATABASE fresh')).toBe('!42501 I');
  expect(await feed.sql('a', 'CREATE DATABASE busy')).toBe('!42P04 I');
  expect(await feed.sql('a', 'ALTER DATABASE busy RENAME TO barista')).toBe('!42P04 I');
});

it('they are executed when all have left, or are ended by them', async () => {
  await feed.add({ kind: 'close', session: sessionOf('in the template') });
  expect(await feed.sql('a', 'CREATE DATABASE fresh')).toBe('CREATE DATABASE I');
  await feed.add({ kind: 'close', session: sessionOf('in busy') });
  await feed.add({ kind: 'close', session: sessionOf('also in busy') });
  expect(await feed.sql('a', 'ALTER DATABASE busy RENAME TO idle')).toBe('ALTER DATABASE I');
  expect(await feed.sql('a', 'DROP DATABASE idle')).toBe('DROP DATABASE I');
  expect(await feed.sql('a', 'DROP DATABASE "Ünd so" WITH (FORCE)')).toBe('DROP DATABASE I');
  expect(await feed.sql('in the other', 'SELECT 1')).toBe('!08003');
  expect(await feed.sql('a', 'SELECT 1')).toBe('(1) SELECT 1 I');
});
