/** What a client is told is what PostgreSQL alone would tell it, byte for byte: odd texts, drawn at random, go to a session of the executor and to one of a plain database. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSession } from '../../adapters/postgres/statements/session-connection.ts';
import { back } from '../../pgwire/message-types.ts';
import * as send from '../../pgwire/frontend-messages.ts';
import { frameOf } from '../../pgwire/backend-messages.ts';
import { exactFrame } from '../../gateways/pgwire/testing/wire-client.ts';
import type { TestPostgres } from '../../gateways/pgwire/testing/postgres.ts';
import type { StatementConnection } from '../../ports/statement-database.ts';
import {
  answerBytesMax,
  OperationFeed,
  startReplica,
  startStatementPostgres,
  type StatementReplica,
} from './testing/statement-replica.ts';

let postgres: TestPostgres;
let replica: StatementReplica;
let feed: OperationFeed;
let plain: StatementConnection;

beforeAll(async () => {
  postgres = await startStatementPostgres();
  const operator = await postgres.connect('postgres');
  await operator.query('CREATE DATABASE plain OWNER barista TEMPLATE template0');
  replica = await startReplica(postgres);
  feed = new OperationFeed([replica]);
  await feed.open('a');
  const path = join(postgres.socketDir, '.s.PGSQL.5432');
  const login = { user: 'barista', database: 'plain', parameters: [['client_encoding', 'UTF8']] as const };
  const opened = await openSession({ path, majorVersion: 15 }, login, answerBytesMax);
  if (opened.code === 'refused') throw new Error('the plain session was refused');
  plain = opened.connection;
});

afterAll(async () => {
  await plain.close();
  await replica.executor.stop();
  await postgres.stop();
});

function framesOf(answer: Buffer): string[] {
  const frames: string[] = [];
  for (let at = 0; at < answer.length; ) {
    const end = at + answer.readInt32BE(at + 1) + 1;
    const bytes = answer.subarray(at, end);
    frames.push(exactFrame({ type: String.fromCharCode(bytes[0]!), bytes }));
    at = end;
  }
  return frames;
}

async function expectSame(bytes: Buffer, what: string): Promise<void> {
  const messages: Buffer[] = [];
  await plain.exchange(bytes, (message) => {
    messages.push(message);
    return message[0] === back.readyForQuery;
  });
  const result = await feed.send('a', bytes);
  expect([what, ...framesOf(result!.answer)]).toEqual([what, ...framesOf(Buffer.concat(messages))]);
}

const schema = `CREATE TABLE t (a int PRIMARY KEY, b text, CHECK (a < 1000));
CREATE TABLE u (a int REFERENCES t DEFERRABLE INITIALLY DEFERRED);
CREATE PROCEDURE ends(n int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (n); COMMIT; INSERT INTO t VALUES (n + 1); ROLLBACK; END $$;
CREATE PROCEDURE stays(n int) LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'stays %', n; INSERT INTO t VALUES (n); END $$`;

const fragments: readonly string[] = [
  'SELECT 1',
  'SELECT a, b FROM t ORDER BY a',
  'INSERT INTO t VALUES (#, $$x$$)',
  "INSERT INTO t VALUES (#, 'ä') RETURNING *",
  'INSERT INTO u VALUES (#)',
  'UPDATE t SET b = b || $q$;$q$ WHERE a < #',
  'DELETE FROM t WHERE a = #',
  'DELETE FROM u',
  'BEGIN',
  'BEGIN ISOLATION LEVEL SERIALIZABLE',
  'COMMIT',
  'END',
  'COMMIT AND CHAIN',
  'ROLLBACK',
  'ABORT AND CHAIN',
  'SAVEPOINT s',
  'ROLLBACK TO s',
  'RELEASE s',
  'SET LOCAL work_mem = 1000',
  "SET application_name = 'a#b'",
  'SHOW application_name',
  'LOCK TABLE t',
  'DECLARE c CURSOR FOR SELECT * FROM t ORDER BY a',
  'FETCH 2 FROM c',
  'CLOSE c',
  'PREPARE p AS INSERT INTO t VALUES ($1)',
  'EXECUTE p (#)',
  'DEALLOCATE p',
  'CALL ends(#)',
  'CALL stays(#)',
  'DO $$ BEGIN RAISE WARNING $q$w$q$; END $$',
  'VACUUM t',
  'ANALYZE t',
  'CREATE INDEX CONCURRENTLY i ON t (b)',
  'DROP INDEX CONCURRENTLY i',
  'SELECT 1/0',
  'SELECT a FROM t WHERE',
  "SELECT 'unended",
  'SELECT /* unended',
  'SELECT "',
  'SELECT 1 +',
  'SELECT nothere FROM t',
  'INSERT INTO t SELECT # FROM nothere',
  'SELECT $1',
  'SELEKT #',
  '-- a comment only',
  '',
  'SELECT 2 -- behind',
  'EXPLAIN (COSTS OFF) SELECT * FROM t',
  'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) INSERT INTO t VALUES (#)',
  'SET CONSTRAINTS ALL IMMEDIATE',
  'SET TRANSACTION READ ONLY',
  'NOTIFY somebody',
  'CREATE TABLE v AS SELECT # AS n',
  'DROP TABLE v',
  'DROP TABLE IF EXISTS v',
  'COPY t TO STDOUT',
  'COPY (SELECT #) TO STDOUT',
  'TRUNCATE t CASCADE',
  'TABLE t ORDER BY a LIMIT 3',
  'VALUES (#), (2)',
  "SELECT set_config('my.name', '#', false)",
  'RESET ALL',
  'DISCARD PLANS',
];

/** Park and Miller. */
function drawing(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 0x7fff_ffff;
    return state % below;
  };
}

