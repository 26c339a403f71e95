/** Sessions of a real PostgreSQL that are made anew when the way to the leader breaks: what they had, and what they cannot have. */
import { connect } from 'node:net';
import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type Relay, startRelay } from '../../adapters/testing/relay.ts';
import * as send from '../../pgwire/frontend-messages.ts';
import { doorOf, startFollower, startGateway, type TestGateway } from './testing/gateway.ts';
import {
  ask,
  cancelPacket,
  codeOf,
  failure,
  keyOf,
  leaderAt,
  q,
  run,
  settled,
  sleeping,
  holdCommits,
  untilCommitsWait,
} from './testing/helpers.ts';
import { createMemoryClientService } from './testing/memory-client-service.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { startupPacket } from '../../adapters/postgres/replication/messages.ts';
import { connectWire, followWire, type WireClient } from './testing/wire-client.ts';

let pg: TestPostgres;
let leader: TestGateway;
let follower: TestGateway;
/** Between the follower and the leader: when it is cut, the follower finds the leader again, and a session that knows nothing. */
let cable: Relay;
let client: Client;
let wire: WireClient;

beforeAll(async () => {
  pg = await startTestPostgres();
  await pg.superuser.query(
    'CREATE ROLE open LOGIN; CREATE ROLE other; GRANT other TO open; GRANT ALL ON SCHEMA public TO PUBLIC',
  );
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  leader = await startGateway(pg);
  cable = await startRelay(leader.connection.port);
  const service = createMemoryClientService(null);
  service.setService(leaderAt(cable.port));
  follower = await startGateway(pg, {
    service,
    limits: { idleLookMs: 20, idleQuestionEveryMs: 20, keepWaitMs: 5_000 },
  });
  client = await follower.client({ user: 'open' });
  wire = await connectWire({ ...follower.connection, user: 'open' });
  await client.query('CREATE TABLE t (a int PRIMARY KEY)');
});
afterEach(async () => {
  await client.end().catch(() => {});
  wire.close();
  await follower.listener.close();
  cable.close();
  await leader.listener.close();
  await pg.superuser.query('DROP TABLE IF EXISTS t');
});

async function cut(): Promise<void> {
  await settled();
  cable.cut();
  await settled();
}

async function rows(sql: string): Promise<unknown[]> {
  return (await client.query<unknown[]>({ text: sql, rowMode: 'array' })).rows.flat();
}

it('a client that sends all of it, its startup packet first, and closes its side hears all of it', async () => {
  const direct = await startFollower(pg, leader.listener.port);
  onTestFinished(() => direct.listener.close());
  const socket = connect(direct.listener.port, '127.0.0.1');
  const all = followWire(socket);
  const startup = startupPacket({ user: 'open', database: pg.database });
  socket.end(Buffer.concat([startup, q('INSERT INTO t VALUES (1)'), q('SELECT * FROM t')]));
  const heard = (await all.untilClosed()).map(({ type }) => type).join('');
  expect(heard.replaceAll('S', '')).toBe('RKZCZTDCZ');
});

