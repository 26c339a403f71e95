import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bind, execute, parse, sync } from '../../pgwire/frontend-messages.ts';
import type { TestPostgres } from '../../gateways/pgwire/testing/postgres.ts';
import {
  OperationFeed,
  sessionOf,
  startReplica,
  startStatementPostgres,
  type StatementReplica,
  words,
} from './testing/statement-replica.ts';

const pauseName = 'ab'.repeat(16);

let servers: TestPostgres[];
let replicas: StatementReplica[];
let feed: OperationFeed;

beforeAll(async () => {
  servers = await Promise.all([startStatementPostgres(), startStatementPostgres()]);
  replicas = await Promise.all(servers.map((server) => startReplica(server)));
  feed = new OperationFeed(replicas);
  for (const name of ['a', 'b', 'c']) await feed.open(name);
  await feed.sql(
    'a',
    'CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)',
  );
});

afterAll(async () => {
  await Promise.all(replicas.map(({ executor }) => executor.stop()));
  await Promise.all(servers.map((server) => server.stop()));
});

function messages(sql: string, statement = ''): Buffer {
  return Buffer.concat([parse(statement, sql), bind({ portal: '', statement }), execute(''), sync]);
}

/** What a slot came to at the first replica. */
function toldOf(slot: number): string | undefined {
  const result = replicas[0]!.results.get(slot);
  return result === undefined ? undefined : words(result.answer);
}

