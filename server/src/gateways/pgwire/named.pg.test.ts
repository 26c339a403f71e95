/** `SET barista.request_id`: a transaction that is repeated under its name takes effect once. */
import { describe, expect, it } from 'vitest';
import { codeOf, failure, keys } from './testing/helpers.ts';
import {
  client,
  connect,
  insert,
  name,
  notices,
  pg,
  prepared,
  recorded,
  told,
  useNamedTransactions,
} from './testing/named.ts';

useNamedTransactions();

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

  it('keeps its name through READ ONLY ones, settings, roll-backs and failures, and SET LOCAL names just the one', async () => {
    await client.query('BEGIN');
    await name('x');
    await client.query('COMMIT');
    await client.query('BEGIN READ ONLY');
    await client.query('SELECT count(*) FROM t');
    await client.query('COMMIT');
    await client.query("SELECT set_config('work_mem', '5MB', false)");
    await client.query("SET work_mem = '4MB'; SHOW work_mem");
    await client.query("SELECT pg_barista.request_committed('x')");
    await client.query("BEGIN; INSERT INTO t VALUES (9, 'x')");
    await client.query('ROLLBACK');
    expect(await codeOf(client.query("INSERT INTO t VALUES (NULL, 'x')"))).toBe('23502');
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

  it('that a deferred constraint refuses is told of it as PostgreSQL tells', async () => {
    await client.query('ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES t DEFERRABLE INITIALLY DEFERRED');
    await client.query('ALTER TABLE t ADD c int CONSTRAINT other REFERENCES t DEFERRABLE INITIALLY DEFERRED');
    await name('x');
    expect(await failure(client.query("INSERT INTO t VALUES (1, 'x', 2)"))).toMatchObject({
      code: '23503',
      schema: 'public',
      table: 't',
      constraint: 'other',
    });
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

  it('that is prepared and not decided is not prepared again, and nobody waits for it', async () => {
    const prepare = async (key: number, gid: string): Promise<string | undefined> => {
      await client.query('BEGIN');
      await name('x');
      await client.query(`INSERT INTO t VALUES (${key}, 'x')`);
      const done = await client
        .query(`PREPARE TRANSACTION '${gid}'`)
        .catch((error: { code?: string }) => error);
      await client.query('ROLLBACK');
      return 'code' in done ? done.code : 'prepared';
    };
    expect(await prepare(1, 'p')).toBe('prepared');
    expect(await prepare(2, 'q')).toBe('RQ001');
    await client.query("ROLLBACK PREPARED 'p'");
    expect(await prepare(3, 'q')).toBe('prepared');
    await client.query("COMMIT PREPARED 'q'");
    expect(await prepare(4, 'r')).toBe('RQ001');
    expect(await keys(pg)).toEqual([3]);
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
