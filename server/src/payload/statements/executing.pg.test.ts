import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bind, execute, parse, query, sync } from '../../pgwire/frontend-messages.ts';
import type { TestPostgres } from '../../gateways/pgwire/testing/postgres.ts';
import {
  openOf,
  OperationFeed,
  startReplica,
  startStatementPostgres,
  type StatementReplica,
} from './testing/statement-replica.ts';

let postgres: TestPostgres;
let replica: StatementReplica;
let feed: OperationFeed;

beforeAll(async () => {
  postgres = await startStatementPostgres();
  replica = await startReplica(postgres);
  feed = new OperationFeed([replica]);
  await feed.open('a');
  await feed.open('b');
});

afterAll(async () => {
  await replica.executor.stop();
  await postgres.stop();
});

async function pointer(): Promise<number> {
  const { rows } = await postgres.superuser.query<{ max: string | null }>(
    'SELECT max(lastseqnum) FROM pg_barista.sqlpaxoslog',
  );
  return Number(rows[0]?.max ?? 0);
}

describe('the pointer', () => {
  it('moves with a function whose body is SQL of its own, which is one statement', async () => {
    const body = "begin atomic select 1; select case when true then '; end' end; end";
    const text = `CREATE FUNCTION own(a int DEFAULT (1)) RETURNS text LANGUAGE sql ${body} ;`;
    expect(await feed.sql('a', text)).toBe('CREATE FUNCTION I');
    expect(await pointer()).toBe(feed.log.length);
    expect(await feed.sql('a', 'SELECT own()')).toBe('(; end) SELECT 1 I');
    const two = `CREATE OR REPLACE FUNCTION own(a int DEFAULT (1)) RETURNS text LANGUAGE sql ${body}; COMMIT`;
    expect(await feed.sql('a', two)).toBe('!0A000 I');
    expect(await feed.sql('a', "SELECT barista_fn.age('3'::xid) > 0")).toBe('!0A000 I');
  });

  it('moves with what writes, and not with what does not', async () => {
    await feed.sql('a', 'CREATE TABLE t (a int PRIMARY KEY, b text)');
    expect(await pointer()).toBe(feed.log.length);
    const before = await pointer();
    expect(await feed.sql('a', 'SELECT 1')).toBe('(1) SELECT 1 I');
    expect(await pointer()).toBe(before);
    expect(await feed.sql('a', "INSERT INTO t VALUES (1, 'x')")).toBe('INSERT 0 1 I');
    expect(await pointer()).toBe(feed.log.length);
    expect(await feed.sql('a', "INSERT INTO t VALUES (1, 'x')")).toBe('!23505 I');
    expect(await pointer()).toBe(feed.log.length - 1);
    expect(await feed.sql('a', "INSERT INTO t VALUES (2, 'y'); INSERT INTO t VALUES (3, 'z') -- end")).toBe(
      'INSERT 0 1 INSERT 0 1 I',
    );
    expect(await pointer()).toBe(feed.log.length);
  });

  it('moves with the COMMIT of a block, and not within', async () => {
    const before = await pointer();
    expect(await feed.sql('a', 'BEGIN')).toBe('BEGIN T');
    expect(await feed.sql('a', "INSERT INTO t VALUES (10, 'x')")).toBe('INSERT 0 1 T');
    expect(await pointer()).toBe(before);
    expect(await feed.sql('a', 'COMMIT')).toBe('COMMIT I');
    expect(await pointer()).toBe(feed.log.length);
    expect(
      await feed.sql('a', "BEGIN; INSERT INTO t VALUES (11, 'x'); COMMIT; INSERT INTO t VALUES (12, 'x')"),
    ).toBe('BEGIN INSERT 0 1 COMMIT INSERT 0 1 I');
    expect(await pointer()).toBe(feed.log.length);
  });

  it('moves behind what commits by itself', async () => {
    expect(await feed.sql('a', 'VACUUM t')).toBe('VACUUM I');
    expect(await feed.sql('a', 'CREATE INDEX CONCURRENTLY t_b ON t (b)')).toBe('CREATE INDEX I');
    const procedure = `CREATE PROCEDURE twice() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (20); COMMIT; INSERT INTO t VALUES (21); END $$`;
    expect(await feed.sql('a', procedure)).toBe('CREATE PROCEDURE I');
    expect(await feed.sql('a', 'CALL twice()')).toBe('CALL I');
    expect(await feed.sql('a', 'SELECT count(*) FROM t WHERE a IN (20, 21)')).toBe('(2) SELECT 1 I');
    const { rows } = await postgres
      .connect('postgres')
      .then((client) => client.query('SELECT FROM pg_barista.statement_alone'));
    expect(rows).toEqual([]);
  });
});