describe('a request that waits for another session', () => {
  it('goes on when that ends its transaction, and those behind it do not wait', async () => {
    await feed.sql('a', 'BEGIN');
    await feed.sql('a', 'UPDATE t SET b = 1 WHERE a = 1');
    expect(await feed.sql('b', 'UPDATE t SET b = b + 10 WHERE a = 1 RETURNING b')).toBe('waits');
    const waiting = feed.log.length;
    expect(await feed.sql('c', 'UPDATE t SET b = 5 WHERE a = 2')).toBe('UPDATE 1 I');
    expect(await feed.sql('b', 'SELECT 7')).toBe('waits');
    expect(await feed.sql('a', 'COMMIT')).toBe('COMMIT I');
    expect(toldOf(waiting)).toBe('(11) UPDATE 1 I');
    expect(toldOf(waiting + 2)).toBe('(7) SELECT 1 I');
    // At the COMMIT's, which is to be acknowledged for both.
    const at = [waiting, waiting + 1, waiting + 2].map((slot) => replicas[0]!.tookEffect.get(slot));
    expect(at).toEqual([waiting + 3, waiting + 1, waiting + 3]);
  });

  it('within a block loses nothing of what its block has done', async () => {
    await feed.sql('a', 'BEGIN');
    await feed.sql('a', 'UPDATE t SET b = 1 WHERE a = 1');
    await feed.sql('b', 'BEGIN');
    await feed.sql('b', 'UPDATE t SET b = 77 WHERE a = 3');
    expect(await feed.sql('b', 'UPDATE t SET b = 78 WHERE a = 1')).toBe('waits');
    await feed.sql('a', 'ROLLBACK');
    expect(await feed.sql('b', 'COMMIT')).toBe('COMMIT I');
    expect(await feed.sql('c', 'SELECT b FROM t WHERE a IN (1, 3) ORDER BY a')).toBe('(78) (77) SELECT 2 I');
  });

  it('may prepare what it executes, by messages and by SQL', async () => {
    for (const isInBlock of [false, true]) {
      await feed.sql('a', 'BEGIN');
      await feed.sql('a', 'UPDATE t SET b = 1 WHERE a = 1');
      if (isInBlock) await feed.sql('b', 'BEGIN');
      const request = feed.requestOf('b', messages('UPDATE t SET b = 79 WHERE a = 1', `p${isInBlock}`));
      expect(await feed.result(request)).toBeUndefined();
      const waiting = feed.log.length;
      await feed.sql('a', 'ROLLBACK');
      expect(toldOf(waiting)).toBe(`UPDATE 1 ${isInBlock ? 'T' : 'I'}`);
      if (isInBlock) await feed.sql('b', 'ROLLBACK');
      await feed.sql('a', 'BEGIN');
      await feed.sql('a', 'UPDATE t SET b = 1 WHERE a = 1');
      const both = `PREPARE q${isInBlock} AS UPDATE t SET b = 80 WHERE a = 1; EXECUTE q${isInBlock}`;
      expect(await feed.sql('b', both)).toBe('!40001 I');
      await feed.sql('a', 'ROLLBACK');
    }
  });

  describe('and catches the cancel by which that is noticed', () => {
    const bodies = {
      caught: `BEGIN UPDATE t SET b = b + 1 WHERE a = 1; RETURN 'waited'; EXCEPTION WHEN query_canceled THEN RETURN 'cancelled'; END`,
      twice: `BEGIN BEGIN UPDATE t SET b = b + 1 WHERE a = 1; EXCEPTION WHEN query_canceled THEN NULL; END; UPDATE t SET b = b + 1 WHERE a = 1; RETURN 'waited'; END`,
      endless: `BEGIN LOOP BEGIN UPDATE t SET b = b + 1 WHERE a = 1; RETURN 'waited'; EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END`,
    };
    beforeAll(async () => {
      for (const [name, body] of Object.entries(bodies))
        await feed.sql('c', `CREATE FUNCTION ${name}() RETURNS text LANGUAGE plpgsql AS $$${body}$$`);
    });

    it.each([
      ['caught', 'I', 101],
      ['caught', 'T', 101],
      ['twice', 'I', 102],
      ['twice', 'T', 102],
    ] as const)(
      'waits all the same, and nothing of what it said then counts: %s, %s',
      async (name, status, sum) => {
        await feed.sql('c', 'UPDATE t SET b = 0 WHERE a = 1');
        await feed.sql('a', 'BEGIN');
        await feed.sql('a', 'UPDATE t SET b = 100 WHERE a = 1');
        if (status === 'T') await feed.sql('b', 'BEGIN');
        expect(await feed.sql('b', `SELECT ${name}()`)).toBe('waits');
        const waiting = feed.log.length;
        expect(await feed.sql('c', 'UPDATE t SET b = 5 WHERE a = 2')).toBe('UPDATE 1 I');
        await feed.sql('a', 'COMMIT');
        expect(toldOf(waiting)).toBe(`(waited) SELECT 1 ${status}`);
        if (status === 'T') await feed.sql('b', 'COMMIT');
        expect(await feed.sql('c', 'SELECT b FROM t WHERE a = 1')).toBe(`(${sum}) SELECT 1 I`);
      },
    );

    it.each(['I', 'T'] as const)(
      'waits all the same by messages, and its session goes on: %s',
      async (status) => {
        await feed.sql('a', 'BEGIN');
        await feed.sql('a', 'UPDATE t SET b = 100 WHERE a = 1');
        if (status === 'T') await feed.sql('b', 'BEGIN');
        expect(await feed.send('b', messages('SELECT caught()'))).toBeUndefined();
        const waiting = feed.log.length;
        await feed.sql('a', 'COMMIT');
        expect(toldOf(waiting)).toBe(`(waited) SELECT 1 ${status}`);
        const next = await feed.send('b', messages('SELECT 1'));
        expect(words(next!.answer)).toBe(`(1) SELECT 1 ${status}`);
        if (status === 'T') await feed.sql('b', 'COMMIT');
      },
    );

    it.each(['I', 'T'] as const)('is planned anew where the planner has called it: %s', async (status) => {
      const body = `BEGIN PERFORM FROM t; RETURN 'waited'; EXCEPTION WHEN query_canceled THEN RETURN 'cancelled'; END`;
      await feed.sql(
        'c',
        `CREATE OR REPLACE FUNCTION planned() RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$${body}$$`,
      );
      await feed.send('b', Buffer.concat([parse(`planned${status}`, 'SELECT planned()'), sync]));
      await feed.sql('a', 'BEGIN');
      await feed.sql('a', 'LOCK TABLE t');
      if (status === 'T') await feed.sql('b', 'BEGIN');
      const executes = [bind({ portal: '', statement: `planned${status}` }), execute(''), sync];
      expect(await feed.send('b', Buffer.concat(executes))).toBeUndefined();
      const waiting = feed.log.length;
      await feed.sql('a', 'COMMIT');
      expect(toldOf(waiting)).toBe(`(waited) SELECT 1 ${status}`);
      if (status === 'T') await feed.sql('b', 'COMMIT');
    });

    it('and writes of it: that is done once', async () => {
      await feed.sql('c', 'CREATE TABLE heard (what text)');
      const caught = `BEGIN INSERT INTO heard VALUES ('before'); BEGIN UPDATE t SET b = b + 1 WHERE a = 1; INSERT INTO heard VALUES ('waited'); EXCEPTION WHEN query_canceled THEN INSERT INTO heard VALUES ('cancelled'); END; END`;
      await feed.sql('c', `CREATE FUNCTION writes() RETURNS void LANGUAGE plpgsql AS $$${caught}$$`);
      await feed.sql('a', 'BEGIN');
      await feed.sql('a', 'UPDATE t SET b = 100 WHERE a = 1');
      expect(await feed.sql('b', 'SELECT writes()')).toBe('waits');
      expect(await feed.sql('c', 'SELECT what FROM heard')).toBe('SELECT 0 I');
      await feed.sql('a', 'COMMIT');
      expect(await feed.sql('c', 'SELECT what FROM heard')).toBe('(before) (waited) SELECT 2 I');
    });

    it('in a procedure that commits by itself is answered as it answers, for that is committed', async () => {
      const body = `BEGIN UPDATE t SET b = b + 1 WHERE a = 1; EXCEPTION WHEN query_canceled THEN INSERT INTO t VALUES (77, 0); END`;
      await feed.sql(
        'c',
        `CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$BEGIN COMMIT; ${body}; COMMIT; END$$`,
      );
      await feed.sql('a', 'BEGIN');
      await feed.sql('a', 'UPDATE t SET b = 100 WHERE a = 1');
      expect(await feed.sql('b', 'CALL commits()')).toBe('CALL I');
      await feed.sql('a', 'COMMIT');
      expect(await feed.sql('c', 'DELETE FROM t WHERE a = 77')).toBe('DELETE 1 I');
    });

    it('without end costs its session, and nobody else anything', async () => {
      await feed.open('loops');
      await feed.sql('a', 'BEGIN');
      await feed.sql('a', 'UPDATE t SET b = 200 WHERE a = 1');
      expect(await feed.sql('loops', 'SELECT endless()')).toBe('!57P01');
      expect(await feed.sql('a', 'COMMIT')).toBe('COMMIT I');
      expect(await feed.sql('c', 'SELECT b FROM t WHERE a = 1')).toBe('(200) SELECT 1 I');
    });
  });

  it('in a circle fails, and the others go on', async () => {
    await feed.sql('a', 'BEGIN');
    await feed.sql('a', 'UPDATE t SET b = 1 WHERE a = 1');
    await feed.sql('b', 'BEGIN');
    await feed.sql('b', 'UPDATE t SET b = 2 WHERE a = 2');
    expect(await feed.sql('a', 'UPDATE t SET b = 3 WHERE a = 2')).toBe('waits');
    const waiting = feed.log.length;
    expect(await feed.sql('b', 'UPDATE t SET b = 4 WHERE a = 1')).toBe('!40P01 E');
    expect(toldOf(waiting)).toBe('UPDATE 1 T');
    expect(await feed.sql('b', 'ROLLBACK')).toBe('ROLLBACK I');
    expect(await feed.sql('a', 'COMMIT')).toBe('COMMIT I');
  });

  it('is given up when its session, or all open ones, are', async () => {
    await feed.sql('a', 'BEGIN');
    await feed.sql('a', 'UPDATE t SET b = 1 WHERE a = 1');
    await feed.sql('b', 'BEGIN');
    expect(await feed.sql('b', 'UPDATE t SET b = 4 WHERE a = 1')).toBe('waits');
    const waiting = feed.log.length;
    expect(replicas.map(({ executor }) => executor.openTransactions())).toEqual([2, 2]);
    await feed.add({ kind: 'cancelOpen', session: null });
    expect(replicas.map(({ executor }) => executor.openTransactions())).toEqual([0, 0]);
    expect(toldOf(waiting)).toBe('!25P03 E');
    expect(await feed.sql('a', 'SELECT 1')).toBe('!25P02 E');
    expect(await feed.sql('a', 'COMMIT')).toBe('ROLLBACK I');
    expect(await feed.sql('b', 'ROLLBACK')).toBe('ROLLBACK I');
    expect(await feed.sql('c', 'UPDATE t SET b = 5 WHERE a = 1')).toBe('UPDATE 1 I');
  });

  it('is answered when its session is closed, and so is what has come behind it', async () => {
    await feed.open('d');
    await feed.sql('a', 'BEGIN');
    await feed.sql('a', 'UPDATE t SET b = 1 WHERE a = 1');
    expect(await feed.sql('d', 'UPDATE t SET b = 2 WHERE a = 1')).toBe('waits');
    const waiting = feed.log.length;
    expect(await feed.sql('d', 'SELECT 1')).toBe('waits');
    await feed.add({ kind: 'close', session: sessionOf('d') });
    expect([toldOf(waiting), toldOf(waiting + 1)]).toEqual(['!57P01', '!57P01']);
    await feed.sql('a', 'ROLLBACK');
  });

  it('that is a COMMIT, or several transactions, is not begun again', async () => {
    await feed.sql('c', 'CREATE TABLE u (a int REFERENCES t DEFERRABLE INITIALLY DEFERRED)');
    await feed.sql('b', 'BEGIN');
    await feed.sql('b', 'INSERT INTO u VALUES (3)');
    await feed.sql('a', 'BEGIN');
    await feed.sql('a', 'DELETE FROM t WHERE a = 3');
    expect(await feed.sql('b', 'COMMIT')).toBe('!40001 I');
    expect(await feed.sql('c', 'BEGIN; SELECT 1; COMMIT; DELETE FROM t WHERE a = 3')).toBe('!40001 I');
    await feed.sql('a', 'ROLLBACK');
    expect(await feed.sql('c', 'SELECT count(*) FROM u')).toBe('(0) SELECT 1 I');
  });

  it('waits for an advisory lock of a session, too', async () => {
    await feed.sql('a', 'SELECT pg_advisory_lock(9)');
    expect(await feed.sql('b', 'SELECT pg_advisory_lock(9)')).toBe('waits');
    const waiting = feed.log.length;
    await feed.sql('a', 'SELECT pg_advisory_unlock(9)');
    expect(toldOf(waiting)).toBe('() SELECT 1 I');
    await feed.sql('b', 'SELECT pg_advisory_unlock(9)');
  });
});

