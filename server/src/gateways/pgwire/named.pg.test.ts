/** `SET barista.request_id`: a transaction that is repeated under its name takes effect once, and its client is told so. */
import { type Client, type ClientConfig, type QueryResult } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startRelay } from '../../adapters/testing/relay.ts';
import { prepareRequests } from '../../adapters/postgres/requests/request-schema.ts';
import * as send from './codec/frontend-messages.ts';
import { frame } from './testing/frames.ts';
import { serviceOf, startGateway, type TestGateway } from './testing/gateway.ts';
import {
  ask,
  codeOf,
  elsewhere,
  failure,
  fatal,
  holdCommits,
  keys,
  lastWords,
  leaderAt,
  q,
  run,
  sleep,
  waitingCommits,
} from './testing/helpers.ts';
import { createMemoryClientService } from './testing/memory-client-service.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { connectWire, describeFrame, type WireClient } from './testing/wire-client.ts';

let pg: TestPostgres;
let gateway: TestGateway;
let client: Client;
let notices: string[];
let prepared: string[];
let letCommitsGo: (() => Promise<void>) | null = null;

async function connect(change: ClientConfig = {}, to = gateway): Promise<Client> {
  const fresh = await to.client(change);
  fresh.on('notice', (notice) => notices.push(`${notice.code} ${notice.message}`));
  return fresh;
}

beforeAll(async () => {
  pg = await startTestPostgres();
  await pg.superuser.query("CREATE ROLE other LOGIN PASSWORD 'other'");
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  const service = serviceOf(pg);
  prepared = [];
  service.prepare = async (database) => {
    prepared.push(database);
    const operator = await pg.connect(database);
    await prepareRequests(operator);
    await operator.end();
  };
  gateway = await startGateway(pg, { service });
  notices = [];
  client = await connect();
  await client.query('CREATE TABLE t (a int PRIMARY KEY, b text); GRANT ALL ON t TO other');
});
afterEach(async () => {
  await letCommitsGo?.();
  letCommitsGo = null;
  await client.end().catch(() => {});
  await gateway.listener.close();
  await pg.superuser.query('DROP TABLE IF EXISTS t CASCADE; DROP SCHEMA IF EXISTS pg_barista CASCADE');
});

async function recorded(): Promise<string[]> {
  const { rows } = await pg.superuser.query<{ line: string }>(
    "SELECT concat_ws(' ', role, id, tag) AS line FROM pg_barista.request ORDER BY position",
  );
  return rows.map(({ line }) => line);
}

function name(id: string, on = client): Promise<QueryResult> {
  return on.query(`SET barista.request_id = '${id}'`);
}

/** Once the database is prepared, which is a commit, too. */
async function holdNamedCommits(): Promise<void> {
  await name('prepared');
  letCommitsGo = await holdCommits(pg);
}

const told = 'RQ001 the transaction of this request_id had been committed before: nothing was done again';
const insert = "INSERT INTO t VALUES (1, 'x')";

