/** What a client sees through the gateway is, byte by byte, what PostgreSQL itself sends. */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startRelay } from '../../adapters/testing/relay.ts';
import * as send from '../../pgwire/frontend-messages.ts';
import {
  ask,
  bind,
  copyData,
  copyDone,
  describeStatement,
  type Exchange,
  executeRows,
  message,
  play,
} from './testing/exchange.ts';
import { startFollower, startGateway, type TestGateway } from './testing/gateway.ts';
import { q, run } from './testing/helpers.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { exactFrame, followWire, type WireClient } from './testing/wire-client.ts';

let pg: TestPostgres;
let gateway: TestGateway;
let follower: TestGateway;
beforeAll(async () => {
  pg = await startTestPostgres();
  gateway = await startGateway(pg);
  follower = await startFollower(pg, gateway.connection.port);
});
afterAll(async () => {
  await follower.listener.close();
  await gateway.listener.close();
  await pg.stop();
});

const { sync, flush, parse } = send;

/** `int4pl`, called by its OID with two integers in binary. */
const functionCall = message(
  'F',
  Buffer.from([0, 0, 0, 177, 0, 1, 0, 1, 0, 2, 0, 0, 0, 4, 0, 0, 0, 40, 0, 0, 0, 4, 0, 0, 0, 2, 0, 1]),
);

const setUp = `CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t VALUES (1, 'one'), (2, 'two');
  CREATE TABLE parent (id int PRIMARY KEY);
  CREATE TABLE child (id int REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
  CREATE FUNCTION noisy() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'noise'; RETURN 7; END $$;
  CREATE FUNCTION adds(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (n, 'added'); RETURN n; END $$;
  CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (99, 'x'); COMMIT; INSERT INTO t VALUES (100, 'x'); END $$`;