describe('a block that was ended for others', () => {
  it('holds again what begins behind it in one request', async () => {
    await feed.sql('a', 'BEGIN');
    await feed.add({ kind: 'cancelOpen', session: sessionOf('a') });
    await feed.sql('a', 'ROLLBACK; BEGIN; UPDATE t SET b = 0 WHERE a = 1');
    expect(replicas[0]!.executor.openTransactions()).toBe(1);
    expect(await feed.sql('b', 'UPDATE t SET b = b + 3 WHERE a = 1 RETURNING b')).toBe('waits');
    const waiting = feed.log.length;
    await feed.sql('a', 'COMMIT');
    expect(toldOf(waiting)).toBe('(3) UPDATE 1 I');
  });
});

describe('transactions that are SERIALIZABLE', () => {
  const begin = 'BEGIN ISOLATION LEVEL SERIALIZABLE';
  const skew = 'INSERT INTO s SELECT count(*) FROM s';

  it('are open one at a time, so that none is refused at one replica and not at another', async () => {
    await feed.sql('a', 'CREATE TABLE s (n int)');
    await feed.sql('a', begin);
    await feed.sql('a', skew);
    expect(await feed.sql('b', begin)).toBe('waits');
    const waiting = feed.log.length;
    // Others do not wait.
    expect(await feed.sql('c', 'BEGIN')).toBe('BEGIN T');
    expect(await feed.sql('c', 'SELECT count(*) FROM s')).toBe('(0) SELECT 1 T');
    expect(await feed.sql('c', 'COMMIT')).toBe('COMMIT I');
    expect(await feed.sql('a', 'COMMIT')).toBe('COMMIT I');
    expect(toldOf(waiting)).toBe('BEGIN T');
    await feed.sql('b', skew);
    expect(await feed.sql('b', 'COMMIT')).toBe('COMMIT I');
    expect(await feed.sql('c', "SELECT string_agg(n::text, ' ' ORDER BY n) FROM s")).toBe('(0 1) SELECT 1 I');
  });

  it.each([
    ['by SET TRANSACTION', ['BEGIN', 'SET TRANSACTION ISOLATION LEVEL SERIALIZABLE'], 'waits'],
    ['by a setting', ["SET default_transaction_isolation = 'Serializable'", 'BEGIN'], 'waits'],
    ['by themselves', ["SET default_transaction_isolation = 'serializable'", skew], 'waits'],
    ['no more', ['RESET default_transaction_isolation', 'BEGIN'], 'BEGIN T'],
  ])('%s', async (_, texts, told) => {
    // Whoever waits may have waited in a block, or come from one.
    await feed.sql('a', begin);
    await feed.sql('a', skew);
    for (const text of texts.slice(0, -1)) {
      const answer = await feed.sql('b', text);
      if (answer === 'waits') {
        await feed.sql('a', 'COMMIT');
        await feed.sql('a', begin);
      }
    }
    expect(await feed.sql('b', texts.at(-1)!)).toBe(told);
    const waiting = feed.log.length;
    expect(await feed.sql('a', 'COMMIT')).toBe('COMMIT I');
    expect(toldOf(waiting)).toMatch(/^(BEGIN T|SET T|INSERT 0 1 I)$/);
    await feed.sql('b', 'COMMIT');
  });

  it.each([
    [['BEGIN', `SET TRANSACTION_ISOLATION = U&'\\0053ERIALIZABLE'`, skew, 'COMMIT']],
    [['BEGIN', `SET transaction_isolation = U&'\\0053ERIALIZABLE'`, 'SELECT count(*) FROM s', 'COMMIT']],
    [["SET default_transaction_isolation = U&'\\0053ERIALIZABLE'; COMMIT; INSERT INTO s VALUES (9)"]],
  ])('cannot be begun in disguise: %s', async (texts) => {
    for (const text of texts.slice(0, -1)) expect(await feed.sql('b', text)).toMatch(/ T$/);
    expect(await feed.sql('b', texts.at(-1)!)).toMatch(/!0A000 I$/);
    expect(await feed.sql('b', 'SELECT count(*) FROM s WHERE n = 9')).toBe('(0) SELECT 1 I');
    await feed.sql('b', 'RESET default_transaction_isolation');
  });

  it('are known as such where a setting says so in disguise', async () => {
    await feed.sql('b', "SET default_transaction_isolation = U&'\\0053ERIALIZABLE'");
    expect(await feed.sql('b', skew)).toBe('INSERT 0 1 I');
    await feed.sql('b', 'RESET default_transaction_isolation');
  });

  it('that wait are given up when their client cancels', async () => {
    await feed.sql('a', begin);
    expect(await feed.sql('b', begin)).toBe('waits');
    const waiting = feed.log.length;
    await feed.add({ kind: 'cancelOpen', session: sessionOf('b') });
    expect(toldOf(waiting)).toBe('!57014 I');
    expect(await feed.sql('b', 'SELECT 1')).toBe('(1) SELECT 1 I');
    await feed.sql('a', 'COMMIT');
  });

  it('wait for the end of another, not for what its session holds behind that', async () => {
    await feed.sql('a', begin);
    await feed.sql('a', 'SELECT pg_try_advisory_lock(7)');
    expect(await feed.sql('b', begin)).toBe('waits');
    const waiting = feed.log.length;
    await feed.sql('a', 'COMMIT');
    expect(toldOf(waiting)).toBe('BEGIN T');
    await feed.sql('b', 'COMMIT');
    await feed.sql('a', 'SELECT pg_advisory_unlock(7)');
  });

  it('that wait for each other are a circle', async () => {
    await feed.sql('a', begin);
    await feed.sql('b', 'BEGIN');
    await feed.sql('b', 'UPDATE t SET b = 0 WHERE a = 1');
    expect(await feed.sql('a', 'UPDATE t SET b = 0 WHERE a = 1')).toBe('waits');
    expect(await feed.sql('b', 'SET TRANSACTION ISOLATION LEVEL SERIALIZABLE')).toBe('!40P01 E');
    await feed.sql('b', 'ROLLBACK');
    await feed.sql('a', 'COMMIT');
  });
});

