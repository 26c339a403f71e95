/** Odd requests around those for whose ids a follower's gateway asks: what a client sees through it is, byte by byte, what PostgreSQL itself sends. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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

const setUp = `CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t VALUES (1, 'one'), (2, 'two');
  CREATE TABLE parent (id int PRIMARY KEY);
  CREATE TABLE child (id int REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
  CREATE FUNCTION noisy() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'noise'; RAISE WARNING 'loud'; RAISE INFO 'info'; RAISE LOG 'log'; RAISE DEBUG 'dbg'; RETURN 7; END $$;
  CREATE FUNCTION adds(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (n, 'added'); RETURN n; END $$;
  CREATE TABLE late (a int);
  CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'late %', NEW.a; IF NEW.a < 0 THEN RAISE EXCEPTION 'too late'; END IF; RETURN NULL; END $$;
  CREATE CONSTRAINT TRIGGER late AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION late();
  CREATE TABLE ruled (a int); CREATE RULE r AS ON INSERT TO ruled DO ALSO SELECT 'ruled', new.a;
  CREATE RULE r2 AS ON UPDATE TO ruled DO INSTEAD NOTHING;
  CREATE RULE r3 AS ON DELETE TO ruled DO ALSO NOTIFY x`;

const ins = (n: number): string => `INSERT INTO t VALUES (${n}, 'x')`;
const scripts: Readonly<Record<string, readonly Exchange[]>> = {
  'flush behind sync': [
    ask(run(ins(3)), sync, flush),
    ask(run(ins(3)), sync, flush),
    ask(run('SELECT count(*) FROM t'), sync, flush),
    ask(run(ins(4)), sync, copyData('stray stray stray'), flush),
    ask(run(ins(5)), sync, copyDone),
    ask(run('SELECT count(*) FROM t'), sync),
  ],
  'insert and COPY in one text of a block': [
    ask(q('BEGIN')),
    { send: [q(`${ins(3)}; COPY t FROM STDIN`)], until: 'G' },
    ask(copyData('10\tten\n'), copyDone),
    ask(q('SELECT count(*) FROM t')),
    ask(q('COMMIT')),
  ],
  'insert and COPY in one batch of a block': [
    ask(q('BEGIN')),
    { send: [run(ins(3)), run('COPY t FROM STDIN'), sync], until: 'G' },
    ask(copyData('10\tten\n'), copyDone, sync),
    ask(q('SELECT count(*) FROM t')),
    ask(q('COMMIT')),
  ],
  'insert and rollback with a setting': [
    ask(q("BEGIN; SET application_name = 'x'")),
    ask(q(`${ins(3)}; ROLLBACK`)),
    ask(q('SHOW application_name')),
    ask(q("BEGIN; SET application_name = 'y'")),
    ask(run(ins(3)), run('ROLLBACK'), sync),
    ask(q('SHOW application_name')),
    ask(q("BEGIN; SET application_name = 'z'")),
    ask(q(`${ins(3)}; COMMIT`)),
    ask(q('SHOW application_name')),
    ask(q('SELECT count(*) FROM t')),
    ask(q('BEGIN')),
    ask(q(`${ins(30)}; ROLLBACK AND CHAIN`)),
    ask(q(`${ins(31)}; COMMIT AND CHAIN`)),
    ask(q('ROLLBACK')),
    ask(q('SELECT count(*) FROM t')),
  ],
  'late triggers': [
    ask(q('INSERT INTO late VALUES (1), (2)')),
    ask(q('INSERT INTO late VALUES (1), (-2) RETURNING a')),
    ask(run('INSERT INTO late VALUES (1) RETURNING a'), sync),
    ask(run('INSERT INTO late VALUES (-1) RETURNING a'), sync),
    ask(q('BEGIN')),
    ask(q('INSERT INTO late VALUES (-1) RETURNING a')),
    ask(q('COMMIT')),
    ask(q('BEGIN')),
    ask(q('INSERT INTO late VALUES (-1) RETURNING a')),
    ask(run('COMMIT'), sync),
    ask(q('BEGIN')),
    ask(q('INSERT INTO late VALUES (-1) RETURNING a')),
    ask(q('COMMIT AND CHAIN')),
    ask(q('SET CONSTRAINTS ALL IMMEDIATE')),
    ask(q('ROLLBACK')),
    ask(run('INSERT INTO late VALUES (-1)'), run('SET CONSTRAINTS ALL IMMEDIATE'), sync),
    ask(q('SELECT count(*) FROM late')),
  ],
  rules: [
    ask(q('INSERT INTO ruled VALUES (1), (2)')),
    ask(q('UPDATE ruled SET a = 3')),
    ask(q('LISTEN x')),
    ask(q('DELETE FROM ruled')),
    ask(run('DELETE FROM ruled'), sync),
    ask(run('INSERT INTO ruled VALUES (1), (2)'), sync),
    ask(run('UPDATE ruled SET a = 3'), sync),
  ],
  'noise of all sorts': [
    ask(q('INSERT INTO t VALUES (noisy(), noisy())')),
    ask(run('INSERT INTO t VALUES (noisy() + 1, noisy())'), sync),
    ask(q('SET client_min_messages = log')),
    ask(q('INSERT INTO t VALUES (noisy() + 2, noisy())')),
    ask(q('BEGIN')),
    ask(q('UPDATE t SET a = noisy() + 10 WHERE a = 7')),
    ask(q('COMMIT')),
    ask(q('SET client_min_messages = error')),
    ask(q('UPDATE t SET a = noisy() + 20 WHERE a = 8')),
    ask(q('BEGIN')),
    ask(run('UPDATE t SET a = noisy() + 20 WHERE a = 9'), sync),
    ask(run('COMMIT'), sync),
  ],
  defaults: [
    ask(q('SET default_transaction_read_only = on')),
    ask(q(ins(3))),
    ask(run(ins(3)), sync),
    ask(q('BEGIN')),
    ask(q(ins(3))),
    ask(q('COMMIT')),
    ask(q('BEGIN READ WRITE')),
    ask(q(ins(3))),
    ask(q('COMMIT')),
    ask(q('RESET default_transaction_read_only')),
    ask(q("SET default_transaction_isolation = 'serializable'")),
    ask(q(ins(4))),
    ask(run('INSERT INTO t VALUES (5) RETURNING current_setting($1)', 'transaction_isolation'), sync),
    ask(q("INSERT INTO t VALUES (6) RETURNING current_setting('transaction_isolation')")),
    ask(q('SET default_transaction_deferrable = on')),
    ask(q("INSERT INTO t VALUES (7) RETURNING current_setting('transaction_deferrable')")),
    ask(q("INSERT INTO t VALUES (8) RETURNING set_config('transaction_read_only', 'on', true)")),
    ask(q("INSERT INTO t VALUES (9) RETURNING set_config('transaction_isolation', 'serializable', true)")),
    ask(
      run("INSERT INTO t VALUES (10) RETURNING set_config('transaction_isolation', 'read committed', true)"),
      sync,
    ),
    ask(q("INSERT INTO t VALUES (11) RETURNING set_config('work_mem', '100kB', true)")),
    ask(q('SHOW work_mem')),
    ask(q("INSERT INTO t VALUES (12) RETURNING set_config('work_mem', '100kB', false)")),
    ask(q('SHOW work_mem')),
    ask(q('SELECT count(*) FROM t')),
  ],
  'cursors with hold': [
    ask(q('BEGIN')),
    ask(q('DECLARE c CURSOR WITH HOLD FOR SELECT adds(a + 100) FROM t')),
    ask(q('COMMIT')),
    ask(q('FETCH ALL FROM c')),
    ask(q(ins(3))),
    ask(q('BEGIN')),
    ask(q('DECLARE d CURSOR WITH HOLD FOR SELECT 1/(a-1) FROM t')),
    ask(q('COMMIT')),
    ask(q('FETCH ALL FROM d')),
    ask(q('UPDATE t SET b = 1 WHERE CURRENT OF c')),
    ask(run('UPDATE t SET b = 1 WHERE CURRENT OF c'), sync),
    ask(q('BEGIN')),
    ask(q('DECLARE e CURSOR FOR SELECT * FROM t ORDER BY a FOR UPDATE')),
    ask(q('FETCH 2 FROM e')),
    ask(q("UPDATE t SET b = 'cur' WHERE CURRENT OF e")),
    ask(q('FETCH 1 FROM e')),
    ask(q('DELETE FROM t WHERE CURRENT OF e')),
    ask(q('COMMIT')),
    ask(q('SELECT * FROM t ORDER BY a')),
  ],
  portals: [
    ask(
      parse('ins', 'INSERT INTO t SELECT $1::int + g FROM generate_series(1, 5) g RETURNING a'),
      describeStatement('ins'),
      sync,
    ),
    ask(bind('', 'ins', '10'), executeRows('', 2), sync),
    ask(bind('', 'ins', '20'), executeRows('', 2), executeRows('', 2), executeRows('', 2), sync),
    ask(bind('p', 'ins', '30'), executeRows('p', 2), flush, executeRows('p', 0), sync),
    ask(bind('p', 'ins', '40'), sync),
    ask(executeRows('p', 0), sync),
    ask(q('BEGIN')),
    ask(bind('p', 'ins', '50'), executeRows('p', 2), sync),
    ask(executeRows('p', 2), sync),
    ask(q(ins(3))),
    ask(executeRows('p', 2), sync),
    ask(run('COMMIT'), sync),
    ask(bind('', 'ins', 'x'), send.execute(''), sync),
    ask(bind('', 'ins'), send.execute(''), sync),
    ask(bind('', 'missing'), send.execute(''), sync),
    { send: [bind('', 'ins', '60'), executeRows('', 1), flush], until: 's' },
    ask(executeRows('', 1), message('C', 'P', '\0'), executeRows('', 1), sync),
    ask(q('SELECT count(*) FROM t')),
  ],
  'errors in each place of a batch': [
    ask(parse('', 'INSERT INTO nothing VALUES (1)'), bind('', ''), send.execute(''), sync),
    ask(run(ins(3)), parse('', 'SELEC'), run(ins(4)), sync),
    ask(run(ins(3)), bind('', 'missing'), run(ins(4)), sync),
    ask(run(ins(3)), send.execute('missing'), run(ins(4)), sync),
    ask(run(ins(3)), message('D', 'Zx\0'), run(ins(4)), sync),
    ask(run(ins(3)), message('B', 'x'), run(ins(4)), sync),
    ask(run(ins(1)), run(ins(4)), sync),
    ask(run(ins(4)), run(ins(1)), sync),
    ask(run(ins(4)), message('y'), sync, sync),
    ask(q('SELECT count(*) FROM t')),
  ],
  'pipelines with many syncs': [
    { send: Array.from({ length: 20 }, (_, n) => Buffer.concat([run(ins(n % 12)), sync])), count: 20 },
    { send: Array.from({ length: 20 }, (_, n) => q(ins((n % 12) + 15))), count: 20 },
    { send: [q(ins(40)), sync, sync, run(ins(41)), sync, sync, sync], count: 6 },
    { send: [sync, sync, q(ins(42)), q('BEGIN'), q(ins(43)), q('COMMIT'), sync], count: 7 },
    { send: [q('BEGIN'), run(ins(50)), sync, run('COMMIT'), sync, q(ins(51))], count: 4 },
    ask(q('SELECT count(*) FROM t')),
  ],
};

describe('through the follower as without it', () => {
  it.each(Object.entries(scripts))('%s', async (_, script) => {
    const direct = await play({ ...gateway.connection, host: pg.socketDir, port: pg.port }, setUp, script);
    expect(await play(follower.connection, setUp, script)).toEqual(direct);
  });
});