describe('a session that is made anew', () => {
  it('is another one, and its client does not notice', async () => {
    const before = await rows('SELECT pg_backend_pid()');
    await cut();
    expect(await rows('SELECT pg_backend_pid()')).not.toEqual(before);
  });

  it('has its settings, its role, and what it listens for', async () => {
    await client.query("SET application_name = 'it''s me'; SET search_path = other, public");
    await client.query("SET DateStyle = 'German'; SET work_mem = '7MB'");
    await client.query("SELECT set_config('app.tenant', 'ä', false)");
    await client.query('SELECT set_config($1, $2, false)', ['app.user', 'x']);
    await client.query('LISTEN "A b"; SET ROLE other');
    await cut();
    const show = `SELECT current_setting('application_name'), current_setting('search_path'), current_setting('DateStyle'),
      current_setting('work_mem'), current_setting('app.tenant'), current_setting('app.user'), current_user, session_user`;
    const expected = ["it's me", 'other, public', 'German, DMY', '7MB', 'ä', 'x', 'other', 'open'];
    expect(await rows(show)).toEqual(expected);
    const heard = new Promise((resolve) => client.once('notification', ({ channel }) => resolve(channel)));
    await pg.superuser.query('NOTIFY "A b"');
    expect(await heard).toBe('A b');
    await client.query('RESET ALL; RESET ROLE');
    await cut();
    expect(await rows("SELECT current_setting('work_mem'), current_user")).toEqual(['4MB', 'open']);
  });

  it('has statements whose constants run code of clients, which is not run with effect again', async () => {
    await client.query(`CREATE FUNCTION notes(text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO t SELECT count(*) FROM t; RETURN true; EXCEPTION WHEN read_only_sql_transaction THEN RETURN true; END $$;
      CREATE DOMAIN checked AS text CHECK (notes(VALUE))`);
    await client.query("PREPARE one AS SELECT '{x}'::checked[] AS a");
    await client.query({ name: 'two', text: "SELECT '{y}'::checked[] AS a" });
    const [before] = await rows('SELECT count(*)::int FROM t');
    expect(before).toBeGreaterThanOrEqual(2);
    await cut();
    expect(await rows('SELECT count(*)::int FROM t')).toEqual([before]);
    expect(await rows('SELECT name FROM pg_prepared_statements ORDER BY 1')).toEqual(['one', 'two']);
    await client.query('DEALLOCATE ALL; DROP DOMAIN checked; DROP FUNCTION notes');
    await client.query('INSERT INTO t VALUES (-1)');
  });

  it('holds no place of PostgreSQL for long while its statements are made, whatever their constants run', async () => {
    await client.query(`CREATE TABLE slow (v boolean);
      CREATE FUNCTION dawdles(text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
        IF EXISTS (SELECT FROM slow) THEN PERFORM pg_sleep(600); END IF; RETURN true; END $$;
      CREATE DOMAIN checked AS text CHECK (dawdles(VALUE))`);
    await client.query({ name: 'two', text: "SELECT '{y}'::checked[] AS a" });
    await pg.superuser.query('INSERT INTO slow VALUES (true)');
    await cut();
    const asked = client.query('SELECT 1 AS one').catch((error: unknown) => error);
    const sleepers = async (): Promise<unknown> =>
      (await pg.superuser.query("SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'")).rows;
    await expect.poll(sleepers).toHaveLength(1);
    const first = await sleepers();
    // That try ends, and another one comes.
    await expect.poll(sleepers).not.toEqual(first);
    await pg.superuser.query('DELETE FROM slow');
    expect(await asked).toMatchObject({ rows: [{ one: 1 }] });
    await expect.poll(sleepers).toEqual([]);
    await client.query('DEALLOCATE ALL; DROP DOMAIN checked; DROP FUNCTION dawdles; DROP TABLE slow');
  });

  it('lacks what was rolled back, and what was local', async () => {
    await client.query("BEGIN; SET work_mem = '7MB'");
    await client.query('ROLLBACK');
    await client.query("BEGIN; SET LOCAL work_mem = '9MB'; COMMIT");
    await cut();
    expect(await rows('SHOW work_mem')).toEqual(['4MB']);
  });

  it('has the statements that were prepared, in SQL and by messages', async () => {
    await client.query('PREPARE one AS SELECT 1');
    await client.query('PREPARE gone AS SELECT 1');
    await client.query('DEALLOCATE gone');
    await client.query({ name: 'two', text: 'SELECT $1::int + 1', values: [1] });
    await cut();
    expect(await rows('EXECUTE one')).toEqual([1]);
    expect((await client.query({ name: 'two', text: 'SELECT $1::int + 1', values: [2] })).rows).toEqual([
      { '?column?': 3 },
    ]);
    expect(await rows('SELECT name FROM pg_prepared_statements ORDER BY 1')).toEqual(['one', 'two']);
    // What was asked of the session is what is made at the next leader.
    await cut();
    expect(await rows("SELECT statement FROM pg_prepared_statements WHERE name = 'one'")).toEqual([
      'PREPARE one AS SELECT 1',
    ]);
    await cut();
    expect(await rows('EXECUTE one')).toEqual([1]);
    await client.query('DISCARD ALL');
    await cut();
    expect(await rows('SELECT name FROM pg_prepared_statements')).toEqual([]);
  });

  it('is made when a lock that its statements wait for is let go of, and leaves no session that waits', async () => {
    await client.query({ name: 'two', text: 'SELECT count(*)::int FROM t' });
    await client.query('PREPARE one AS SELECT count(*)::int FROM t');
    await pg.superuser.query('BEGIN; LOCK TABLE t');
    await cut();
    const asked = rows('EXECUTE one');
    const waiting = async (): Promise<number[]> => {
      const { rows: found } = await pg.superuser.query<{ pid: number }>(
        "SELECT pid FROM pg_locks WHERE NOT granted AND relation = 't'::regclass",
      );
      return found.map(({ pid }) => pid);
    };
    const seen = new Set<number>();
    while (seen.size < 4) {
      const now = await waiting();
      // The one before may have begun its next statement when it was left, which ends with that.
      expect(now.length).toBeLessThanOrEqual(2);
      for (const pid of now) seen.add(pid);
    }
    await pg.superuser.query('COMMIT');
    expect(await asked).toEqual([0]);
    await expect.poll(waiting).toEqual([]);
    expect((await client.query({ name: 'two', text: 'SELECT count(*)::int FROM t' })).rowCount).toBe(1);
    expect(await rows('SHOW lock_timeout')).toEqual(['0']);
  });

  it('has the statement without a name', async () => {
    await ask(wire, send.parse('', 'SELECT $1::text'), send.sync);
    await cut();
    const bound = [send.bind({ portal: '', statement: '', parameters: ['a'] }), send.execute('')];
    expect((await ask(wire, ...bound, send.sync)).map((line) => line[0]).join('')).toBe('2DCZ');
    // A SET asks PostgreSQL for what the session has, and leaves that statement alone.
    await ask(
      wire,
      send.parse('s', "SET work_mem = '5MB'"),
      send.bind({ portal: '', statement: 's' }),
      send.execute(''),
      send.sync,
    );
    expect((await ask(wire, ...bound, send.sync)).map((line) => line[0]).join('')).toBe('2DCZ');
  });

  it.each([
    ['CREATE TEMP TABLE mine (a int)', 'temporary tables'],
    ['SELECT pg_advisory_lock(7)', 'advisory locks'],
    ['DECLARE c CURSOR WITH HOLD FOR SELECT 1', 'cursors WITH HOLD'],
    ["CREATE TYPE pg_temp.mood AS ENUM ('x')", 'temporary functions or types'],
    ["CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'", 'temporary functions or types'],
  ])('says once what it has lost: %s', async (sql, what) => {
    await client.query(sql);
    await cut();
    const failed = await failure(client.query('INSERT INTO t VALUES (1)'));
    expect([failed.code, failed.message.includes(what)]).toEqual(['55000', true]);
    expect(await rows('SELECT count(*)::int FROM t')).toEqual([0]);
    await cut();
    expect(await rows('SELECT count(*)::int FROM t')).toEqual([0]);
  });

  it.each([
    ['CREATE TEMP TABLE mine (a int)', 'temporary tables'],
    ['SELECT pg_advisory_lock(7)', 'advisory locks'],
    ['DECLARE c CURSOR WITH HOLD FOR SELECT 1', 'cursors WITH HOLD'],
  ])(
    'says of a SELECT under way, which may have written, that its outcome is unknown: %s',
    async (sql, what) => {
      await client.query(
        "CREATE OR REPLACE FUNCTION writes() RETURNS void LANGUAGE sql AS 'INSERT INTO t SELECT count(*) FROM t; SELECT pg_sleep(0.3)'",
      );
      await client.query(sql);
      await settled();
      const asked = failure(client.query('SELECT writes()'));
      await cut();
      const { code, detail } = await asked;
      expect([code, detail?.includes(what)]).toEqual(['08007', true]);
      await expect.poll(() => rows('SELECT count(*)::int FROM t')).toEqual([1]);
      await client.query('DROP FUNCTION writes()');
    },
  );

  it.each<[string, string, unknown[]]>([
    ['without a table', 'SELECT 7::int AS a FROM pg_sleep(0.3)', []],
    ['of a table', 'SELECT a FROM t, pg_sleep(0.3) WHERE a = 7', []],
    ['with parameters', 'SELECT a FROM t, pg_sleep($2) WHERE a = $1', [7, 0.3]],
    ['that joins and counts', 'SELECT count(*)::int * 7 AS a FROM t JOIN t u USING (a), pg_sleep(0.3)', []],
    ['of values', 'VALUES (7, pg_sleep(0.3)::text)', []],
  ])('executes a SELECT again that can only have read: %s', async (_, text, values) => {
    await client.query('INSERT INTO t VALUES (7)');
    const asked = client.query<unknown[]>({ text, values, rowMode: 'array' });
    await cut();
    expect((await asked).rows[0]![0]).toBe(7);
  });

  it.each<[string, string, unknown[]]>([
    ['a function that finds it cannot write, and goes on', 'SELECT goes_on() AS a', []],
    ['the same with a parameter', 'SELECT goes_on() + $1::int', [1]],
    ['a function that finds what it has written', 'SELECT once()', []],
    ['a view that calls it', 'SELECT * FROM hidden', []],
    ['what keeps the planner busy', 'SELECT slow(1) FROM pg_sleep(0.3)', []],
    ['a lock', 'SELECT a, pg_sleep(0.3) FROM t FOR UPDATE', []],
    [
      'a statement that writes within',
      'WITH w AS (INSERT INTO t VALUES (8) RETURNING a) SELECT a, pg_sleep(0.3) FROM w',
      [],
    ],
  ])('does not so with what may have written: %s', async (_, text, values) => {
    await client.query(`INSERT INTO t VALUES (7);
      CREATE FUNCTION once() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
        IF EXISTS (SELECT FROM t WHERE a = 9) THEN RETURN 0; END IF;
        INSERT INTO t VALUES (9); PERFORM pg_sleep(0.3); RETURN 1; END $$;
      CREATE FUNCTION goes_on() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
        BEGIN PERFORM pg_sleep(0.3); INSERT INTO t VALUES (10); EXCEPTION WHEN OTHERS THEN NULL; END; RETURN 1; END $$;
      CREATE FUNCTION slow(int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ BEGIN
        IF current_setting('transaction_read_only') = 'on' THEN PERFORM pg_sleep(600); END IF; RETURN 1; END $$;
      CREATE VIEW hidden AS SELECT once()`);
    const asked = codeOf(client.query({ text, values }));
    await cut();
    expect(await asked).toBe('08007');
    await client.query('DROP VIEW hidden; DROP FUNCTION once(), goes_on(), slow(int)');
  });

  it('says so though its database has operators that lie', async () => {
    await client.query(`SET search_path = public, pg_catalog;
      CREATE FUNCTION liar(text, text) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT false';
      CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = liar)`);
    expect(await rows("SELECT 'a'::text = 'a'")).toEqual([false]);
    await client.query('SELECT pg_advisory_lock(7)');
    await cut();
    expect(await codeOf(client.query('SELECT 1'))).toBe('55000');
    await client.query('DROP FUNCTION liar CASCADE');
  });

  it('says so, too, of what could not be seen in the text, once it was idle for a while', async () => {
    await client.query(
      'CREATE OR REPLACE FUNCTION locks() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_lock(8); END $$',
    );
    await cut();
    const [pid] = await rows('SELECT pg_backend_pid(), locks()');
    const asked = "SELECT state = 'idle' AND query !~ 'locks' AS yes FROM pg_stat_activity WHERE pid = $1";
    await expect.poll(async () => (await pg.superuser.query(asked, [pid])).rows).toEqual([{ yes: true }]);
    await cut();
    expect(await codeOf(client.query('SELECT 1'))).toBe('55000');
    await client.query('DROP FUNCTION locks()');
  });

  it('has lost its transaction, and nothing of it is committed', async () => {
    await client.query('BEGIN');
    await client.query('INSERT INTO t VALUES (1)');
    await cut();
    expect(await codeOf(client.query('INSERT INTO t VALUES (2)'))).toBe('40001');
    expect(await codeOf(client.query('INSERT INTO t VALUES (3)'))).toBe('25P02');
    await client.query('ROLLBACK');
    await client.query('BEGIN');
    await client.query('INSERT INTO t VALUES (4)');
    await cut();
    expect(await codeOf(client.query('COMMIT'))).toBe('40001');
    await client.query('INSERT INTO t VALUES (5)');
    expect(await rows('SELECT a FROM t')).toEqual([5]);
  });

  it('may be cancelled with the key that its client was given at first', async () => {
    await cut();
    const cancelled = codeOf(client.query('SELECT pg_sleep(20)'));
    await expect.poll(() => sleeping(pg)).toBe(1);
    const socket = connect(follower.connection.port, '127.0.0.1', () =>
      socket.end(cancelPacket(keyOf(client))),
    );
    socket.on('error', () => {});
    expect(await cancelled).toBe('57014');
  });

  it('is one of its own replica when that leads, and another one when it leads no more', async () => {
    await client.query("SET work_mem = '7MB'");
    follower.service.setDoor(doorOf(pg));
    follower.service.setService({ kind: 'here', generation: 5 });
    await expect.poll(() => leader.listener.clients).toBe(0);
    expect(await rows('SHOW work_mem')).toEqual(['7MB']);
    follower.service.setService(leaderAt(leader.connection.port, 'r7'));
    expect(await rows('SHOW work_mem')).toEqual(['7MB']);
    await expect.poll(() => leader.listener.clients).toBe(2);
    expect(follower.listener.clients).toBe(2);
  });

  it('ends as before if it uses names for its transactions', async () => {
    await ask(wire, q("SELECT current_setting('barista.request_id', true)"));
    await cut();
    expect((await wire.untilClosed()).at(-1)?.type).toBe('E');
  });

  it('is there for a hundred clients at once', async () => {
    const many = await Promise.all(Array.from({ length: 100 }, () => follower.client({ user: 'open' })));
    await cut();
    const answers = await Promise.all(many.map((one) => one.query<{ n: number }>('SELECT 1 AS n')));
    expect(answers.every(({ rows: [row] }) => row?.n === 1)).toBe(true);
    await Promise.all(many.map((one) => one.end()));
  });
});