describe('a named transaction', () => {
  it('is recorded in itself, and a repetition is rolled back and told as committed, with a notice', async () => {
    await client.query('BEGIN');
    await name('x');
    await client.query(insert);
    expect((await client.query('COMMIT')).command).toBe('COMMIT');
    expect(await recorded()).toEqual(['barista x COMMIT']);
    const again = await connect();
    await again.query('BEGIN');
    await name('x', again);
    await again.query("INSERT INTO t VALUES (2, 'x')");
    expect((await again.query('COMMIT')).command).toBe('COMMIT');
    expect(notices).toEqual([told]);
    await again.query("INSERT INTO t VALUES (3, 'x')");
    expect(await keys(pg)).toEqual([1, 3]);
    await again.end();
  });

  it('uses its name up: the next one is another, in the same session', async () => {
    await name('x');
    await client.query(insert);
    await client.query("INSERT INTO t VALUES (2, 'x')");
    await name('x');
    await client.query("INSERT INTO t VALUES (3, 'x')");
    await client.query("INSERT INTO t VALUES (4, 'x')");
    expect(await keys(pg)).toEqual([1, 2, 4]);
    expect(notices).toEqual([told]);
  });

  it('keeps its name through reads, roll-backs and failures, and SET LOCAL names just the one', async () => {
    await name('x');
    await client.query('SELECT count(*) FROM t');
    await client.query('BEGIN');
    await client.query('SELECT 1');
    await client.query('COMMIT');
    await client.query("BEGIN; INSERT INTO t VALUES (9, 'x')");
    await client.query('ROLLBACK');
    expect(await codeOf(client.query("INSERT INTO t VALUES (NULL, 'x')"))).toBe('23502');
    await client.query("UPDATE t SET b = 'y'");
    expect(await recorded()).toEqual([]);
    await client.query(insert);
    await client.query("BEGIN; SET LOCAL barista.request_id = 'y'; INSERT INTO t VALUES (2, 'x')");
    await client.query('COMMIT');
    await client.query("INSERT INTO t VALUES (3, 'x')");
    expect(await recorded()).toEqual(['barista x INSERT 0 1', 'barista y COMMIT']);
    expect(await keys(pg)).toEqual([1, 2, 3]);
  });

  it('names a block that is opened behind settings, and refuses one behind anything else', async () => {
    await client.query("SET barista.request_id = 'x'; BEGIN");
    await client.query(insert);
    await client.query('ROLLBACK');
    expect(await keys(pg)).toEqual([]);
    await client.query("SET barista.request_id = 'x'; BEGIN");
    await client.query(insert);
    await client.query('COMMIT');
    expect([await recorded(), await keys(pg)]).toEqual([['barista x COMMIT'], [1]]);
    await name('y');
    const late = "INSERT INTO t VALUES (5, 'x'); BEGIN; INSERT INTO t VALUES (6, 'x')";
    expect(await codeOf(client.query(late))).toBe('0A000');
    expect(await keys(pg)).toEqual([1]);
  });

  it('that cannot be committed leaves its name', async () => {
    await client.query('ALTER TABLE t ADD c int REFERENCES t (a) DEFERRABLE INITIALLY DEFERRED');
    for (const begin of [[], ['BEGIN']]) {
      await name('x');
      for (const sql of begin) await client.query(sql);
      const statements = ['INSERT INTO t VALUES (1, NULL, 7)', ...(begin.length > 0 ? ['COMMIT'] : [])];
      const last = statements.pop()!;
      for (const sql of statements) await client.query(sql);
      expect(await codeOf(client.query(last))).toBe('23503');
    }
    expect(await recorded()).toEqual([]);
    await client.query('INSERT INTO t VALUES (1, NULL, 1)');
    expect(await recorded()).toEqual(['barista x INSERT 0 1']);
  });

  it('belongs to the role that logged in, in its database', async () => {
    await name('x');
    await client.query(insert);
    const other = await connect({ user: 'other', password: 'other' });
    await name('x', other);
    await other.query("INSERT INTO t VALUES (2, 'x')");
    expect(await keys(pg)).toEqual([1, 2]);
    const known = await other.query(
      "SELECT pg_barista.request_committed('x') AS x, pg_barista.request_committed('y') AS y",
    );
    expect(known.rows).toEqual([{ x: true, y: false }]);
    expect(prepared).toEqual(['barista']);
    await other.end();
  });

  it('may be named as the client connects, and by set_config with parameters', async () => {
    for (const a of [1, 2]) {
      const named = await connect({ options: '-c barista.request_id=x' });
      await named.query('INSERT INTO t VALUES ($1, $2)', [a, 'x']);
      await named.query('INSERT INTO t VALUES ($1, $2)', [a + 10, 'x']);
      await named.end();
    }
    for (const a of [3, 4]) {
      await client.query('BEGIN');
      await client.query("SELECT set_config('barista.request_id', $1, true)", ['y']);
      await client.query('INSERT INTO t VALUES ($1, $2)', [a, 'x']);
      await client.query('COMMIT');
    }
    expect(await keys(pg)).toEqual([1, 3, 11, 12]);
    expect(notices).toEqual([told, told]);
  });

  it('may be named by a prepared statement, again and again', async () => {
    const set = { name: 's', text: "SELECT set_config('barista.request_id', $1, false)" };
    for (const [n, id] of ['a', 'b', 'a', 'c'].entries()) {
      await client.query({ ...set, values: [id] });
      await client.query('INSERT INTO t VALUES ($1)', [n]);
    }
    expect(await keys(pg)).toEqual([0, 1, 3]);
    expect(await recorded()).toHaveLength(3);
  });

  it('with a name that is too long is refused', async () => {
    for (const begin of [[], ['BEGIN']]) {
      await name('x'.repeat(129));
      for (const sql of begin) await client.query(sql);
      const work =
        begin.length === 0 ? client.query(insert) : client.query(insert).then(() => client.query('COMMIT'));
      expect(await failure(work)).toMatchObject({
        code: '22023',
        message: 'barista.request_id is longer than 128 characters',
      });
    }
    expect(await keys(pg)).toEqual([]);
    await name('ä'.repeat(128));
    await client.query(insert);
    expect(await keys(pg)).toEqual([1]);
  });

  it('is found again at every level of isolation', async () => {
    for (const [n, level] of [
      'SERIALIZABLE',
      'REPEATABLE READ',
      'READ COMMITTED',
      'SERIALIZABLE',
    ].entries()) {
      const one = await connect();
      await one.query(`BEGIN ISOLATION LEVEL ${level}`);
      await name('x', one);
      await one.query('INSERT INTO t VALUES ($1)', [n]);
      await one.query('COMMIT');
      await one.end();
    }
    expect(await keys(pg)).toEqual([0]);
    expect(notices).toHaveLength(3);
  });

  it('chains, and may be prepared for two-phase commit', async () => {
    await client.query('BEGIN');
    await name('x');
    await client.query(insert);
    await client.query('COMMIT AND CHAIN');
    await client.query("INSERT INTO t VALUES (2, 'x')");
    await client.query('COMMIT');
    await client.query('BEGIN');
    await name('y');
    await client.query("INSERT INTO t VALUES (3, 'x')");
    await client.query("PREPARE TRANSACTION 'p'");
    expect(await recorded()).toEqual(['barista x COMMIT']);
    await client.query("COMMIT PREPARED 'p'");
    expect(await recorded()).toEqual(['barista x COMMIT', 'barista y PREPARE TRANSACTION']);
    await client.query('BEGIN');
    await name('y');
    await client.query("INSERT INTO t VALUES (4, 'x')");
    expect(await codeOf(client.query("PREPARE TRANSACTION 'p'"))).toBe('RQ001');
    await client.query('ROLLBACK');
    expect(await keys(pg)).toEqual([1, 2, 3]);
  });

  it('costs the others nothing: a session that names none is never touched', async () => {
    const one = await connect();
    await one.query('BEGIN');
    await one.query(insert);
    await one.query('COMMIT');
    expect(prepared).toEqual([]);
    expect((await pg.superuser.query("SELECT to_regnamespace('pg_barista') AS there")).rows).toEqual([
      { there: null },
    ]);
    await one.end();
  });

  it('leaves no trace in what its session can see', async () => {
    await name('x');
    await client.query(insert);
    await name('y');
    await client.query('BEGIN');
    await client.query("UPDATE t SET b = 'y'");
    for (const sql of [
      'SELECT name FROM pg_prepared_statements',
      'SELECT name FROM pg_cursors',
      "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname NOT IN ('public', 'information_schema')",
    ]) {
      expect((await client.query(sql)).rows).toEqual([]);
    }
    await client.query('COMMIT');
    const { rows } = await client.query('EXPLAIN (COSTS OFF) UPDATE t SET b = b');
    expect(rows.map((row) => Object.values(row)[0])).toEqual(['Update on t', '  ->  Seq Scan on t']);
  });
});

