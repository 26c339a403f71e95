/** Named transactions in the messages of the extended protocol, in pieces, and at the bounds of what is kept. */
import { type QueryResult } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startRelay } from '../../adapters/testing/relay.ts';
import * as send from '../../pgwire/frontend-messages.ts';
import { frame } from './testing/frames.ts';
import { startGateway } from './testing/gateway.ts';
import { ask, codeOf, failure, fatal, keys, lastWords, q, run } from './testing/helpers.ts';
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

  it('a repeated COMMIT that is bound, and executed behind a Parse, is told as done', async () => {
    await ask(wire, send.parse('co', 'COMMIT'), send.sync);
    const answers: string[][] = [];
    for (let times = 0; times < 3; times += 1) {
      await ask(wire, q("SET barista.request_id = 'x'"));
      await ask(wire, q('BEGIN'));
      await ask(wire, q(insert));
      answers.push(
        await ask(
          wire,
          send.bind({ portal: '', statement: 'co' }),
          send.parse('', 'SELECT 1'),
          send.execute(''),
          send.sync,
        ),
      );
      await pg.superuser.query('DELETE FROM t');
    }
    expect(answers[0]).toEqual(['2 ', '1 ', 'C COMMIT\\0', 'Z I']);
    for (const again of answers.slice(1)) {
      // PostgreSQL warns of the portal that was left.
      expect(again.map((line) => line[0]).join('')).toBe('2ENZ');
      expect(again[1]).toContain('C=RQ001');
      expect(again.at(-1)).toBe('Z I');
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

  describe('a Query that comes before the Sync', () => {
    beforeEach(async () => {
      await ask(wire, q("SET barista.request_id = 'x'"));
    });

    it('is run, and the name recorded, behind what was only prepared, flushed or not', async () => {
      const flush = send.flush;
      expect(await ask(wire, flush, q('SELECT 1'))).toContain('C SELECT 1\\0');
      await ask(wire, send.parse('a', insert), flush, q('BEGIN'));
      await ask(wire, send.bind({ portal: '', statement: 'a' }), send.execute(''), send.sync);
      expect(await recorded()).toEqual([]);
      const answer = await ask(wire, send.parse('b', 'SELECT 2'), frame('D', 'Sb\0'), q('COMMIT'));
      expect(answer.map((line) => line[0]).join('')).toBe('1tTCZ');
      expect(await recorded()).toEqual(['barista x COMMIT']);
    });

    it('is skipped behind an error', async () => {
      const answer = await ask(wire, send.parse('', 'nonsense'), q(insert), send.sync);
      expect(answer.map((line) => line[0]).join('')).toBe('EZ');
      expect(await recorded()).toEqual([]);
      await ask(wire, q(insert));
      expect(await recorded()).toEqual(['barista x INSERT 0 1']);
    });

    it('ends the session behind what it would be one transaction with', async () => {
      wire.send(run(insert), q("INSERT INTO t VALUES (2, 'x')"), send.sync);
      expect((await lastWords(wire)).at(-1)).toBe(fatal('0A000'));
      expect(await keys(pg)).toEqual([]);
    });
  });

  it('a message that there is none of ends the session, in the middle of a batch, too', async () => {
    await ask(wire, q("SET barista.request_id = 'x'"));
    wire.send(send.parse('', insert), send.bind({ portal: '', statement: '' }), frame('p', 'aa\0'));
    expect((await lastWords(wire)).at(-1)).toBe(fatal('08P01'));
    expect(await keys(pg)).toEqual([]);
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
