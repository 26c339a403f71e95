/** `SET barista.request_id`: a transaction that is repeated under its name takes effect once, and its client is told so. */
import { Client, type ClientConfig, type QueryResult } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDatabase } from '../../adapters/postgres/database.ts';
import { ballotNone } from '../../multipaxos/ballot.ts';
import type { Slot } from '../../multipaxos/types.ts';
import { startGateway, startTestDatabase, type TestDatabase, type TestGateway } from './testing/gateway.ts';
import { failure, hold } from './testing/helpers.ts';
import { keysInTable } from './testing/with-table.ts';

let pg: TestDatabase;
let gateway: TestGateway;
let client: Client;
let notices: string[];

const connect = async (change: ClientConfig = {}): Promise<Client> => {
  const fresh = new Client({ ...gateway.connection, ...change });
  fresh.on('error', () => {});
  fresh.on('notice', (notice) => notices.push(`${notice.code} ${notice.message}`));
  await fresh.connect();
  return fresh;
};

beforeAll(async () => {
  pg = await startTestDatabase();
  await pg.superuser.query("CREATE ROLE other LOGIN PASSWORD 'other'");
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  gateway = await startGateway(pg);
  notices = [];
  client = await connect();
  await client.query('CREATE TABLE t (a int PRIMARY KEY, b text)');
  await client.query('GRANT ALL ON t TO other');
  gateway.agreement.chosen.length = 0;
});
afterEach(async () => {
  await client.end().catch(() => {});
  await gateway.listener.close();
  await pg.superuser.query('DROP TABLE IF EXISTS t CASCADE; DELETE FROM _barista.request');
});

const rows = (): Promise<number[]> => keysInTable(pg);
const recorded = async (from: Client = pg.superuser): Promise<string[]> =>
  (
    await from.query<{ line: string }>(
      "SELECT concat_ws(' ', role, id, slot, tag) AS line FROM _barista.request ORDER BY position",
    )
  ).rows.map(({ line }) => line);
const name = (id: string, on: Client = client): Promise<QueryResult> =>
  on.query(`SET barista.request_id = '${id}'`);
const slot = (index = 0): number => gateway.agreement.chosen[index]?.slot ?? -1;
const told = (): string =>
  `RQ001 the transaction of this request_id had been committed before, in slot ${slot()}: nothing was done again`;