describe('a statement of its own that is repeated', () => {
  it.each<[string, string, unknown[] | undefined]>([
    ['simple', insert, undefined],
    ['extended', 'INSERT INTO t VALUES ($1, $2)', [1, 'x']],
  ])('is not run again, but told as it was (%s protocol)', async (_, sql, values) => {
    await name('x');
    await client.query(sql, values);
    for (const again of [sql, "UPDATE t SET b = 'y'"]) {
      await name('x');
      const { command, rowCount } = await client.query(again, again === sql ? values : undefined);
      expect([command, rowCount]).toEqual(['INSERT', 1]);
    }
    expect(notices).toEqual([told, told]);
    expect((await pg.superuser.query('SELECT b FROM t')).rows).toEqual([{ b: 'x' }]);
    await client.query("INSERT INTO t VALUES (5, 'x')");
    expect(await keys(pg)).toEqual([1, 5]);
  });

  it.each([[undefined], [[]]])(
    'whose rows are not kept fails with RQ001, and nothing else is told (%s)',
    async (values) => {
      const sql = "INSERT INTO t VALUES ((SELECT count(*) FROM t), 'x') RETURNING a";
      await name('x');
      expect((await client.query(sql, values)).rows).toEqual([{ a: 0 }]);
      await name('x');
      expect(await failure(client.query(sql, values))).toMatchObject({
        code: 'RQ001',
        message: told.slice(6),
        detail: 'What it returned then is not kept.',
      });
      await client.query("INSERT INTO t VALUES (7, 'x')");
      expect(await keys(pg)).toEqual([0, 7]);
    },
  );

  it('of several in one message is one transaction, and its tags are not kept', async () => {
    const both = "INSERT INTO t VALUES (1, 'x'); UPDATE t SET b = 'y'";
    await name('x');
    await client.query(both);
    await name('x');
    expect(await codeOf(client.query(both.replace('(1', '(2')))).toBe('RQ001');
    expect(await keys(pg)).toEqual([1]);
    expect((await pg.superuser.query('SELECT b FROM t')).rows).toEqual([{ b: 'y' }]);
  });

  it('is a COPY, too', async () => {
    const wire = await connectWire(gateway.connection);
    await ask(wire, q("SET barista.request_id = 'x'"));
    wire.send(q('COPY t FROM STDIN'));
    await wire.until('G');
    expect(await ask(wire, frame('d', '1\tx\n2\ty\n'), frame('c'))).toEqual(['C COPY 2\\0', 'Z I']);
    await ask(wire, q("SET barista.request_id = 'x'"));
    expect((await ask(wire, q('COPY t FROM STDIN')))[0]).toContain('C=RQ001');
    await ask(wire, q("SET barista.request_id = 'y'"));
    wire.send(run('COPY t FROM STDIN'), send.sync);
    await wire.until('G');
    const answer = await ask(wire, frame('d', '3\tx\n'), frame('c'), send.sync);
    expect(answer).toEqual(['C COPY 1\\0', 'Z I']);
    expect(await keys(pg)).toEqual([1, 2, 3]);
    expect(await recorded()).toEqual(['barista x', 'barista y']);
    wire.close();
  });

  it('is one that may not be in a block: it runs, and its session keeps the name', async () => {
    await name('x');
    await client.query('VACUUM t');
    await client.query('CREATE INDEX CONCURRENTLY i ON t (b)');
    expect(await recorded()).toEqual([]);
    await client.query(insert);
    expect(await recorded()).toEqual(['barista x INSERT 0 1']);
  });

  it('is a procedure that ends transactions itself: that is refused', async () => {
    await client.query(
      'CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (1); COMMIT; END $$',
    );
    await name('x');
    expect(await codeOf(client.query('CALL p()'))).toBe('2D000');
    expect(await keys(pg)).toEqual([]);
    await client.query('DROP PROCEDURE p');
  });

  it('fails as it would without a name: position, notices and tags are PostgreSQL’s own', async () => {
    const direct = await connectWire({ ...gateway.connection, host: pg.socketDir, port: pg.port });
    const named = await connectWire(gateway.connection);
    for (const wire of [direct, named]) {
      await ask(wire, q('CREATE TEMP TABLE z (a int PRIMARY KEY)'));
      await ask(wire, q("SET barista.request_id = 'never used'"));
    }
    for (const messages of [
      [q('SELEC 1')],
      [q('INSERT INTO z VALUES (nothing)')],
      [q('INSERT INTO z VALUES (1), (1)')],
      [q('DROP TABLE IF EXISTS missing')],
      [q('SELECT 1; SELECT 2; SELECT 1/0')],
      [q('')],
      [run('SELECT $1::int', '5'), send.sync],
      [run('SELECT 1/0'), run('SELECT 2'), send.sync],
      [send.parse('', 'SELECT $1::int'), frame('D', 'S\0'), send.sync],
      [send.bind({ portal: '', statement: '', parameters: ['7'] }), send.execute(''), send.sync],
      [send.sync],
      [q('BEGIN'), q('COMMIT')],
      [q('ROLLBACK')],
      [q('SHOW work_mem')],
      [frame('F', Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0]))],
    ]) {
      const count = messages.length === 2 && messages[1]![0] === 0x51 ? 2 : 1;
      const answers: string[][] = [];
      for (const wire of [direct, named]) {
        wire.send(...messages);
        const frames = await wire.until('Z', count);
        answers.push(frames.map((one) => describeFrame(one).replace(/pg_temp_\d+/, 'pg_temp')));
      }
      expect(answers[1]).toEqual(answers[0]);
    }
    expect(await recorded()).toEqual([]);
    direct.close();
    named.close();
  });
});