describe('a pause', () => {
  it('holds back what begins a transaction until none is open', async () => {
    const rested: string[] = [];
    for (const [index, replica] of replicas.entries())
      replica.onRest = (slot) => {
        rested.push(`slot ${slot} at ${index}, ${replica.executor.openTransactions()} open`);
        return Promise.resolve();
      };
    await feed.sql('a', 'BEGIN');
    await feed.add({ kind: 'pause', name: pauseName });
    expect(await feed.sql('b', 'BEGIN')).toBe('waits');
    const held = feed.log.length;
    expect(await feed.sql('c', 'SELECT 1')).toBe('(1) SELECT 1 I');
    expect(rested).toEqual([]);
    await feed.sql('a', 'COMMIT');
    const at = feed.log.length;
    expect(rested.sort()).toEqual([`slot ${at} at 0, 0 open`, `slot ${at} at 1, 0 open`]);
    expect(toldOf(held)).toBe('BEGIN T');
    await feed.sql('b', 'COMMIT');
  });

  it('ends where none waits any longer, and another pause has no part in it', async () => {
    await feed.sql('a', 'BEGIN');
    await feed.add({ kind: 'pause', name: pauseName });
    await feed.add({ kind: 'pause', name: 'cd'.repeat(16) });
    expect(await feed.sql('b', 'BEGIN')).toBe('waits');
    const held = feed.log.length;
    await feed.add({ kind: 'resume', name: 'cd'.repeat(16) });
    expect(toldOf(held)).toBeUndefined();
    await feed.add({ kind: 'resume', name: pauseName });
    expect(toldOf(held)).toBe('BEGIN T');
    await feed.sql('a', 'COMMIT');
    await feed.add({ kind: 'close', session: sessionOf('b') });
    expect(replicas[0]!.executor.openTransactions()).toBe(0);
  });

  it('lets go in slot order, and so as a restart does, what waited for something else before', async () => {
    const serializable = 'BEGIN ISOLATION LEVEL SERIALIZABLE';
    await feed.open('e');
    await feed.sql('a', serializable);
    expect(await feed.sql('e', serializable)).toBe('waits');
    const waited = feed.log.length;
    await feed.add({ kind: 'pause', name: pauseName });
    expect(await feed.sql('c', 'BEGIN')).toBe('waits');
    await feed.sql('a', 'COMMIT');
    const [commit, ...behind] = replicas[0]!.order.slice(-3);
    expect(commit).toBe(feed.log.length);
    expect(behind).toEqual([waited, waited + 2]);
    for (const name of ['e', 'c']) await feed.sql(name, 'COMMIT');
  });

  it('holds back no more than can be written down', async () => {
    await feed.open('d');
    await feed.sql('a', 'BEGIN');
    await feed.add({ kind: 'pause', name: pauseName });
    expect(await feed.sql('c', 'BEGIN')).toBe('waits');
    const held = feed.log.length;
    const large = `BEGIN; SELECT length('${'x'.repeat(9 * 1024 * 1024)}')`;
    expect(await feed.sql('d', large)).toBe('BEGIN (9437184) SELECT 1 T');
    expect(toldOf(held)).toBe('BEGIN T');
    for (const name of ['a', 'c', 'd']) await feed.sql(name, 'COMMIT');
  });
});

describe('both replicas', () => {
  it('have done the same in the same order', () => {
    const [one, other] = replicas;
    expect(one!.order).toEqual(other!.order);
    const digests = ({ results }: StatementReplica): readonly string[] =>
      [...results].map(([slot, { digest }]) => `${slot} ${digest}`).toSorted();
    expect(digests(one!)).toEqual(digests(other!));
  });
});
