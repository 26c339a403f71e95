/** Transactions of which it does not show, or not at once, that they must be recorded under their name. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as send from '../../pgwire/frontend-messages.ts';
import { frame } from './testing/frames.ts';
import { ask, codeOf, keys, q, run, sleep } from './testing/helpers.ts';
import {
  client,
  connect,
  gateway,
  insert,
  name,
  notices,
  pg,
  recorded,
  told,
  useNamedTransactions,
} from './testing/named.ts';
import { connectWire, type WireClient } from './testing/wire-client.ts';

useNamedTransactions();

describe('a text that cannot be read in the encoding of its session', () => {
  // In SJIS 0x83 0x5c is one character; read byte by byte, its second half escapes the quote.
  const literal = Buffer.from("E'\x83\x5c'", 'latin1');
  let wire: WireClient;

  beforeEach(async () => {
    wire = await connectWire(gateway.connection);
    await ask(wire, q('SET client_encoding = SJIS'));
    await ask(wire, q("SET barista.request_id = 'x'"));
  });
  afterEach(async () => {
    wire.close();
    const { rows } = await pg.superuser.query<{ sql: string }>(
      "SELECT format('ROLLBACK PREPARED %L', gid) AS sql FROM pg_prepared_xacts",
    );
    for (const { sql } of rows) await pg.superuser.query(sql);
  });

  function text(before: string, after: string): Buffer {
    return Buffer.concat([Buffer.from(before), literal, Buffer.from(after), Buffer.from([0])]);
  }

  it('is refused, whether it hides the end of a transaction or not, in a block and outside', async () => {
    for (const after of ['); COMMIT', ')']) {
      const message = frame('Q', text('INSERT INTO t VALUES (1, ', after));
      expect((await ask(wire, message))[0]).toContain('C=0A000');
      await ask(wire, q('BEGIN'));
      expect((await ask(wire, message)).at(-1)).toBe('Z E');
      await ask(wire, q('ROLLBACK'));
    }
    expect(await keys(pg)).toEqual([]);
  });

  it('is one statement in the extended protocol, and taken for that', async () => {
    const parse = (before: string, after: string): Buffer =>
      frame('P', Buffer.concat([Buffer.from([0]), text(before, after), Buffer.from([0, 0])]));
    const rest = [send.bind({ portal: '', statement: '' }), send.execute(''), send.sync];
    await ask(wire, parse('INSERT INTO t VALUES (1, ', ')'), ...rest);
    expect(await recorded()).toEqual(['barista x INSERT 0 1']);
    await ask(wire, q("SET barista.request_id = 'y'"));
    await ask(wire, q('BEGIN'));
    await ask(wire, q("INSERT INTO t VALUES (2, 'x')"));
    await ask(wire, parse('PREPARE TRANSACTION ', ''), ...rest);
    const { rows } = await pg.superuser.query('SELECT FROM pg_prepared_xacts');
    expect(rows).toHaveLength(1);
    await ask(wire, q('ROLLBACK'));
    await ask(wire, q("INSERT INTO t VALUES (3, 'x')"));
    expect(await recorded()).toEqual(['barista x INSERT 0 1']);
  });
});

describe('a transaction that only notifies', () => {
  let heard: string[];
  beforeEach(async () => {
    heard = [];
    client.on('notification', ({ payload }) => heard.push(payload ?? ''));
    await client.query('LISTEN c');
    await client.query(
      "CREATE OR REPLACE FUNCTION notifies(payload text) RETURNS void LANGUAGE sql AS $$ SELECT pg_notify('c', payload) $$",
    );
  });

  it.each([
    ['NOTIFY', (payload: string) => [`NOTIFY c, '${payload}'`]],
    ['a function that notifies', (payload: string) => [`SELECT notifies('${payload}')`]],
    ['pg_notify in a block', (payload: string) => ['BEGIN', `SELECT pg_notify('c', '${payload}')`, 'COMMIT']],
  ])('is recorded, and not repeated: %s', async (_, statements) => {
    for (const payload of ['first', 'again']) {
      const one = await connect();
      await name('x', one);
      for (const sql of statements(payload)) await codeOf(one.query(sql)).catch(() => '');
      await one.end();
    }
    await client.query('SELECT 1');
    expect(heard).toEqual(['first']);
    expect(await recorded()).toHaveLength(1);
  });

  it('by a prepared statement, too; one that only sets behind it leaves its name', async () => {
    const notify = { name: 'n', text: "SELECT pg_notify('c', $1)" };
    const one = await connect();
    await one.query("SET barista.request_id = 'w'");
    for (const payload of ['first', 'again']) {
      await name('x', one);
      await codeOf(one.query({ ...notify, values: [payload] })).catch(() => '');
    }
    await name('y', one);
    await one.query("SET work_mem = '4MB'");
    await one.query(insert);
    await one.end();
    await client.query('SELECT 1');
    expect(heard).toEqual(['first']);
    expect(await recorded()).toEqual(['barista x', 'barista y INSERT 0 1']);
  });
});

describe('a statement that gives the session its name', () => {
  const text = (sql: string) => [{ text: sql }];
  const byParameters = {
    text: 'SELECT set_config($1, $2, false)',
    values: ['barista.request_id', 'x'],
  };
  const set = "set_config('barista.request_id', 'x', false)";
  it.each([
    ['by parameters', [byParameters]],
    ['by parameters, beside something else', [{ ...byParameters, text: `${byParameters.text}, now()` }]],
    ['by parameters, where another name was set', [{ text: "SET barista.request_id = 'w'" }, byParameters]],
    ['by parameters in a block', [{ text: 'BEGIN' }, byParameters, { text: 'COMMIT' }]],
    ['by a statement that is prepared in SQL', [...text(`PREPARE g AS SELECT ${set}`), ...text('EXECUTE g')]],
    ['between dollars', text("SELECT set_config($$barista.request_id$$, 'x', false)")],
    ['beside something else', text(`SELECT ${set}, now()`)],
    ['beside something else in a block', [...text('BEGIN'), ...text(`SELECT ${set}, now()`), ...text('END')]],
    ['in a part of a query', text(`WITH given AS (SELECT ${set}) SELECT * FROM given`)],
    ['in what is copied', text(`COPY (SELECT ${set}) TO STDOUT`)],
    ['as it is explained', text(`EXPLAIN ANALYZE SELECT ${set}`)],
    ['in a body', text(`DO $$ BEGIN PERFORM ${set}; END $$`)],
  ])('leaves it to the next one that writes: %s', async (_, statements) => {
    for (const wasDone of [false, true]) {
      const one = await connect();
      for (const statement of statements) await one.query(statement);
      const { rows } = await client.query<{ done: boolean }>(
        "SELECT pg_barista.request_committed('x') AS done",
      );
      expect(rows[0]?.done).toBe(wasDone);
      await one.query(insert);
      await one.end();
    }
    expect(notices).toEqual([told]);
    expect(await keys(pg)).toHaveLength(1);
    expect(await recorded()).toEqual(['barista x INSERT 0 1']);
  });

  it.each([
    ['behind its Parse', 1],
    ['behind its Parse, and a Sync', 2],
  ])('by parameters that come %s', async (_, ahead) => {
    const messages = [
      send.parse('', 'SELECT set_config($1, $2, false)'),
      ...(ahead === 2 ? [send.sync] : []),
      send.bind({ portal: '', statement: '', parameters: ['Barista.REQUEST_ID', 'x'] }),
      send.execute(''),
      send.sync,
    ];
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const wire = await connectWire(gateway.connection);
      wire.send(...messages.slice(0, ahead));
      if (ahead === 2) await wire.until('Z');
      else await sleep(50);
      await ask(wire, ...messages.slice(ahead));
      await ask(wire, q(insert));
      wire.close();
    }
    expect(await keys(pg)).toHaveLength(1);
    expect(await recorded()).toEqual(['barista x INSERT 0 1']);
  });
});

describe('a transaction that has no id when its name is claimed', () => {
  it('takes its name, and takes effect once: a cursor WITH HOLD whose query writes at COMMIT', async () => {
    await client.query(
      `CREATE FUNCTION writes(k int) RETURNS int LANGUAGE sql AS $$ INSERT INTO t VALUES (k, 'held') RETURNING a $$`,
    );
    for (const key of [1, 2]) {
      const one = await connect();
      await one.query('BEGIN');
      await name('x', one);
      await one.query(`DECLARE c CURSOR WITH HOLD FOR SELECT writes(${key})`);
      await one.query('COMMIT');
      await one.end();
    }
    expect(await keys(pg)).toEqual([1]);
    await client.query('DROP FUNCTION writes');
  });

  it('leaves a row for each name, and is told of a repetition', async () => {
    const one = await connect();
    for (let n = 0; n < 40; n += 1) {
      await one.query('BEGIN');
      await name(`n${n % 20}`, one);
      await one.query('SELECT 1 FROM t');
      await one.query('COMMIT');
    }
    await one.end();
    expect(await recorded()).toHaveLength(20);
    expect(notices).toEqual(Array.from({ length: 20 }, () => told));
  });
});

describe('a name that is cleared in a block', () => {
  it.each([
    ['simple', (sql: string) => [q(sql)]],
    ['extended', (sql: string) => [run(sql), send.sync]],
  ])('is there again when its COMMIT fails, and is claimed then (%s protocol)', async (_, message) => {
    await client.query('ALTER TABLE t ADD c int REFERENCES t (a) DEFERRABLE INITIALLY DEFERRED');
    const wire = await connectWire(gateway.connection);
    await ask(wire, q("SET barista.request_id = 'x'"));
    await ask(wire, ...message('BEGIN'));
    await ask(wire, ...message("SET barista.request_id = ''"));
    await ask(wire, ...message('INSERT INTO t VALUES (1, NULL, 7)'));
    expect((await ask(wire, ...message('COMMIT'))).join()).toContain('C=23503');
    await ask(wire, ...message(insert));
    expect(await recorded()).toEqual(['barista x INSERT 0 1']);
    wire.close();
  });

  it('is none when the block is committed', async () => {
    await name('x');
    await client.query('BEGIN');
    await name('');
    await client.query(insert);
    await client.query('COMMIT');
    await client.query("INSERT INTO t VALUES (2, 'x')");
    expect(await recorded()).toEqual([]);
  });

  it('is there as long as a COMMIT is bound and not executed', async () => {
    const wire = await connectWire(gateway.connection);
    await ask(wire, q("SET barista.request_id = 'x'"));
    await ask(wire, q('BEGIN'));
    await ask(wire, run(insert), send.sync);
    await ask(wire, send.parse('', 'COMMIT'), send.bind({ portal: '', statement: '' }), send.sync);
    await ask(wire, q('ROLLBACK'));
    await ask(wire, q(insert));
    expect(await recorded()).toEqual(['barista x INSERT 0 1']);
    wire.close();
  });
});

describe('a COMMIT that was bound before the name was set, and is executed behind it', () => {
  let wire: WireClient;
  beforeEach(async () => {
    wire = await connectWire(gateway.connection);
    await ask(wire, q('BEGIN'));
    await ask(wire, q(insert));
  });
  afterEach(() => {
    wire.close();
  });
  const bound = [send.parse('c', 'COMMIT'), send.bind({ portal: 'p', statement: 'c' })];

  it.each([
    ['a message of its own', [send.sync], q("SET barista.request_id = 'x'")],
    ['a later message', [send.sync], Buffer.concat([run("SET barista.request_id = 'x'"), send.sync])],
  ])('is recorded in %s', async (_, between, set) => {
    await ask(wire, ...bound, ...between);
    await ask(wire, set);
    expect(await ask(wire, send.execute('p'), send.sync)).toEqual(['C COMMIT\\0', 'Z I']);
    expect(await recorded()).toEqual(['barista x COMMIT']);
    await ask(wire, q("INSERT INTO t VALUES (2, 'x')"));
    expect(await recorded()).toEqual(['barista x COMMIT']);
  });

  it('is recorded in the same message', async () => {
    const answer = await ask(
      wire,
      ...bound,
      run("SET barista.request_id = 'x'"),
      send.execute('p'),
      send.sync,
    );
    expect(answer.map((line) => line[0]).join('')).toBe('1212nCCZ');
    expect(answer.at(-1)).toBe('Z I');
    expect(await recorded()).toEqual(['barista x COMMIT']);
  });

  it('is none where it was bound by a name that stands for something else now', async () => {
    await ask(wire, ...bound, send.sync);
    await ask(wire, q("SET barista.request_id = 'x'"));
    await ask(
      wire,
      send.closePortal('p'),
      send.parse('', "INSERT INTO t VALUES (2, 'x')"),
      send.bind({ portal: 'p', statement: '' }),
      send.sync,
    );
    expect(await ask(wire, send.execute('p'), send.sync)).toEqual(['C INSERT 0 1\\0', 'Z T']);
    await ask(wire, q('COMMIT'));
    expect(await recorded()).toEqual(['barista x COMMIT']);
    expect(await keys(pg)).toEqual([1, 2]);
  });
});