describe('messages that hide the end of a transaction', () => {
  it.each([
    `${insert}; COMMIT`,
    `BEGIN; ${insert}; COMMIT`,
    `ROLLBACK; ${insert}`,
    `${insert}; PREPARE TRANSACTION 'p'`,
  ])('are refused, in a block and outside: %s', async (sql) => {
    for (const begin of [false, true]) {
      await name('x');
      if (begin) await client.query('BEGIN');
      expect(await codeOf(client.query(sql))).toBe('0A000');
      const next = await client.query('SELECT 1').then(
        () => 'fine',
        (error: { code: string }) => error.code,
      );
      expect(next).toBe(begin ? '25P02' : 'fine');
      await client.query('ROLLBACK').catch(() => {});
    }
    expect(await keys(pg)).toEqual([]);
    await client.query("SELECT 'a; COMMIT', E'\\'; COMMIT' -- ; COMMIT");
  });
});

describe('the extended protocol', () => {
  let wire: WireClient;
  beforeEach(async () => {
    wire = await connectWire(gateway.connection);
  });
  afterEach(() => {
    wire.close();
  });

  it('a COMMIT in a message of its own is claimed for, and told', async () => {
    for (const expected of ['C COMMIT\\0', 'C COMMIT\\0']) {
      await ask(wire, run('BEGIN'), send.sync);
      await ask(wire, run("SET barista.request_id = 'x'"), send.sync);
      await ask(wire, run(insert), send.sync);
      const answer = await ask(wire, run('COMMIT'), send.sync);
      expect(answer.filter((line) => !line.startsWith('N'))).toEqual(['1 ', '2 ', 'n ', expected, 'Z I']);
      await pg.superuser.query('DELETE FROM t');
    }
    expect(await recorded()).toEqual(['barista x COMMIT']);
  });

  it('BEGIN with the first statement, COMMIT with the last', async () => {
    await ask(wire, q("SET barista.request_id = 'x'"));
    const first = await ask(wire, run('BEGIN'), run(insert), send.sync);
    expect(first.map((line) => line[0]).join('')).toBe('12nC12nCZ');
    const last = await ask(wire, run("INSERT INTO t VALUES (2, 'x')"), run('COMMIT'), send.sync);
    expect(last.map((line) => line[0]).join('')).toBe('12nC12nCZ');
    expect(await recorded()).toEqual(['barista x COMMIT']);
    await ask(wire, q("SET barista.request_id = 'y'"));
    const all = await ask(wire, run('BEGIN'), run("INSERT INTO t VALUES (3, 'x')"), run('COMMIT'), send.sync);
    expect(all.map((line) => line[0]).join('')).toBe('12nC12nC12nCZ');
    expect(await recorded()).toEqual(['barista x COMMIT', 'barista y COMMIT']);
  });

  it('behind an error everything up to Sync is skipped', async () => {
    await ask(wire, q("SET barista.request_id = 'x'"));
    await ask(wire, run('BEGIN'), send.sync);
    const answer = await ask(wire, run('SELECT 1 / count(*) FROM t'), run('COMMIT'), send.sync);
    expect(answer.map((line) => line[0]).join('')).toBe('12TEZ');
    expect(answer.at(-1)).toBe('Z E');
    expect((await ask(wire, run('ROLLBACK'), send.sync)).at(-1)).toBe('Z I');
    expect(await recorded()).toEqual([]);
  });

  it('a pipeline is one transaction', async () => {
    await ask(wire, q("SET barista.request_id = 'x'"));
    const two = [run(insert), run("INSERT INTO t VALUES (2, 'x')"), send.sync];
    expect((await ask(wire, ...two)).map((line) => line[0]).join('')).toBe('12nC12nCZ');
    await ask(wire, q("SET barista.request_id = 'x'"));
    expect((await ask(wire, ...two))[0]).toContain('C=RQ001');
    expect(await keys(pg)).toEqual([1, 2]);
  });

  it('several requests that are sent at once are taken one after the other', async () => {
    wire.send(
      q("SET barista.request_id = 'x'"),
      run(insert),
      send.sync,
      q("SET barista.request_id = 'x'"),
      q("INSERT INTO t VALUES (2, 'x')"),
      q('BEGIN'),
      run("INSERT INTO t VALUES (3, 'x')"),
      send.sync,
      q('COMMIT'),
      q("SET barista.request_id = 'z'"),
      run("INSERT INTO t VALUES (4, 'x')"),
      run("INSERT INTO t VALUES (5, 'x')"),
      send.sync,
      send.terminate,
    );
    const types = (await wire.untilClosed()).map(({ type }) => type).join('');
    expect(types).toBe('CZ12nCZCZNCZCZ12nCZCZCZ12nC12nCZ');
    expect(await keys(pg)).toEqual([1, 3, 4, 5]);
    expect(await recorded()).toEqual(['barista x INSERT 0 1', 'barista z']);
  });

  it('a client that flushes instead of waiting for Sync is served', async () => {
    await ask(wire, q("SET barista.request_id = 'x'"));
    wire.send(send.parse('', 'INSERT INTO t VALUES ($1)'), frame('D', 'S\0'), send.flush);
    await wire.until('n');
    const answer = await ask(
      wire,
      send.bind({ portal: '', statement: '', parameters: ['1'] }),
      send.execute(''),
      send.sync,
    );
    expect(answer).toEqual(['2 ', 'C INSERT 0 1\\0', 'Z I']);
    expect(await recorded()).toEqual(['barista x INSERT 0 1']);
  });

  it('an unnamed statement that was prepared before the name lives on', async () => {
    await ask(wire, send.parse('', 'INSERT INTO t VALUES ($1)'), send.sync);
    await ask(
      wire,
      run("SELECT set_config('barista.request_id', 'x', false)").subarray(0, 0),
      send.parse('n', "SET barista.request_id = 'x'"),
      send.bind({ portal: '', statement: 'n' }),
      send.execute(''),
      send.sync,
    );
    const answer = await ask(
      wire,
      send.bind({ portal: '', statement: '', parameters: ['1'] }),
      send.execute(''),
      send.sync,
    );
    expect(answer).toEqual(['2 ', 'C INSERT 0 1\\0', 'Z I']);
    expect(await recorded()).toEqual(['barista x INSERT 0 1']);
  });

  it('what a session does under names it may not is refused, and the session ended', async () => {
    await ask(wire, q("SET barista.request_id = 'x'"));
    wire.send(run(insert), run('COMMIT'), send.sync);
    expect((await lastWords(wire)).at(-1)).toBe(fatal('0A000'));
    expect(await keys(pg)).toEqual([]);
  });

  it('a client that sends its request and closes its side is served', async () => {
    await ask(wire, q("SET barista.request_id = 'x'"));
    wire.socket.end(Buffer.concat([run(insert), send.sync]));
    expect((await wire.untilClosed()).map(({ type }) => type).join('')).toBe('12nCZ');
    expect(await recorded()).toEqual(['barista x INSERT 0 1']);
  });
});