const scripts: Readonly<Record<string, readonly Exchange[]>> = {
  'a single statement': [
    ask(q('SELECT * FROM t')),
    ask(q("INSERT INTO t VALUES (3, 'three')")),
    ask(q('SELECT count(*) FROM t')),
  ],
  'empty strings': [ask(q('')), ask(q('  -- nothing')), ask(q(';;'))],
  'several statements in one string': [
    ask(q("INSERT INTO t VALUES (3, 'x'); SELECT * FROM t ORDER BY a; UPDATE t SET b = 'y' WHERE a = 3")),
    ask(q('SELECT 1; SELECT 2')),
  ],
  'an error in a string undoes what came before it': [
    ask(q("INSERT INTO t VALUES (3, 'x'); SELECT 1/0; INSERT INTO t VALUES (4, 'y')")),
    ask(q('SELECT count(*) FROM t')),
  ],
  'positions of errors count from the start of the string': [
    ask(q('SELECT nothing')),
    ask(q("SELECT 'é'; SELECT nothing FROM t")),
    ask(q("INSERT INTO t VALUES (5, 'ü'); INSERT INTO t VALUES (6, nothing)")),
  ],
  'long statements': [
    ask(q(`SELECT ${'1 + '.repeat(9_000)} 1`)),
    ask(q(`INSERT INTO t VALUES ${Array.from({ length: 4_000 }, (_, n) => `(${n + 100}, 'x')`).join()}`)),
    ask(q(`INSERT INTO t VALUES (100, '${'x'.repeat(40_000)}')`)),
    ask(q(`SELECT nothing, '${'x'.repeat(40_000)}'`)),
    ask(q(`SELEC '${'x'.repeat(40_000)}'`)),
    ask(q('BEGIN')),
    ask(q(`DELETE FROM t WHERE b <> '${'x'.repeat(40_000)}' AND a > 4090 RETURNING a`)),
    ask(q(`SELECT nothing, '${'x'.repeat(40_000)}'`)),
    ask(q('COMMIT')),
    ask(q('SELECT count(*) FROM t')),
    ask(run(`SELECT '${'x'.repeat(40_000)}'::text`), sync),
  ],
  'syntax errors': [
    ask(q('SELEC 1')),
    ask(q('SELECT 1; SELEC 2')),
    ask(q('SELECT * FROM t')),
    ask(q("SELECT 'open")),
  ],
  'a transaction block': [
    ask(q('BEGIN')),
    ask(q("INSERT INTO t VALUES (3, 'x') RETURNING *")),
    ask(q('SAVEPOINT s')),
    ask(q("INSERT INTO t VALUES (3, 'again')")),
    ask(q('SELECT 1')),
    ask(q('ROLLBACK TO s')),
    ask(q('COMMIT')),
    ask(q('SELECT count(*) FROM t')),
  ],
  'COMMIT of a failed block rolls back': [
    ask(q('BEGIN')),
    ask(q('SELECT 1/0')),
    ask(q('COMMIT')),
    ask(q('COMMIT')),
  ],
  'warnings about blocks': [
    ask(q('COMMIT')),
    ask(q('ROLLBACK')),
    ask(q('BEGIN')),
    ask(q('BEGIN')),
    ask(q('ROLLBACK')),
  ],
  'commands that need a block': [
    ask(q('SAVEPOINT s')),
    ask(q('LOCK TABLE t')),
    ask(q('DECLARE c CURSOR FOR SELECT 1')),
    ask(q('SET LOCAL work_mem = 1000')),
    ask(q('FETCH 1 FROM c')),
  ],
  'blocks that begin and end inside a string': [
    ask(q("BEGIN; INSERT INTO t VALUES (3, 'x'); COMMIT; SELECT count(*) FROM t")),
    ask(q("INSERT INTO t VALUES (4, 'x'); BEGIN; INSERT INTO t VALUES (5, 'x')")),
    ask(q('SELECT count(*) FROM t')),
    ask(q('ROLLBACK; SELECT count(*) FROM t')),
    ask(q("INSERT INTO t VALUES (6, 'x'); COMMIT; SELECT 1/0")),
    ask(q("INSERT INTO t VALUES (7, 'x'); ROLLBACK; SELECT count(*) FROM t")),
  ],
  'chained blocks': [
    ask(q('BEGIN')),
    ask(q("INSERT INTO t VALUES (3, 'x')")),
    ask(q('COMMIT AND CHAIN')),
    ask(q("INSERT INTO t VALUES (4, 'x')")),
    ask(q('ROLLBACK AND CHAIN')),
    ask(q('COMMIT')),
    ask(q('COMMIT AND CHAIN')),
  ],
  'deferred constraints fail at the end': [
    ask(q('INSERT INTO child VALUES (1)')),
    ask(q('BEGIN')),
    ask(q('INSERT INTO child VALUES (1)')),
    ask(q('COMMIT')),
    ask(q('BEGIN; INSERT INTO child VALUES (2); INSERT INTO parent VALUES (2); COMMIT')),
  ],
  notices: [
    ask(q('SELECT noisy()')),
    ask(q('DROP TABLE IF EXISTS missing')),
    ask(q('SELECT noisy(); SELECT noisy()')),
  ],
  'functions that write': [
    ask(q('SELECT adds(10)')),
    ask(q('SELECT adds(11)')),
    ask(q('SELECT adds(11)')),
    ask(q('SELECT * FROM t')),
  ],
  procedures: [
    ask(q('CALL commits()')),
    ask(q('SELECT count(*) FROM t')),
    ask(q('BEGIN')),
    ask(q('CALL commits()')),
    ask(q('ROLLBACK')),
    ask(q('DO $$ BEGIN COMMIT; END $$')),
  ],
  settings: [
    ask(q("SET application_name = 'test'")),
    ask(q('SHOW application_name')),
    ask(q('SHOW transaction_read_only')),
    ask(q("BEGIN; SET application_name = 'inside'")),
    ask(q('ROLLBACK')),
    ask(q('SHOW application_name')),
    ask(q('SET no_such_setting = 1')),
  ],
  cursors: [
    ask(q('BEGIN')),
    ask(q('DECLARE c CURSOR FOR SELECT * FROM t ORDER BY a')),
    ask(q('FETCH 1 FROM c')),
    ask(q('MOVE 1 IN c')),
    ask(q('CLOSE c')),
    ask(q('COMMIT')),
    ask(q('DECLARE h CURSOR WITH HOLD FOR SELECT * FROM t ORDER BY a')),
    ask(q('FETCH ALL FROM h')),
    ask(q('CLOSE h')),
  ],
  'LISTEN and NOTIFY': [
    ask(q('LISTEN x')),
    ask(q("NOTIFY x, 'hello'")),
    ask(q("SELECT pg_notify('x', 'again')")),
    ask(q('UNLISTEN *')),
  ],
  'COPY from the client': [
    { send: [q('COPY t FROM STDIN')], until: 'G' },
    ask(copyData('10\tten\n11\televen\n'), copyDone),
    { send: [q('COPY t FROM STDIN')], until: 'G' },
    ask(copyData('10\tagain\n'), copyDone),
    { send: [q('COPY t FROM STDIN')], until: 'G' },
    ask(message('f', 'changed my mind\0')),
    ask(q('SELECT count(*) FROM t')),
  ],
  'COPY to the client': [
    ask(q('COPY t TO STDOUT')),
    ask(q('COPY (SELECT a FROM t) TO STDOUT (FORMAT csv)')),
    ask(q('COPY missing TO STDOUT')),
  ],
  'COPY in the extended protocol': [
    { send: [run('COPY t FROM STDIN'), sync], until: 'G' },
    ask(copyData('20\ttwenty\n'), copyDone, sync),
    ask(run('SELECT count(*) FROM t'), sync),
    ask(run('COPY t TO STDOUT'), sync),
    { send: [run('COPY t FROM STDIN'), sync], until: 'G' },
    ask(copyData('20\tagain\n'), copyDone, sync),
    ask(run('COPY missing FROM STDIN'), sync),
    ask(run('SELECT 1'), sync),
  ],
  'SQL prepared statements': [
    ask(q('PREPARE p AS SELECT $1::int + 1')),
    ask(q('EXECUTE p(1)')),
    ask(q('PREPARE w AS INSERT INTO t VALUES ($1, $2)')),
    ask(q("EXECUTE w(30, 'x')")),
    ask(q('DEALLOCATE p')),
    ask(q('EXECUTE p(1)')),
    ask(q('DEALLOCATE ALL')),
  ],
  'extended: one statement': [
    ask(run('SELECT $1::int', '5'), sync),
    ask(run("INSERT INTO t VALUES ($1, 'x') RETURNING a", '40'), sync),
  ],
  'extended: a pipeline is one transaction': [
    ask(
      run("INSERT INTO t VALUES (41, 'x')"),
      run("INSERT INTO t VALUES (42, 'x')"),
      run('SELECT count(*) FROM t'),
      sync,
    ),
    ask(
      run("INSERT INTO t VALUES (43, 'x')"),
      run('SELECT 1/0'),
      run("INSERT INTO t VALUES (44, 'x')"),
      sync,
    ),
    ask(run('SELECT count(*) FROM t'), sync),
  ],
  'extended: several pipelines at once': [
    {
      send: [
        run('SELECT 1'),
        sync,
        run("INSERT INTO t VALUES (45, 'x')"),
        sync,
        run('SELECT 1/0'),
        sync,
        run('SELECT 2'),
        sync,
      ],
      count: 4,
    },
  ],
  'extended: BEGIN with the first statement, COMMIT with the last': [
    ask(run('BEGIN'), run("INSERT INTO t VALUES (46, 'x')"), sync),
    ask(run("INSERT INTO t VALUES (47, 'x')"), run('COMMIT'), sync),
    ask(run('BEGIN'), run('SELECT 1'), run('COMMIT'), run('SELECT 2'), sync),
    ask(run('BEGIN'), run('SELECT 1/0'), run('COMMIT'), sync),
    ask(run('COMMIT'), sync),
  ],
  'extended: ROLLBACK': [
    ask(run('BEGIN'), sync),
    ask(run("INSERT INTO t VALUES (48, 'x')"), run('ROLLBACK'), sync),
    ask(run('SELECT count(*) FROM t'), sync),
    ask(run('ROLLBACK'), sync),
  ],
  'extended: named statements and portals': [
    ask(parse('s1', 'SELECT a FROM t WHERE a = $1'), describeStatement('s1'), sync),
    ask(bind('', 's1', '1'), send.execute(''), bind('', 's1', '2'), send.execute(''), sync),
    ask(run('BEGIN'), sync),
    ask(bind('p1', 's1', '1'), executeRows('p1', 1), sync),
    ask(executeRows('p1', 1), sync),
    ask(message('C', 'P', 'p1\0'), run('COMMIT'), sync),
    ask(parse('s1', 'SELECT 2'), sync),
    ask(message('C', 'S', 's1\0'), parse('s1', 'SELECT 2'), bind('', 's1'), send.execute(''), sync),
  ],
  'extended: rows in portions': [
    ask(run('BEGIN'), sync),
    ask(
      parse('', 'SELECT generate_series(1, 5)'),
      bind('p', ''),
      executeRows('p', 2),
      executeRows('p', 2),
      sync,
    ),
    ask(executeRows('p', 2), sync),
    ask(run('COMMIT'), sync),
  ],
  'extended: the unnamed statement lives on': [
    ask(parse('', 'SELECT $1::text'), sync),
    ask(bind('', '', 'a'), send.execute(''), sync),
    ask(bind('', '', 'b'), send.execute(''), sync),
    ask(parse('', "INSERT INTO t VALUES ($1, 'x')"), sync),
    ask(bind('', '', '51'), send.execute(''), sync),
    ask(bind('', '', '52'), send.execute(''), sync),
  ],
  'extended: Flush': [
    { send: [parse('', 'SELECT $1::int'), describeStatement(''), flush], until: 'T' },
    ask(bind('', '', '3'), send.execute(''), sync),
    { send: [run('SELECT 4'), flush], until: 'C' },
    ask(run("INSERT INTO t VALUES (53, 'x')"), sync),
    { send: [run('SELECT 1/0'), flush], until: 'E' },
    ask(run('SELECT 5'), sync),
  ],
  'extended: errors in each message': [
    ask(parse('', 'SELEC'), sync),
    ask(parse('', 'SELECT 1; SELECT 2'), sync),
    ask(bind('', 'missing'), sync),
    ask(send.execute('missing'), sync),
    ask(parse('', ''), bind('', ''), send.execute(''), sync),
    ask(sync),
  ],
  'extended: functions that write': [
    ask(run('SELECT adds(60)'), sync),
    ask(parse('named', 'SELECT adds($1)'), bind('', 'named', '61'), send.execute(''), sync),
    ask(bind('', 'named', '62'), send.execute(''), sync),
  ],
  'extended: deferred constraints': [
    ask(run('BEGIN'), run('INSERT INTO child VALUES (1)'), sync),
    ask(run('COMMIT'), sync),
  ],
  'extended: prepared COMMIT and ROLLBACK': [
    ask(parse('c', 'COMMIT'), parse('r', 'ROLLBACK'), parse('b', 'BEGIN'), describeStatement('c'), sync),
    ask(bind('', 'b'), send.execute(''), run("INSERT INTO t VALUES (70, 'x')"), sync),
    ask(bind('', 'c'), send.execute(''), sync),
    ask(bind('', 'b'), send.execute(''), run('SELECT 1/0'), sync),
    ask(bind('', 'r'), send.execute(''), sync),
    ask(run('SELECT count(*) FROM t'), sync),
  ],
  'extended: settings and commands outside blocks': [
    ask(run("SET application_name = 'x'"), sync),
    ask(run('SHOW application_name'), sync),
    ask(run('VACUUM t'), sync),
    ask(run('SAVEPOINT s'), sync),
    ask(run('DISCARD ALL'), sync),
  ],
  'functions called by message': [
    ask(functionCall),
    ask(q('BEGIN')),
    ask(functionCall),
    ask(message('F', Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 0, 0]))),
    ask(q('ROLLBACK')),
  ],
  'statements that may not be in a block': [
    ask(q('VACUUM t')),
    ask(q('CREATE INDEX CONCURRENTLY i ON t (b)')),
    ask(run('REINDEX TABLE CONCURRENTLY t'), sync),
    ask(q('CHECKPOINT')),
    ask(q('CREATE DATABASE mine')),
    ask(q('DROP DATABASE mine')),
  ],
  'two-phase commit': [
    ask(q('BEGIN')),
    ask(q("INSERT INTO t VALUES (3, 'x')")),
    ask(q("PREPARE TRANSACTION 'p'")),
    ask(q("COMMIT PREPARED 'p'")),
    ask(q("COMMIT PREPARED 'p'")),
  ],
  'what a session has prepared is what its client has prepared': [
    ask(parse('mine', 'SELECT 1'), sync),
    ask(q('SELECT name, statement, from_sql FROM pg_prepared_statements')),
    ask(q('EXPLAIN (COSTS OFF) SELECT * FROM t')),
    ask(q('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) INSERT INTO t VALUES (50)')),
  ],
  'strings by the old rules': [
    ask(q('SET standard_conforming_strings = off')),
    ask(q("SELECT 'a\\'; COMMIT'")),
    ask(q('SET escape_string_warning = off')),
    ask(q("SELECT 'a\\''")),
  ],
  'other encodings': [
    ask(q("SET client_encoding = 'SJIS'")),
    ask(
      send.query('SELECT 1').subarray(0, 0),
      message('Q', Buffer.from("SELECT '\x83\x5c'::text, 'x\0", 'latin1')),
    ),
    ask(message('Q', Buffer.from("SELECT '\x83\x5c'::text\0", 'latin1'))),
    ask(q("SET client_encoding = 'LATIN1'")),
    ask(message('Q', Buffer.from('SELECT nothing AS "\xe4"\0', 'latin1'))),
    ask(q("SET client_encoding = 'nonsense'")),
  ],
  'large objects': [
    ask(q("SELECT lo_from_bytea(4711, 'abc')")),
    ask(q('BEGIN')),
    ask(q('SELECT lo_open(4711, 262144)')),
    ask(q('SELECT loread(0, 10)')),
    ask(q('COMMIT')),
    ask(q('SELECT lo_unlink(4711)')),
  ],
  'messages of any size': [
    ask(q(`SELECT length('${'x'.repeat(300_000)}')`)),
    ask(q("SELECT repeat('y', 300000)")),
    ask(run('SELECT length($1::text)', 'z'.repeat(300_000)), sync),
    ask(q('SELECT generate_series(1, 20000)')),
  ],
  'messages that are malformed': [
    ask(message('Q', 'SELECT 1')),
    ask(message('P', 'x\0SELECT 1'), sync),
    ask(message('B', 'x'), sync),
    ask(message('D', 'Zx\0'), sync),
    ask(message('d', 'stray'), message('c'), message('f', 'x\0'), q('SELECT 1')),
  ],
  'a COPY that the client gives up': [
    { send: [q('COPY t FROM STDIN')], until: 'G' },
    ask(copyData('10\tten\n'), q('SELECT 1')),
    ask(q('SELECT count(*) FROM t')),
  ],
};

