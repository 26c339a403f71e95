/** The published API against a real PostgreSQL behind a real SQL gateway. */
import { randomUUID } from 'node:crypto';
import { prepareRequests } from '../../adapters/postgres/requests/request-schema.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { serviceOf, startGateway, type TestGateway } from '../pgwire/testing/gateway.ts';
import { startTestPostgres, type TestPostgres } from '../pgwire/testing/postgres.ts';
import type { ThriftListener } from './door/listener.ts';
import { type DoorOptions, openDoor } from './testing/door.ts';
import {
  DbFailure,
  type Fields,
  TestClient,
  type TestClientOptions,
  textOf,
} from './testing/thrift-client.ts';

let pg: TestPostgres;
let gateway: TestGateway;
let door: ThriftListener;
let clients: TestClient[] = [];
let clientId: string;

beforeAll(async () => {
  pg = await startTestPostgres();
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  // As a client has to have one of its own, or its requests would be taken for another's.
  clientId = randomUUID();
  params = { ...ofUser, 1: clientId };
  const service = serviceOf(pg);
  service.prepare = async (database) => {
    const operator = await pg.connect(database);
    await prepareRequests(operator);
    await operator.end();
  };
  gateway = await startGateway(pg, { service });
  door = await openDoor(gateway.listener);
});
afterEach(async () => {
  for (const client of clients) client.close();
  clients = [];
  await door.close();
  await gateway.listener.close();
});

async function reopen(options: DoorOptions): Promise<void> {
  await door.close();
  door = await openDoor(gateway.listener, options);
}

async function connect(options: Partial<TestClientOptions> = {}): Promise<TestClient> {
  const client = await TestClient.connect({ port: door.port, ...options });
  clients.push(client);
  return client;
}

/** client_id, seq_id, user, password, database */
let params: Fields;
const ofUser: Fields = { 2: '1', 3: 'barista', 4: 'barista', 5: 'barista' };

async function opened(more: Fields = {}): Promise<{ client: TestClient; con: Fields }> {
  const client = await connect();
  return { client, con: await client.open({ ...params, ...more }) };
}

async function stateOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof DbFailure) return error.sqlState;
  throw new Error(`it did not fail in SQL: ${String(error)}`);
}

const textIn = (con: Fields, id: number): string => textOf(con[id]);

describe('a client', () => {
  it.each([false, true])('has what the paper shows, framed: %s', async (isFramed) => {
    const client = await connect({ isFramed });
    expect(await client.call('get_version', {})).toBe(0.1);
    const con = await client.open({ ...params, 1: '1234567890' });
    const result = await client.sql(con, "SELECT 6.824 as id, 'Distributed Systems' as name");
    expect(result).toEqual({
      rowCount: 1,
      rows: [['6.824', 'Distributed Systems']],
      names: ['id', 'name'],
      types: ['numeric', 'text'],
    });
    await client.call('close_connection', { 1: con });
    expect(await stateOf(client.sql(con, 'SELECT 1'))).toBe('08003');
  });

  it('passes parameters and cells in text, NULLs as \\N, and what looks like one with a backslash more', async () => {
    const { client, con } = await opened();
    const sql = 'SELECT $1::text IS NULL, $2::text, length($2), $3::bytea, $4::int + 1, NULL::int';
    const { rows } = await client.sql(con, sql, ['\\N', '\\\\N', '\\x00ff', '41']);
    expect(rows).toEqual([['t', '\\\\N', '2', '\\x00ff', '42', '\\N']]);
    expect((await client.sql(con, "SELECT '', '\\', 'N', '\\N', '\\Nn'")).rows).toEqual([
      ['', '\\', 'N', '\\\\N', '\\Nn'],
    ]);
  });

  it('is told the names of types of its own, and rows that were changed', async () => {
    const { client, con } = await opened();
    await client.sql(con, "CREATE TYPE mood AS ENUM ('sad', 'happy')");
    const asked = await client.sql(con, "SELECT 'sad'::mood AS m, ARRAY[1] AS a, 1::smallint AS s");
    expect(asked.types).toEqual(['mood', '_int4', 'int2']);
    await client.sql(con, 'CREATE TABLE moods (m mood)');
    expect(await client.sql(con, "INSERT INTO moods VALUES ('sad'), ('happy')")).toEqual({
      rowCount: 2,
      rows: [],
      names: [],
      types: [],
    });
    expect((await client.sql(con, 'DELETE FROM moods RETURNING m')).rowCount).toBe(2);
    expect((await client.sql(con, '')).rowCount).toBe(0);
  });

  it('hears errors with their SQLSTATE, its number, detail and hint', async () => {
    const { client, con } = await opened();
    await client.sql(con, 'CREATE TABLE once (id int PRIMARY KEY)');
    await client.sql(con, 'INSERT INTO once VALUES (1)');
    const failure = await client.sql(con, 'INSERT INTO once VALUES (1)').catch((error: unknown) => error);
    expect(failure).toMatchObject({
      errorCode: Number.parseInt('23505', 36),
      message: 'duplicate key value violates unique constraint "once_pkey"',
      details: '23505\nDETAIL: Key (id)=(1) already exists.',
    });
    expect(await stateOf(client.sql(con, 'SELECT 1; SELECT 2'))).toBe('42601');
    expect(await stateOf(client.sql(con, Buffer.from('SELECT 1\0, 2')))).toBe('22021');
    expect(await stateOf(client.sql(con, 'SELECT $1::text', [Buffer.from([0x61, 0])]))).toBe('22021');
    expect(await stateOf(client.call('execute_sql', { 1: con }))).toBe('22004');
  });

  it('has no COPY, and goes on', async () => {
    const { client, con } = await opened();
    await client.sql(con, 'CREATE TABLE copied (n int)');
    expect(await stateOf(client.sql(con, 'COPY copied FROM STDIN'))).toBe('0A000');
    expect(await stateOf(client.sql(con, 'COPY (SELECT generate_series(1, 100000)) TO STDOUT'))).toBe(
      '0A000',
    );
    expect((await client.sql(con, 'SELECT count(*) FROM copied')).rows).toEqual([['0']]);
  });

  it('is told when an answer is too long, and goes on', async () => {
    await reopen({ limits: { resultBytesMax: 10_000 } });
    const { client, con } = await opened();
    expect(await stateOf(client.sql(con, 'SELECT generate_series(1, 1000000000)'))).toBe('54000');
    expect(await stateOf(client.sql(con, "SELECT repeat('x', 50000000)"))).toBe('54000');
    expect((await client.sql(con, 'SELECT 1')).rows).toEqual([['1']]);
  });
});