it.each([1, 2, 5])('all of it works in bits of %i bytes', async (bits) => {
  const relay = await startRelay(gateway.connection.port, bits);
  const one = await connect({ port: relay.port });
  for (const again of [false, true]) {
    await name('x', one);
    expect((await one.query('INSERT INTO t VALUES ($1, $2)', [1, 'x'])).rowCount).toBe(1);
    await one.query('BEGIN');
    await name('y', one);
    await one.query('INSERT INTO t VALUES ($1, $2)', [again ? 3 : 2, 'x']);
    await one.query('COMMIT');
  }
  expect(await keys(pg)).toEqual([1, 2]);
  expect(notices).toEqual([told, told]);
  await one.end();
  relay.close();
});

it('long messages of a session with names have a limit', async () => {
  const small = await startGateway(pg, { service: gateway.service, limits: { namedFrameBytesMax: 200_000 } });
  const wire = await connectWire(small.connection);
  await ask(wire, q("SET barista.request_id = 'x'"));
  const fits = await ask(wire, q(`INSERT INTO t VALUES (1, '${'x'.repeat(190_000)}')`));
  expect(fits[0]).toBe('C INSERT 0 1\\0');
  await ask(wire, q("SET barista.request_id = 'y'"));
  wire.send(q(`INSERT INTO t VALUES (2, '${'x'.repeat(300_000)}')`));
  expect(await lastWords(wire)).toEqual([fatal('54000')]);
  expect(await keys(pg)).toEqual([1]);
  await small.listener.close();
});