describe('a named transaction', () => {
  it('is recorded with its slot, and in what is agreed on', async () => {
    await name('x');
    await client.query('BEGIN');
    await client.query("INSERT INTO t VALUES (1, 'x')");
    await client.query('COMMIT');
    expect(await recorded()).toEqual([`barista x ${slot()} COMMIT`]);
    expect(gateway.agreement.chosen[0]?.parts[0]?.request).toEqual({
      role: 'barista',
      id: 'x',
      tag: 'COMMIT',
    });
    expect(notices).toEqual([]);
  });

  it('that is repeated is rolled back, and told as committed, with a notice', async () => {
    await name('x');
    await client.query("BEGIN; INSERT INTO t VALUES (1, 'x')");
    await client.query('COMMIT');
    const again = await connect();
    await again.query('BEGIN');
    await name('x', again);
    await again.query("INSERT INTO t VALUES (2, 'x')");
    expect((await again.query('COMMIT')).command).toBe('COMMIT');
    expect(notices).toEqual([told()]);
    expect(await rows()).toEqual([1]);
    expect(gateway.agreement.chosen).toHaveLength(1);
    await again.end();
  });

  it('uses its name up: the next one is another, in the same session', async () => {
    await name('x');
    await client.query("INSERT INTO t VALUES (1, 'x')");
    await client.query("INSERT INTO t VALUES (2, 'x')");
    await name('x');
    await client.query("INSERT INTO t VALUES (3, 'x')");
    await client.query("INSERT INTO t VALUES (4, 'x')");
    expect(await rows()).toEqual([1, 2, 4]);
    expect(notices).toEqual([told()]);
  });

  it('keeps its name through reads, roll-backs and failures, and SET LOCAL names just the one', async () => {
    await name('x');
    await client.query('SELECT count(*) FROM t');
    await client.query('BEGIN; SELECT 1; COMMIT');
    await client.query("BEGIN; INSERT INTO t VALUES (9, 'x')");
    await client.query('ROLLBACK');
    await failure(client.query("INSERT INTO t VALUES (NULL, 'x')"));
    expect(await recorded()).toEqual([]);
    await client.query("INSERT INTO t VALUES (1, 'x')");
    expect(await recorded()).toEqual([`barista x ${slot()} INSERT 0 1`]);
    await client.query("BEGIN; SET LOCAL barista.request_id = 'y'; INSERT INTO t VALUES (2, 'x')");
    await client.query('COMMIT');
    await client.query("INSERT INTO t VALUES (3, 'x')");
    expect(await recorded()).toEqual([`barista x ${slot()} INSERT 0 1`, `barista y ${slot(1)} COMMIT`]);
  });

  it('belongs to the role that logged in', async () => {
    await name('x');
    await client.query("INSERT INTO t VALUES (1, 'x')");
    const other = await connect({ user: 'other', password: 'other' });
    await name('x', other);
    await other.query("INSERT INTO t VALUES (2, 'x')");
    expect(await rows()).toEqual([1, 2]);
    expect((await other.query("SELECT _barista.request_committed('x') AS is")).rows).toEqual([{ is: true }]);
    expect((await other.query("SELECT _barista.request_committed('y') AS is")).rows).toEqual([{ is: false }]);
    await other.end();
  });

  it('may be named as the client connects', async () => {
    const named = await connect({ options: '-c barista.request_id=x' });
    await named.query("INSERT INTO t VALUES (1, 'x')");
    await named.end();
    const again = await connect({ options: '-c barista.request_id=x' });
    await again.query("INSERT INTO t VALUES (1, 'x')");
    await again.query("INSERT INTO t VALUES (2, 'x')");
    expect(await rows()).toEqual([1, 2]);
    expect(notices).toEqual([told()]);
    await again.end();
  });

  it('with a name that is too long is refused', async () => {
    await name('x'.repeat(129));
    expect(await failure(client.query("INSERT INTO t VALUES (1, 'x')"))).toMatchObject({
      code: '22023',
      message: 'barista.request_id is longer than 128 characters',
    });
    expect(await rows()).toEqual([]);
    await name('ä'.repeat(128));
    await client.query("INSERT INTO t VALUES (1, 'x')");
    expect(await rows()).toEqual([1]);
  });

  it('is found again in a serializable one, and the other way round', async () => {
    await name('x');
    await client.query('BEGIN ISOLATION LEVEL SERIALIZABLE');
    await client.query("INSERT INTO t VALUES (1, 'x')");
    await client.query('COMMIT');
    await client.query("INSERT INTO t VALUES (2, 'x')");
    const again = await connect();
    await name('x', again);
    await again.query('BEGIN ISOLATION LEVEL SERIALIZABLE');
    await again.query("INSERT INTO t VALUES (3, 'x')");
    await again.query('COMMIT');
    expect(await rows()).toEqual([1, 2]);
    expect(notices).toEqual([told().replace(`, in slot ${slot()}`, '')]);
    await again.end();
  });

  it('cannot be forged by a client, who cannot read names either', async () => {
    for (const sql of [
      "SELECT _barista.record_request('guess', '1', 'COMMIT')",
      "SELECT _barista.begin_request('guess')",
      "SELECT _barista.apply_request('barista', 'x', 1, 'COMMIT')",
      'SELECT * FROM _barista.request',
    ]) {
      expect((await failure(client.query(sql))).code).toBe('42501');
    }
  });
});

describe('a statement of its own that is repeated', () => {
  const statements: readonly (readonly [string, string, unknown[] | undefined])[] = [
    ['simple', "INSERT INTO t VALUES (1, 'x')", undefined],
    ['extended', 'INSERT INTO t VALUES ($1, $2)', [1, 'x']],
  ];
  it.each(statements)('is not run again, but told as it was (%s protocol)', async (_, sql, values) => {
    await name('x');
    await client.query(sql, values);
    await name('x');
    const again = await client.query(sql, values);
    expect([again.command, again.rowCount]).toEqual(['INSERT', 1]);
    await name('x');
    const other = await client.query("UPDATE t SET b = 'y'");
    expect([other.command, other.rowCount]).toEqual(['INSERT', 1]);
    expect(notices).toEqual([told(), told()]);
    expect((await pg.superuser.query('SELECT b FROM t')).rows).toEqual([{ b: 'x' }]);
    await client.query("INSERT INTO t VALUES (5, 'x')");
    expect(await rows()).toEqual([1, 5]);
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
        message: told().slice(6),
        detail: 'The rows that it returned then are not kept.',
      });
      await client.query("INSERT INTO t VALUES (7, 'x')");
      expect(await rows()).toEqual([0, 7]);
    },
  );

  it('is found out at its end where the name was set out of sight', async () => {
    await client.query(`CREATE FUNCTION named() RETURNS void LANGUAGE plpgsql AS
      $$ BEGIN PERFORM set_config('barista.' || 'request' || '_id', 'x', false); END $$`);
    const unaware = await connect();
    for (const a of [1, 2]) {
      await unaware.query('SELECT named()');
      const { command, rowCount } = await unaware.query(`INSERT INTO t VALUES (${a}, 'x')`);
      expect([command, rowCount]).toEqual(['INSERT', 1]);
    }
    expect(await rows()).toEqual([1]);
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatch(/^RQ001/);
    await unaware.end();
    await client.query('DROP FUNCTION named');
  });

  it('of several in one message is found out at the end of the message', async () => {
    await name('x');
    const both = "INSERT INTO t VALUES (1, 'x'); UPDATE t SET b = 'y'";
    await client.query(both);
    await name('x');
    const again = (await client.query(both.replace('(1', '(2'))) as unknown as QueryResult[];
    expect(again.map(({ command, rowCount }) => [command, rowCount])).toEqual([
      ['INSERT', 1],
      ['UPDATE', 1],
    ]);
    await name('x');
    await client.query("INSERT INTO t VALUES (3, 'x'); COMMIT");
    expect(await rows()).toEqual([1]);
    expect(notices.filter((line) => line === told())).toHaveLength(2);
  });

  it('that changes nothing is recorded nowhere', async () => {
    await name('x');
    await client.query("UPDATE t SET b = 'y'");
    expect(await recorded()).toEqual([]);
    await client.query("INSERT INTO t VALUES (1, 'x')");
    expect(await recorded()).toHaveLength(1);
  });
});

