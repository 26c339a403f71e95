import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { query } from '../../pgwire/frontend-messages.ts';
import type { TestPostgres } from '../../gateways/pgwire/testing/postgres.ts';
import {
  OperationFeed,
  secret,
  startReplica,
  startStatementPostgres,
  type StatementReplica,
  words,
} from './testing/statement-replica.ts';

let postgres: TestPostgres;
let replica: StatementReplica;
let feed: OperationFeed;

beforeAll(async () => {
  postgres = await startStatementPostgres();
  await postgres.superuser.query('CREATE ROLE other LOGIN; CREATE ROLE mighty LOGIN SUPERUSER');
  replica = await startReplica(postgres);
  feed = new OperationFeed([replica]);
  await feed.open('a');
  await feed.open('b');
  await feed.sql('a', 'CREATE TABLE t (a int)');
});

afterAll(async () => {
  await replica.executor.stop();
  await postgres.stop();
});

async function newest(): Promise<string> {
  const { rows } = await postgres.superuser.query(
    'SELECT lastseqnum, open FROM pg_barista.sqlpaxoslog ORDER BY lastseqnum DESC, step DESC LIMIT 1',
  );
  return JSON.stringify(rows[0]);
}

describe('a client that has what others need', () => {
  it('keeps nobody from logging in to a database that it alters: they are refused, and can log in behind that', async () => {
    await feed.sql('a', 'CREATE DATABASE altered');
    await feed.sql('a', 'BEGIN');
    await feed.sql('a', 'ALTER DATABASE altered RENAME TO another');
    const refused = await feed.open('l', 'barista', 'altered');
    expect([refused?.status, words(refused?.answer ?? Buffer.alloc(0))]).toEqual(['closed', '!55006']);
    await feed.sql('a', 'ROLLBACK');
    expect((await feed.open('m', 'barista', 'altered'))?.status).toBe('I');
    expect((await feed.open('n', 'barista', 'altered'))?.status).toBe('I');
  });

  it('takes all locks, and what is written of sessions has room', async () => {
    await feed.sql('b', 'BEGIN');
    let taken = 0;
    for (let step = 16_384; step >= 1; ) {
      const many = `SELECT count(pg_advisory_xact_lock(g)) FROM generate_series(${taken + 1}, ${taken + step}) g`;
      await feed.sql('b', 'SAVEPOINT s');
      const isFull = (await feed.sql('b', many)).startsWith('!53200');
      if (isFull) await feed.sql('b', 'ROLLBACK TO s');
      if (isFull) step /= 2;
      else taken += step;
    }
    for (let time = 0; time < 40; time += 1)
      expect(await feed.sql('a', 'SELECT pg_advisory_xact_lock_shared(1) FROM t')).toBeDefined();
    await feed.sql('b', 'COMMIT');
    expect(await feed.sql('a', 'SELECT 7')).toBe('(7) SELECT 1 I');
  });

  it.each([
    ['a setting', "SELECT length(set_config('a.b0', repeat('x', 9000000), false))"],
    [
      'prepared statements',
      "DO $$ BEGIN FOR i IN 1..10 LOOP EXECUTE format('PREPARE p%s AS SELECT %L', i, repeat('x', 1000000)); END LOOP; END $$",
    ],
  ])('has more than can be kept, and is ended: %s', async (_, text) => {
    await feed.open('k');
    const ended = await feed.result(feed.requestOf('k', query(text)));
    expect([ended?.status, words(ended?.answer ?? Buffer.alloc(0))]).toEqual(['closed', '!53400']);
    expect(await feed.sql('a', 'SELECT 7')).toBe('(7) SELECT 1 I');
  });
});