it('of a session with names not much is kept that waits to be run: PostgreSQL gets it', async () => {
  const wire = await connectWire(gateway.connection);
  await ask(wire, q("SET barista.request_id = 'x'"));
  const parse = send.parse('', `SELECT '${'x'.repeat(100_000)}'`);
  wire.send(...Array.from({ length: 12 }, () => parse));
  const running = (): Promise<QueryResult> =>
    pg.superuser.query(
      "SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT ''xxxxx%'",
    );
  await expect.poll(async () => (await running()).rowCount).toBe(1);
  wire.send(run(insert), send.sync);
  expect((await wire.until('Z')).at(-2)?.type).toBe('C');
  expect(await recorded()).toEqual(['barista x INSERT 0 1']);
});

it('of a batch that is very long the answers are not kept', async () => {
  const wire = await connectWire(gateway.connection);
  const long = [...Array.from({ length: 1_100 }, () => send.closePortal('none')), run(insert), send.sync];
  await ask(wire, q("SET barista.request_id = 'x'"));
  expect(await ask(wire, ...long)).toContain('C INSERT 0 1\\0');
  await ask(wire, q("SET barista.request_id = 'x'"));
  expect((await ask(wire, ...long)).at(-2)).toContain('C=RQ001');
});

it('a database in which names cannot be kept is told with 58000', async () => {
  gateway.service.prepare = () => Promise.reject(new Error('the disk is full'));
  const failed = await failure(name('x'));
  expect(failed).toMatchObject({ code: '58000', detail: 'the disk is full' });
  const other = await connect();
  expect((await other.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  await other.end();
});

it('a database that was made anew is prepared anew', async () => {
  await name('x');
  await client.query(insert);
  await pg.superuser.query('DROP SCHEMA pg_barista CASCADE');
  await name('x');
  expect(await codeOf(client.query("INSERT INTO t VALUES (2, 'x')"))).toBe('3F000');
  const other = await connect();
  await name('y', other);
  await other.query("INSERT INTO t VALUES (3, 'x')");
  expect(await recorded()).toEqual(['barista y INSERT 0 1']);
  await other.end();
});

describe('two at the same time', () => {
  it('the second waits for the first, and is then told that it had been committed', async () => {
    await holdNamedCommits();
    const [one, two] = [await connect(), await connect()];
    for (const [a, on] of [one, two].entries()) {
      await on.query(`BEGIN; SET LOCAL barista.request_id = 'x'; INSERT INTO t VALUES (${a}, 'x')`);
    }
    const first = one.query('COMMIT');
    await expect.poll(() => waitingCommits(pg)).toBe(1);
    const second = two.query('COMMIT');
    await sleep(100);
    await letCommitsGo?.();
    await Promise.all([first, second]);
    expect(await keys(pg)).toEqual([0]);
    expect(notices).toEqual([told]);
    await Promise.all([one.end(), two.end()]);
  });

  it('the second is committed if the first was not', async () => {
    const [one, two] = [await connect(), await connect()];
    for (const [a, on] of [one, two].entries()) {
      await on.query(`BEGIN; SET LOCAL barista.request_id = 'x'; INSERT INTO t VALUES (${a}, 'x')`);
    }
    // The first has claimed its name, and goes away before its COMMIT.
    await one.query("SELECT pg_barista.claim_request('')");
    const second = two.query('COMMIT');
    await sleep(100);
    await one.end();
    await second;
    expect(await keys(pg)).toEqual([1]);
    expect(notices).toEqual([]);
    await two.end();
  });

  it('a statement of its own waits before it is run', async () => {
    await holdNamedCommits();
    const [one, two] = [await connect(), await connect()];
    await name('x', one);
    await name('x', two);
    const first = one.query(insert);
    await expect.poll(() => waitingCommits(pg)).toBe(1);
    const second = two.query(insert);
    await sleep(100);
    await letCommitsGo?.();
    await first;
    expect((await second).rowCount).toBe(1);
    expect(notices).toEqual([told]);
    await Promise.all([one.end(), two.end()]);
  });
});

describe('when the leader goes away, a client that has named its transaction', () => {
  it.each([
    ['committed', 'INSERT 0 1', ['C INSERT 0 1\\0', 'Z I', fatal('57P01')]],
    ['committed', null, [fatal('RQ001')]],
    ['notCommitted', null, [fatal('40001')]],
    ['unknown', null, [fatal('08007')]],
  ] as const)(
    'and whose statement is %s (%s) hears so, from the leader and from its follower',
    async (code, tag, words) => {
      const outcome = code === 'committed' ? { code, tag } : { code };
      const behind = createMemoryClientService(null);
      behind.setService(leaderAt(gateway.connection.port));
      const follower = await startGateway(pg, { service: behind, limits: { tunnelGraceMs: 100 } });
      for (const service of [gateway.service, behind]) service.requestOutcome = outcome;
      await holdNamedCommits();
      const wires: WireClient[] = [];
      for (const [n, to] of [gateway, follower].entries()) {
        const wire = await connectWire(to.connection);
        wires.push(wire);
        await ask(wire, q(`SET barista.request_id = 'x${n}'`));
        wire.send(q(`INSERT INTO t VALUES (${n}, 'x')`));
      }
      await expect.poll(() => waitingCommits(pg)).toBe(2);
      behind.setService({ kind: 'here', generation: 1 });
      expect(await lastWords(wires[1]!)).toEqual(words);
      gateway.service.setService(elsewhere);
      expect(await lastWords(wires[0]!)).toEqual(words);
      expect(behind.asked).toEqual([{ database: 'barista', role: 'barista', name: 'x1' }]);
      // That one's client may still be there, for all it knows.
      expect(gateway.service.asked).toContainEqual({ database: 'barista', role: 'barista', name: 'x0' });
      await letCommitsGo?.();
      await follower.listener.close();
    },
  );

  it('and has been answered is not told of that one', async () => {
    gateway.service.requestOutcome = { code: 'committed', tag: 'COMMIT' };
    const wire = await connectWire(gateway.connection);
    await ask(wire, q("SET barista.request_id = 'x'"));
    await ask(wire, q(insert));
    gateway.service.setService(elsewhere);
    expect(await lastWords(wire)).toEqual([fatal('57P01')]);
    expect(gateway.service.asked).toEqual([]);
  });
});