describe('a transaction', () => {
  it('is begun, committed and rolled back, and is not where there is none', async () => {
    const { client, con } = await opened();
    await client.sql(con, 'CREATE TABLE moved (n int)');
    for (const method of ['commit_txn', 'rollback_txn'])
      expect(await stateOf(client.call(method, { 1: con }))).toBe('25P01');
    expect(await stateOf(client.sql(con, 'SELECT 1', [], 'execute_sql_txn'))).toBe('25P01');
    for (const end of ['rollback_txn', 'commit_txn']) {
      await client.call('begin_txn', { 1: con });
      expect(await stateOf(client.call('begin_txn', { 1: con }))).toBe('25001');
      await client.sql(con, 'INSERT INTO moved VALUES (1)', [], 'execute_sql_txn');
      await client.call(end, { 1: con });
    }
    expect((await client.sql(con, 'SELECT * FROM moved')).rows).toEqual([['1']]);
  });

  it('that has failed is not said to be committed', async () => {
    const { client, con } = await opened();
    await client.call('begin_txn', { 1: con });
    expect(await stateOf(client.sql(con, 'SELECT 1/0'))).toBe('22012');
    expect(await stateOf(client.sql(con, 'SELECT 1'))).toBe('25P02');
    expect(await stateOf(client.call('commit_txn', { 1: con }))).toBe('25P02');
    expect((await client.sql(con, 'SELECT 1')).rows).toEqual([['1']]);
  });
});

describe('a handle', () => {
  it('is of use on any connection, for its user and database alone', async () => {
    const { con } = await opened();
    const other = await connect();
    expect((await other.sql(con, 'SELECT 1')).rows).toEqual([['1']]);
    expect([2, 3, 4].map((id) => textIn(con, id))).toEqual(['1', 'barista', 'barista']);
    expect(textIn(con, 1)).toMatch(new RegExp(`^${clientId}:[A-Za-z0-9_-]{22}$`));
    for (const forged of [{ 3: 'postgres' }, { 4: 'postgres' }, { 1: clientId }, { 1: `x${textIn(con, 1)}` }])
      expect(await stateOf(other.sql({ ...con, ...forged }, 'SELECT 1'))).toBe('08003');
  });

  it('outlives its connection for a while, and no longer; what it held is free', async () => {
    await reopen({ limits: { sessionAloneMs: 300 } });
    const { client, con } = await opened();
    await client.sql(con, 'CREATE TABLE held (n int)');
    await client.call('begin_txn', { 1: con });
    await client.sql(con, 'LOCK TABLE held');
    client.close();
    const other = await connect();
    expect((await other.sql(con, 'SELECT 1', [], 'execute_sql_txn')).rowCount).toBe(1);
    other.close();
    await expect.poll(() => door.measures().sessions).toBe(0);
    const { client: third, con: own } = await opened();
    expect(await stateOf(third.sql(con, 'SELECT 1'))).toBe('57P05');
    expect((await third.sql(own, 'SELECT * FROM held')).rows).toEqual([]);
  });

  it('that is guessed ends the connection in the end', async () => {
    const client = await connect();
    const guess: Fields = { ...params, 1: `${clientId}:${'A'.repeat(22)}`, 4: 'barista' };
    for (let n = 0; n < 10; n += 1) expect(await stateOf(client.sql(guess, 'SELECT 1'))).toBe('08003');
    expect(await client.reply()).toBeNull();
  });

  it('says what its session has ended with', async () => {
    const { client, con } = await opened();
    const { rows } = await client.sql(con, 'SELECT pg_backend_pid()');
    await pg.superuser.query('SELECT pg_terminate_backend($1)', [Number(rows[0]?.[0])]);
    await expect.poll(() => door.measures().sessions).toBe(0);
    expect(await stateOf(client.sql(con, 'SELECT 1'))).toBe('57P01');
  });
});