/** Whatever stands between two messages of these, the client hears the same, but for its transactions. */
const scripts: Readonly<Record<string, readonly Buffer[]>> = {
  'one after another': [
    q('SELECT 1'),
    Buffer.concat([run('SELECT 2'), send.sync]),
    q('SHOW work_mem'),
    q(''),
  ],
  settings: [q("SET work_mem = '3MB'"), q('SHOW work_mem'), q('RESET work_mem'), q('SHOW work_mem')],
  prepared: [
    Buffer.concat([send.parse('s', 'SELECT $1::int'), send.sync]),
    Buffer.concat([
      send.bind({ portal: '', statement: 's', parameters: ['4'] }),
      send.execute(''),
      send.sync,
    ]),
    Buffer.concat([send.closeStatement('s'), send.sync]),
    Buffer.concat([
      send.parse('s', 'SELECT 5'),
      send.bind({ portal: '', statement: 's' }),
      send.execute(''),
      send.sync,
    ]),
  ],
  errors: [q('SELECT 1/0'), Buffer.concat([run('SELEC'), send.sync]), q('SELECT 1')],
};

it.each(Object.entries(scripts))(
  'a failover between any two messages is not noticed: %s',
  async (_, script) => {
    const expected: string[][] = [];
    for (const message of script) expected.push(await ask(wire, message));
    for (let at = 0; at < script.length; at += 1) {
      const other = await connectWire({ ...follower.connection, user: 'open' });
      const seen: string[][] = [];
      for (const [index, message] of script.entries()) {
        if (index === at) await cut();
        seen.push(await ask(other, message));
      }
      other.close();
      expect(seen).toEqual(expected);
    }
  },
);