describe('through the gateway as without it', () => {
  it.each(Object.entries(scripts))('%s', async (_, script) => {
    const direct = await play({ ...gateway.connection, host: pg.socketDir, port: pg.port }, setUp, script);
    expect(await play(gateway.connection, setUp, script)).toEqual(direct);
    expect(await play(follower.connection, setUp, script)).toEqual(direct);
  });

  const short = Object.entries(scripts).filter(([name]) => !/long|any size/.test(name));
  it.each(short)('in bits of a few bytes: %s', async (_, script) => {
    const direct = await play({ ...gateway.connection, host: pg.socketDir, port: pg.port }, setUp, script);
    const relay = await startRelay(gateway.connection.port, 3);
    try {
      expect(await play({ ...gateway.connection, port: relay.port }, setUp, script)).toEqual(direct);
    } finally {
      relay.close();
    }
  });
});

/** Speaks with PostgreSQL from the first byte, with a user who needs no password there. */
function open(direct: boolean): WireClient {
  const socket = direct ? connect(pg.socketPath) : connect(gateway.connection.port, '127.0.0.1');
  return followWire(socket);
}
function startup(version: number, parameters: string): Buffer {
  const body = Buffer.from(`${parameters}\0`);
  const head = Buffer.alloc(8);
  head.writeInt32BE(body.length + 8, 0);
  head.writeInt32BE(version, 4);
  return Buffer.concat([head, body]);
}