describe('a request that is repeated', () => {
  const named = (con: Fields, seqId: string): Fields => ({ ...con, 2: seqId });

  it('is answered as before, on whatever connection, and not executed again', async () => {
    const { client, con } = await opened();
    await client.sql(con, 'CREATE TABLE counted (n serial)');
    const sql = 'INSERT INTO counted DEFAULT VALUES RETURNING n';
    const first = await client.sql(named(con, '2'), sql);
    const other = await connect();
    expect(await other.sql(named(con, '2'), sql)).toEqual(first);
    expect((await client.sql(con, 'SELECT count(*) FROM counted')).rows).toEqual([['1']]);
    expect(await stateOf(client.sql(named(con, '2'), 'SELECT 1'))).toBe('22023');
    // With the seq_id of its opening it is no repetition.
    for (const _ of [1, 2]) await client.sql(con, sql);
    expect((await client.sql(con, 'SELECT count(*) FROM counted')).rows).toEqual([['3']]);
  });

  it('on another session of the same client_id is not executed again either', async () => {
    const { client, con } = await opened();
    await client.sql(con, 'CREATE TABLE again (n int)');
    await client.sql(named(con, '2'), 'INSERT INTO again VALUES (1)');
    const other = await opened();
    const repeated = await other.client.sql(named(other.con, '2'), 'INSERT INTO again VALUES (1)');
    expect(repeated.rowCount).toBe(1);
    await other.client.call('begin_txn', { 1: other.con });
    await other.client.sql(other.con, 'INSERT INTO again VALUES (2)', [], 'execute_sql_txn');
    await other.client.call('commit_txn', { 1: named(other.con, '3') });
    const third = await opened();
    await third.client.call('begin_txn', { 1: third.con });
    await third.client.sql(third.con, 'INSERT INTO again VALUES (2)', [], 'execute_sql_txn');
    await third.client.call('commit_txn', { 1: named(third.con, '3') });
    // A request without a name is none of those.
    await third.client.sql(third.con, 'INSERT INTO again VALUES (3)');
    expect((await client.sql(con, 'SELECT * FROM again')).rows).toEqual([['1'], ['2'], ['3']]);
  });

  it('waits for the first, and does not run beside it', async () => {
    const { client, con } = await opened();
    await client.sql(con, 'CREATE TABLE slow (n int)');
    const sql = 'INSERT INTO slow SELECT 1 FROM pg_sleep(0.3)';
    const other = await connect();
    const both = await Promise.all([client.sql(named(con, '2'), sql), other.sql(named(con, '2'), sql)]);
    expect(both.map(({ rowCount }) => rowCount)).toEqual([1, 1]);
    expect((await client.sql(con, 'SELECT count(*) FROM slow')).rows).toEqual([['1']]);
  });

  it('that failed is tried again outside of a transaction, and within one hears the same', async () => {
    const { client, con } = await opened();
    expect(await stateOf(client.sql(named(con, '2'), 'INSERT INTO late VALUES (1)'))).toBe('42P01');
    await client.sql(con, 'CREATE TABLE late (n int)');
    expect((await client.sql(named(con, '2'), 'INSERT INTO late VALUES (1)')).rowCount).toBe(1);
    await client.call('begin_txn', { 1: con });
    for (const _ of [1, 2]) expect(await stateOf(client.sql(named(con, '3'), 'SELECT 1/0'))).toBe('22012');
  });
});

describe('who may come in', () => {
  it('is said by the SQL gateway', async () => {
    const client = await connect();
    expect(await stateOf(client.open({ ...params, 4: 'wrong' }))).toBe('28P01');
    expect(await stateOf(client.open({ ...params, 3: 'nobody' }))).toBe('28P01');
    expect(await stateOf(client.open({ ...params, 3: 'postgres' }))).toBe('28000');
    expect(await stateOf(client.open({ ...params, 5: 'nowhere' }))).toBe('3D000');
    expect(await stateOf(client.open({}))).toBe('28000');
    expect(await stateOf(client.open({ ...params, 3: 'a\0b' }))).toBe('22023');
    expect(door.measures().sessions).toBe(0);
  });

  it('counts among the clients of the SQL gateway', async () => {
    await gateway.listener.close();
    gateway = await startGateway(pg, { limits: { clientsMax: 1 } });
    await reopen({});
    const { client } = await opened();
    expect(await stateOf(client.open(params))).toBe('53300');
    expect(gateway.listener.clients).toBe(1);
  });
});