describe('two at the same time', () => {
  const begin = async (a: number): Promise<{ on: Client; commit: Promise<QueryResult> }> => {
    const on = await connect();
    await name('x', on);
    await on.query(`BEGIN; INSERT INTO t VALUES (${a}, 'x')`);
    return { on, commit: on.query('COMMIT') };
  };

  it('the second waits for the first, and is then told that it had been committed', async () => {
    const agreement = hold(gateway.agreement);
    const first = await begin(1);
    await agreement.decided;
    const second = await begin(2);
    await new Promise((resolve) => setTimeout(resolve, 100));
    agreement.decide('choose');
    await first.commit;
    await second.commit;
    expect(await rows()).toEqual([1]);
    expect(notices).toEqual([told()]);
    await Promise.all([first.on.end(), second.on.end()]);
  });

  it('the second is committed if the first was not', async () => {
    const agreement = hold(gateway.agreement);
    const first = await begin(1);
    await agreement.decided;
    const second = await begin(2);
    await new Promise((resolve) => setTimeout(resolve, 100));
    gateway.agreement.decide = null;
    agreement.decide({ code: 'superseded', reason: 'a test' });
    expect((await failure(first.commit)).code).toBe('40001');
    await second.commit;
    expect(await rows()).toEqual([2]);
    expect(notices).toEqual([]);
    await Promise.all([first.on.end(), second.on.end()]);
  });

  it('a statement of its own waits, too, before it is run', async () => {
    const agreement = hold(gateway.agreement);
    await name('x');
    const first = client.query("INSERT INTO t VALUES (1, 'x')");
    await agreement.decided;
    const again = await connect();
    await name('x', again);
    const second = again.query("INSERT INTO t VALUES (1, 'x')");
    await new Promise((resolve) => setTimeout(resolve, 100));
    agreement.decide('choose');
    await first;
    expect((await second).rowCount).toBe(1);
    expect(notices).toEqual([told()]);
    await again.end();
  });
});

it('another replica knows the name once it has applied the transaction, and a newer one of the same name takes its place', async () => {
  const follower = await startTestDatabase();
  const database = createDatabase(follower.server);
  const keep = { keepFrom: 1 as Slot, leadership: ballotNone, configuration: null };
  const at = async (index: number, as: number): Promise<void> => {
    const { parts } = gateway.agreement.chosen[index] ?? { parts: [] };
    await database.apply([{ slot: as as Slot, transaction: parts }], keep);
  };
  await follower.superuser.query('CREATE TABLE t (a int PRIMARY KEY, b text)');
  await name('x');
  await client.query("INSERT INTO t VALUES (1, 'x')");
  await pg.superuser.query('DELETE FROM _barista.request');
  await name('x');
  await client.query("INSERT INTO t VALUES (2, 'x')");
  await at(0, 1);
  expect(await recorded(follower.superuser)).toEqual(['barista x 1 INSERT 0 1']);
  await at(1, 2);
  expect(await recorded(follower.superuser)).toEqual(['barista x 2 INSERT 0 1']);
  await database.endSessions();
  await follower.stop();
});

it('the oldest names are forgotten when there are too many', async () => {
  await pg.superuser.query("SELECT setval('_barista.request_order', 10)");
  for (const id of ['old', 'new']) {
    await name(id);
    await client.query(`INSERT INTO t VALUES (${id.charCodeAt(0)}, '')`);
    if (id === 'old') await pg.superuser.query("SELECT setval('_barista.request_order', 1000010)");
  }
  await pg.superuser.query('SELECT _barista.forget_requests()');
  expect((await recorded()).map((line) => line.split(' ')[1])).toEqual(['new']);
});