function cycle(text: string, draw: (below: number) => number): Buffer {
  const pieces = [send.parse('', text), send.bind({ portal: '', statement: '' })];
  if (draw(2) === 0) pieces.push(send.describePortal(''));
  pieces.push(send.execute(''));
  return Buffer.concat(pieces);
}

it('is told the same', async () => {
  await expectSame(send.query(schema), 'schema');
  const seed = Number(process.env['SEED'] ?? 7);
  const draw = drawing(seed);
  let number = 0;
  const one = (): string => {
    number += draw(3);
    return fragments[draw(fragments.length)]!.replaceAll('#', String(number));
  };
  for (let round = 0; round < Number(process.env['ROUNDS'] ?? 700); round += 1) {
    const count = draw(3) === 0 ? 2 + draw(3) : 1;
    const texts = Array.from({ length: count }, one);
    const what = `SEED=${seed}, round ${round}: ${texts.join('; ')}`;
    if (draw(3) > 0) await expectSame(send.query(texts.join(';')), what);
    else
      await expectSame(
        Buffer.concat([...texts.map((text) => cycle(text, draw)), send.sync]),
        `messages ${what}`,
      );
  }
});

it('is told the same of what is copied in', async () => {
  await expectSame(send.query('ROLLBACK'), 'ends');
  const data = frameOf('d'.charCodeAt(0), Buffer.from('501\tx\n502\ty\n'));
  const done = frameOf('c'.charCodeAt(0), Buffer.alloc(0));
  const failed = frameOf('f'.charCodeAt(0), Buffer.from('no more\0'));
  await expectSame(Buffer.concat([send.query('COPY t FROM STDIN'), data, done]), 'copy');
  await expectSame(Buffer.concat([send.query('COPY t FROM STDIN'), data, done]), 'twice');
  await expectSame(Buffer.concat([send.query('COPY t FROM STDIN; SELECT 5'), failed]), 'failed');
  await expectSame(Buffer.concat([send.query('COPY nothere FROM STDIN'), data, done]), 'nowhere');
  const messages = [
    send.parse('', 'COPY u FROM STDIN'),
    send.bind({ portal: '', statement: '' }),
    send.execute(''),
  ];
  await expectSame(
    Buffer.concat([...messages, frameOf(100, Buffer.from('501\n')), done, send.sync]),
    'messages',
  );
  const without = await feed.send('a', send.query('COPY t FROM STDIN'));
  expect(without!.answer.toString('latin1')).toContain('the request brings no data to copy');
  const withoutToo = await feed.send('a', Buffer.concat([...messages, send.sync]));
  expect(withoutToo!.answer.toString('latin1')).toContain('the request brings no data to copy');
  await expectSame(send.query('SELECT count(*) FROM u'), 'behind');
});