describe('start-up is as without the gateway', () => {
  beforeAll(async () => {
    await pg.superuser.query('CREATE ROLE open LOGIN');
  });

  it.each([
    [3 << 16, 'user\0open\0database\0barista\0'],
    [(3 << 16) | 2, 'user\0open\0database\0barista\0'],
    [(3 << 16) | 99, 'user\0open\0database\0barista\0_pq_.other\0x\0'],
    [3 << 16, 'user\0open\0database\0barista\0options\0-c search_path=x -c DateStyle=German\0'],
    [3 << 16, 'user\0open\0database\0barista\0no_such_setting\0x\0'],
    [3 << 16, 'user\0open\0database\0nowhere\0'],
  ])('%i %j', async (version, parameters) => {
    const answers: string[][] = [];
    for (const direct of [true, false]) {
      const wire = open(direct);
      wire.send(startup(version, parameters));
      const frames = await wire.until('Z');
      answers.push(frames.map(exactFrame));
      if (frames.at(-1)?.type === 'Z') {
        wire.send(send.terminate);
        answers.push((await wire.untilClosed()).map(exactFrame));
      }
    }
    const half = answers.length / 2;
    expect(answers.slice(half)).toEqual(answers.slice(0, half));
    expect(answers[0]?.length).toBeGreaterThan(0);
  });

  it('and so is what a client hears that sends what is no message', async () => {
    const answers: string[][] = [];
    for (const direct of [true, false]) {
      const wire = open(direct);
      wire.send(startup(3 << 16, 'user\0open\0database\0barista\0'));
      await wire.until('Z');
      wire.send(message('~', 'what?'));
      answers.push((await wire.untilClosed()).map(exactFrame));
    }
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[0]?.[0]).toContain('08P01');
  });
});