describe('a request that comes again', () => {
  it('is answered and not executed', async () => {
    const request = feed.requestOf('a', query('INSERT INTO t VALUES (30)'));
    const first = await feed.result(request);
    const second = await feed.result(request);
    expect(second).toMatchObject({ outcome: 'repeated', answer: first?.answer });
    await feed.sql('a', 'SELECT 1');
    expect(await feed.result(request)).toMatchObject({ outcome: 'notKept' });
    expect(await feed.sql('a', 'SELECT count(*) FROM t WHERE a = 30')).toBe('(1) SELECT 1 I');
  });
});

describe('what a session has', () => {
  it('is told by an answer that is too long, too', async () => {
    const text = "SELECT set_config('client_encoding', 'LATIN1', false), repeat('x', 300000)";
    const result = await feed.send('b', query(text));
    const answer = result?.answer.toString('latin1') ?? '';
    expect(answer).toContain('C54000');
    expect(answer).toContain('client_encoding\0LATIN1\0');
    await feed.sql('b', 'RESET client_encoding');
  });

  it('is nothing that only a log-in can bring, such as a pause', async () => {
    const { rows } = await postgres.superuser.query<{ name: string; setting: string }>(
      "SELECT name, setting FROM pg_settings WHERE context = 'backend' ORDER BY name",
    );
    expect(rows.map(({ name }) => name)).toContain('post_auth_delay');
    const options = rows.map(({ name }) => `-c ${name}=1`).join(' ');
    const ofMessage = rows.map(({ name }) => [name, '1'] as const);
    const parameters = [['options', options] as const, ...ofMessage];
    await feed.add({ ...openOf('delayed'), parameters });
    const asked = "SELECT name || '=' || setting FROM pg_settings WHERE context = 'backend' ORDER BY name";
    const usual = rows.map(({ name, setting }) => `(${name}=${setting})`).join(' ');
    expect(await feed.sql('delayed', asked)).toBe(`${usual} SELECT ${rows.length} I`);
  });

  it('is refused where its log-in is longer than PostgreSQL takes, and nothing else happens', async () => {
    const parameters = [['options', `-c a.b=${'x'.repeat(9_960)}`] as const];
    const opened = await feed.result({ ...openOf('long'), parameters });
    expect(opened?.answer.toString('latin1')).toContain('C53400');
    expect(await feed.sql('b', 'SELECT 1')).toBe('(1) SELECT 1 I');
  });

  it('is not a clock that ends statements, though a SET of it was prepared before', async () => {
    await feed.send('b', Buffer.concat([parse('s', 'SET statement_timeout = 5000'), sync]));
    await feed.send('b', Buffer.concat([bind({ portal: '', statement: 's' }), execute(''), sync]));
    expect(await feed.sql('b', "SELECT current_setting('statement_timeout')")).toBe('(0) SELECT 1 I');
  });
});

describe('a large object', () => {
  it('has the number that the seed gives, whatever PostgreSQL would count next, and never one that is taken', async () => {
    const made = async (call: string): Promise<string> => {
      await postgres.superuser.query('SET seed = 0.5');
      const { rows } = await postgres.superuser.query<{ n: number }>(`SELECT barista_fn.${call} AS n`);
      const content = await postgres.superuser.query<{ text: Buffer }>('SELECT lo_get($1) AS text', [
        rows[0]!.n,
      ]);
      return `${rows[0]!.n} ${content.rows[0]!.text.toString()}`;
    };
    const first = await made('lo_create(0)');
    await postgres.superuser.query(`SELECT lo_unlink(${first}); CREATE TYPE counted AS (a int)`);
    const again = await made("lo_from_bytea(0, 'text')");
    expect(again).toBe(`${first.trim()} text`);
    const next = await made('lo_creat(-1)');
    expect(Number(next)).not.toBe(Number(first));
    expect(await made("lo_from_bytea(77, 'given')")).toBe('77 given');
    await expect(made('lo_create(77)')).rejects.toThrow('duplicate key');
    const { rows } = await postgres.superuser.query<{ none: number | null }>(
      'SELECT barista_fn.lo_create(NULL) AS none',
    );
    expect(rows[0]!.none).toBeNull();
  });
});