describe('a client of a leader that hands over', () => {
  let next: TestGateway;
  let direct: Client;
  beforeEach(async () => {
    // Those of the follower would wait for a leader.
    await client.end();
    wire.close();
    next = await startGateway(pg);
    direct = await leader.client({ user: 'open' });
  });
  afterEach(async () => {
    await direct.end().catch(() => {});
    await next.listener.close();
  });

  /** PostgreSQL was asked what the sessions have, and they were left. */
  async function areLeft(): Promise<void> {
    const open = "SELECT FROM pg_stat_activity WHERE usename = 'open'";
    await expect.poll(async () => (await pg.superuser.query(open)).rowCount).toBe(0);
  }

  async function handOver(port = next.connection.port): Promise<void> {
    leader.service.setService({ kind: 'nowhere', reason: 'it hands over', drains: 1 });
    await areLeft();
    leader.service.setService(leaderAt(port, 'r9'));
  }

  it('goes on with the next one, and has what it had', async () => {
    await direct.query("SET work_mem = '7MB'; SET app.tenant = 'x'");
    await direct.query({ name: 'two', text: 'SELECT $1::int8 + 1 AS n', values: [1] });
    await handOver();
    const { rows: found } = await direct.query(
      "SELECT current_setting('work_mem') AS w, current_setting('app.tenant') AS t",
    );
    expect(found).toEqual([{ w: '7MB', t: 'x' }]);
    expect((await direct.query({ name: 'two', text: 'SELECT $1::int8 + 1 AS n', values: [2] })).rows).toEqual(
      [{ n: '3' }],
    );
    expect(next.listener.clients).toBe(1);
  });

  it('has what it had when it goes on once more, though it was asked in between', async () => {
    await direct.query("SET app.tenant = 'x'");
    await direct.query({ name: 'set', text: "SELECT set_config('app.tenant', 'y', false)" });
    await handOver();
    await direct.query("SET app.tenant = 'x'; SET work_mem = '7MB'");
    await direct.query({ name: 'set', text: "SELECT set_config('app.tenant', 'y', false)" });
    leader.service.setService(leaderAt(next.connection.port, 'r8'));
    expect((await direct.query("SELECT current_setting('app.tenant') AS t")).rows).toEqual([{ t: 'y' }]);
  });

  it('through a follower goes on by way of the follower, and not of the old leader', async () => {
    const through = await follower.client({ user: 'open' });
    await handOver();
    expect((await direct.query('SELECT 1 AS n')).rows).toEqual([{ n: 1 }]);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(next.listener.clients).toBe(1);
    follower.service.setService(leaderAt(next.connection.port, 'r9'));
    expect((await through.query('SELECT 1 AS n')).rows).toEqual([{ n: 1 }]);
    expect((await direct.query('SELECT 2 AS n')).rows).toEqual([{ n: 2 }]);
    await expect.poll(() => [leader.listener.clients, next.listener.clients]).toEqual([1, 2]);
    await through.end();
  });

  it('ends its transaction there first', async () => {
    await direct.query('BEGIN');
    await direct.query('INSERT INTO t VALUES (1)');
    leader.service.setService({ kind: 'nowhere', reason: 'it hands over', drains: 1 });
    await direct.query('INSERT INTO t VALUES (2)');
    await direct.query('COMMIT');
    await areLeft();
    leader.service.setService(leaderAt(next.connection.port, 'r9'));
    expect((await direct.query('SELECT count(*)::int AS n FROM t')).rows).toEqual([{ n: 2 }]);
  });

  it('hears that an outcome is unknown if it has spoken of what acts elsewhere', async () => {
    const way = await startRelay(next.connection.port);
    await direct.query('SET barista.effects_elsewhere = on');
    await handOver(way.port);
    await direct.query('SELECT 1');
    leader.service.outcome = 'notCommitted';
    const letCommitsGo = await holdCommits(pg);
    const told = codeOf(direct.query('INSERT INTO t VALUES (1)'));
    await untilCommitsWait(pg, 1);
    way.cut();
    await letCommitsGo();
    expect(await told).toBe('08007');
    way.close();
  });

  it('ends with words if its settings cannot be known', async () => {
    await direct.query("SELECT set_config('app.' || 'tenant', 'x', false)");
    const told = new Promise<{ readonly code?: string }>((resolve) => direct.once('error', resolve));
    leader.service.setService({ kind: 'nowhere', reason: 'it hands over', drains: 1 });
    expect((await told).code).toBe('57P01');
  });
});
