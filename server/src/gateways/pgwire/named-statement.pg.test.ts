/** A statement of its own that has a name: what its repetition is told, and what may be sent under a name. */
import { describe, expect, it } from 'vitest';
import * as send from '../../pgwire/frontend-messages.ts';
import { frame } from './testing/frames.ts';
import { ask, codeOf, failure, keys, q, run } from './testing/helpers.ts';
import {
  client,
  gateway,
  insert,
  name,
  notices,
  pg,
  recorded,
  told,
  useNamedTransactions,
} from './testing/named.ts';
import { connectWire, describeFrame } from './testing/wire-client.ts';

useNamedTransactions();

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
        detail: 'Its results are not kept.',
      });
      await client.query("INSERT INTO t VALUES (7, 'x')");
      expect(await keys(pg)).toEqual([0, 7]);
    },
  );

  it('leaves its statement prepared, as its client is told', async () => {
    const wire = await connectWire(gateway.connection);
    const bound = (one: string): Buffer[] => [send.bind({ portal: '', statement: one }), send.execute('')];
    await ask(wire, send.parse('old', 'SELECT 1'), send.sync);
    for (const [statement, others] of [
      ['p', []],
      ['q', [send.closeStatement('old')]],
    ] as const) {
      await ask(wire, q("SET barista.request_id = 'x'"));
      const answer = await ask(
        wire,
        ...others,
        send.parse(statement, insert),
        ...bound(statement),
        send.sync,
      );
      expect(answer.at(-2)).toBe('C INSERT 0 1\\0');
    }
    expect(await keys(pg)).toEqual([1]);
    await pg.superuser.query('DELETE FROM t');
    expect(await ask(wire, ...bound('q'), send.sync)).toContain('C INSERT 0 1\\0');
    expect((await ask(wire, ...bound('old'), send.sync))[0]).toContain('C=26000');
    wire.close();
  });

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
    // DROP TABLE IF EXISTS succeeds, though it changes nothing.
    expect(await recorded()).toEqual(['barista never used DROP TABLE']);
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