describe('a hostile client', () => {
  it('is never more than it is', async () => {
    expect((await feed.open('p', 'postgres'))?.status).toBe('closed');
    expect((await feed.open('q', 'mighty'))?.status).toBe('closed');
    for (const text of ['RESET SESSION AUTHORIZATION', 'RESET ROLE', 'SET ROLE NONE'])
      await feed.sql('a', text);
    expect(
      await feed.sql('a', "SELECT current_setting('is_superuser') || session_user || current_user"),
    ).toBe('(offbaristabarista) SELECT 1 I');
    for (const text of ['SET ROLE postgres', 'SET SESSION AUTHORIZATION postgres'])
      expect(await feed.sql('a', text)).toBe('!42501 I');
  });

  it('reads neither the secret nor what is remembered of others', async () => {
    for (const table of ['statement_secret', 'statement_session', 'statement_alone', 'sqlpaxoslog']) {
      expect(await feed.sql('a', `SELECT * FROM pg_barista.${table}`)).toBe('!42501 I');
      expect(await feed.sql('a', `INSERT INTO pg_barista.${table} SELECT`)).toMatch(/^!42/);
      expect(await feed.sql('a', `DROP TABLE pg_barista.${table}`)).toBe('!42501 I');
    }
    expect(await feed.sql('a', `SELECT prosrc FROM pg_proc WHERE prosrc LIKE '%${secret}%'`)).toBe(
      'SELECT 0 I',
    );
    expect(await feed.sql('a', 'DROP FUNCTION pg_barista.advance')).toBe('!42501 I');
    expect(await feed.sql('a', 'DROP SCHEMA pg_barista CASCADE')).toBe('!42501 I');
  });

  it('cannot move the pointer with proofs that it makes up', async () => {
    const before = await newest();
    for (const proof of ["''", 'NULL', "repeat('0', 64)"]) {
      const text = `DO $$ BEGIN INSERT INTO t VALUES (1); PERFORM pg_barista.advance(999, 1, 0, '', true, 0, ${proof}); END $$`;
      expect(await feed.sql('a', text)).toBe('!42501 I');
    }
    expect(await newest()).toBe(before);
  });

  it('gains nothing by the proof that it sees in its own text', async () => {
    await feed.sql('a', 'CREATE TABLE seen (q text)');
    await feed.sql('a', 'INSERT INTO seen SELECT query FROM pg_stat_activity WHERE pid = pg_backend_pid()');
    const call = await feed.sql('a', "SELECT substring(q FROM 'advance(.*)\\) AS') FROM seen");
    const [slot, step, open, seqs, serial, waitKey, proof] = /\(\(([^)]*)\)/.exec(call)![1]!.split(',');
    const at = async (text: string): Promise<string> =>
      feed.sql('b', `DO $$ BEGIN INSERT INTO t VALUES (1); PERFORM pg_barista.advance(${text}); END $$`);
    expect(await at(`${Number(slot) + 1000},${step},${open},${seqs},${serial},${waitKey},${proof}`)).toBe(
      '!42501 I',
    );
    expect(await at(`${slot},${Number(step) + 5},${open},${seqs},${serial},${waitKey},${proof}`)).toBe(
      '!42501 I',
    );
    expect(await at(`${slot},${step},7,${seqs},${serial},${waitKey},${proof}`)).toBe('!42501 I');
    expect(await at(`${slot},${step},${open},'1:99',${serial},${waitKey},${proof}`)).toBe('!42501 I');
    // The very one is true, and changes nothing; nor does it hold anybody up.
    await feed.sql('b', 'BEGIN');
    await feed.sql('b', 'INSERT INTO t VALUES (2)');
    expect(
      await feed.sql(
        'b',
        `SELECT pg_barista.advance(${slot},${step},${open},${seqs},${serial},${waitKey},${proof})`,
      ),
    ).toBe('() SELECT 1 T');
    expect(await feed.sql('a', 'INSERT INTO t VALUES (3)')).toBe('INSERT 0 1 I');
    expect(await feed.sql('b', 'COMMIT')).toBe('COMMIT I');
    expect(await newest()).toBe(`{"lastseqnum":"${feed.log.length}","open":0}`);
  });

  it('cannot put its own functions in the way', async () => {
    for (const text of [
      'CREATE SCHEMA mine; CREATE FUNCTION mine.sha256(bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT $1 $$',
      'SET search_path = mine, pg_catalog, public',
      'INSERT INTO t VALUES (4)',
    ])
      expect(await feed.sql('a', text)).toMatch(/ I$/);
    expect(await newest()).toBe(`{"lastseqnum":"${feed.log.length}","open":0}`);
    await feed.sql('a', 'RESET search_path');
  });

  it('that ends its own session, or floods it, harms no other', async () => {
    await feed.open('x');
    expect(await feed.sql('x', 'SELECT pg_terminate_backend(pg_backend_pid())')).toBe('!57P01');
    expect(await feed.sql('x', 'SELECT 1')).toBe('!08003');
    expect(await feed.sql('a', "SELECT repeat('x', 1000000)")).toBe('!54000 I');
    await feed.sql('a', 'BEGIN');
    expect(await feed.sql('a', 'INSERT INTO t SELECT generate_series(1, 100000) RETURNING a')).toBe(
      '!54000 E',
    );
    await feed.sql('a', 'ROLLBACK');
    expect((await feed.send('a', Buffer.from('Q\0\0\0\x02')))?.answer.toString('latin1')).toContain('08P01');
    expect(await feed.sql('a', 'SELECT 1')).toBe('(1) SELECT 1 I');
  });

  it('is refused what a restart could not give back, or another replica would do otherwise', async () => {
    expect(await feed.sql('a', 'CREATE TEMP TABLE x (a int)')).toBe('!0A000 I');
    expect(await feed.sql('a', 'BEGIN; CREATE TEMP TABLE x (a int); DROP TABLE x; COMMIT')).toBe(
      'BEGIN CREATE TABLE DROP TABLE COMMIT I',
    );
    await feed.sql('a', 'BEGIN');
    await feed.sql('a', 'CREATE TEMP TABLE x (a int)');
    expect(await feed.sql('a', 'COMMIT')).toBe('!0A000 I');
    await feed.sql('a', 'BEGIN');
    await feed.sql('a', 'INSERT INTO t VALUES (5)');
    await feed.sql('a', 'SET TRANSACTION READ ONLY');
    expect(await feed.sql('a', 'COMMIT')).toBe('!0A000 I');
    expect(await feed.sql('a', "BEGIN; INSERT INTO t VALUES (6); PREPARE TRANSACTION 'x'")).toBe('!0A000 I');
    expect(await feed.sql('a', 'CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS $$SELECT 1$$')).toBe(
      '!0A000 I',
    );
    expect(await feed.sql('a', 'CREATE DOMAIN pg_temp.d AS int')).toBe('!0A000 I');
    expect(await feed.sql('a', 'SET statement_timeout = 1')).toBe('SET I');
    expect(await feed.sql('a', 'SHOW statement_timeout')).toBe('(0) SHOW I');
  });

  it('time limits are turned off, and advisory locks seen, though a client has operators of its own', async () => {
    await feed.sql('a', 'CREATE SCHEMA s');
    await feed.sql(
      'a',
      "CREATE FUNCTION s.no(text, text) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT false'",
    );
    for (const sign of ['=', '<>'])
      await feed.sql('a', `CREATE OPERATOR s.${sign} (LEFTARG = text, RIGHTARG = text, FUNCTION = s.no)`);
    await feed.sql('a', 'SET search_path = s, pg_catalog, public');
    expect(await feed.sql('a', "SELECT 'a'::text = 'a'")).toBe('(f) SELECT 1 I');
    expect(await feed.sql('a', "SET transaction_timeout = '1h'")).toBe('SET I');
    expect(await feed.sql('a', 'SHOW transaction_timeout')).toBe('(0) SHOW I');
    expect(await feed.sql('a', 'SELECT pg_try_advisory_lock(7)')).toBe('(t) SELECT 1 I');
    expect(replica.executor.boundSessions()).toHaveLength(1);
    await feed.sql('a', 'SELECT pg_advisory_unlock_all(); RESET search_path; DROP SCHEMA s CASCADE');
  });
});
