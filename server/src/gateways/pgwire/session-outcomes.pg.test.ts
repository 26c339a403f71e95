/** Commit, agreement, leadership, cancel: what becomes of a client's transaction, and what the client is told. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Client } from 'pg';
import type { TransactionPayload } from '../../apply/effects.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types.ts';
import * as send from './codec/frontend-messages.ts';
import { startGateway, startTestDatabase, type TestDatabase, type TestGateway } from './testing/gateway.ts';
import { failure, hold } from './testing/helpers.ts';
import { connectWire, describeFrame } from './testing/wire-client.ts';
import { endWithTable, keysInTable, startWithTable } from './testing/with-table.ts';

let pg: TestDatabase;
let gateway: TestGateway;
let client: Client;
beforeAll(async () => {
  pg = await startTestDatabase();
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  ({ gateway, client } = await startWithTable(pg));
});
afterEach(() => endWithTable(pg, { gateway, client }));

const rows = (): Promise<number[]> => keysInTable(pg);
const effects = (parts: readonly TransactionPayload[]): string[] =>
  parts.flatMap((part) =>
    part.effects.map((effect) => `${effect.kind} ${'rows' in effect ? effect.rows.join(' ') : ''}`),
  );
const elsewhere = { kind: 'at', leader: 'r2' as ReplicaId, host: '127.0.0.1', port: 1 } as const;

describe('agreement', () => {
  it('an autocommitted write is agreed on once, and its slot is recorded with it', async () => {
    await client.query("INSERT INTO t VALUES (1, 'x')");
    expect(gateway.agreement.chosen.map(({ parts }) => effects(parts))).toEqual([['insert (1,x)']]);
    const slot = gateway.agreement.chosen[0]?.slot;
    expect(gateway.agreement.committedSlots).toEqual([slot]);
    const above = await pg.superuser.query('SELECT FROM _barista.applied_above WHERE slot = $1', [slot]);
    expect(above.rowCount).toBe(1);
  });

  it('a block is one transaction to agree on, and what was rolled back is not in it', async () => {
    await client.query('BEGIN');
    await client.query("INSERT INTO t VALUES (1, 'x')");
    await client.query('SAVEPOINT s');
    await client.query("INSERT INTO t VALUES (2, 'x')");
    await client.query('ROLLBACK TO s');
    await client.query("INSERT INTO t VALUES (3, 'x')");
    expect(gateway.agreement.chosen).toEqual([]);
    await client.query('COMMIT');
    expect(gateway.agreement.chosen.map(({ parts }) => effects(parts))).toEqual([
      ['insert (1,x)', 'insert (3,x)'],
    ]);
  });

  it('reads are not agreed on', async () => {
    await client.query('SELECT * FROM t');
    await client.query('BEGIN');
    await client.query('SELECT * FROM t');
    await client.query('COMMIT');
    expect(gateway.agreement.chosen).toEqual([]);
    expect(gateway.counted.reads).toBe(1);
  });

  it('a SELECT whose function writes is agreed on, and the second time it is not tried as a read first', async () => {
    await client.query(`CREATE FUNCTION adds(n int) RETURNS int LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO t VALUES (n, 'f'); RETURN n; END $$`);
    gateway.agreement.chosen.length = 0;
    const retries = gateway.counted.retries;
    expect((await client.query('SELECT adds((SELECT count(*) FROM t)::int)')).rows).toEqual([{ adds: 0 }]);
    expect(gateway.counted.retries).toBe(retries + 1);
    await client.query('SELECT adds((SELECT count(*) FROM t)::int)');
    expect(gateway.counted.retries).toBe(retries + 1);
    await client.query('SELECT adds($1)', [7]);
    expect(gateway.agreement.chosen.map(({ parts }) => effects(parts))).toEqual([
      ['insert (0,f)'],
      ['insert (1,f)'],
      ['insert (7,f)'],
    ]);
    await client.query('DROP FUNCTION adds');
  });

  it('a serializable transaction is prepared, agreed on and committed', async () => {
    await client.query('BEGIN ISOLATION LEVEL SERIALIZABLE');
    await client.query("INSERT INTO t VALUES (1, 'x')");
    expect((await client.query('COMMIT')).command).toBe('COMMIT');
    await client.query('SET default_transaction_isolation = serializable');
    await client.query("INSERT INTO t VALUES (2, 'x')");
    expect(gateway.agreement.committedSlots).toEqual(gateway.agreement.chosen.map(({ slot }) => slot));
    expect(gateway.agreement.chosen).toHaveLength(2);
    expect(await rows()).toEqual([1, 2]);
    expect((await pg.superuser.query('SELECT FROM pg_prepared_xacts')).rowCount).toBe(0);
  });

  it('of two serializable transactions that conflict one fails with 40001 before it is proposed', async () => {
    const other = await gateway.client();
    await client.query("INSERT INTO t VALUES (1, 'x'), (2, 'y')");
    for (const one of [client, other]) {
      await one.query('BEGIN ISOLATION LEVEL SERIALIZABLE');
      await one.query('SELECT sum(a) FROM t');
    }
    await client.query("INSERT INTO t VALUES (3, 'x')");
    await other.query("INSERT INTO t VALUES (4, 'x')");
    await client.query('COMMIT');
    expect((await failure(other.query('COMMIT'))).code).toBe('40001');
    expect(gateway.agreement.chosen).toHaveLength(2);
    expect(await rows()).toEqual([1, 2, 3]);
    await other.end();
  });

  it('what cannot be replicated is refused and rolled back', async () => {
    await client.query('CREATE TEMP TABLE scratch (a int)');
    for (const sql of [
      'CREATE DATABASE x',
      'CREATE ROLE x',
      'VACUUM; SELECT 1',
      'CREATE INDEX CONCURRENTLY i ON t (b)',
    ]) {
      expect((await failure(client.query(sql))).code).toMatch(/^(0A000|25001)$/);
    }
    await client.query('BEGIN');
    await client.query("INSERT INTO t VALUES (1, 'x')");
    expect((await failure(client.query('LOAD $$x$$'.replaceAll('$$', "'")))).code).toBe('0A000');
    expect((await failure(client.query('SELECT 1'))).code).toBe('25P02');
    expect((await client.query('COMMIT')).command).toBe('ROLLBACK');
    expect(await rows()).toEqual([]);
  });

  it('a large transaction goes in parts of bounded size, in order', async () => {
    await gateway.listener.close();
    gateway = await startGateway(pg, { partBytesMax: 65_536 });
    const bulk = await gateway.client();
    await bulk.query("INSERT INTO t SELECT n, repeat('x', 100) FROM generate_series(1, 5000) n");
    const { parts } = gateway.agreement.chosen[0] ?? { parts: [] };
    expect(parts.length).toBeGreaterThan(5);
    expect(parts.map((part) => part.part)).toEqual(parts.map((_, index) => index));
    expect(parts.map((part) => part.last)).toEqual(parts.map((_, index) => index === parts.length - 1));
    for (const part of parts) expect(JSON.stringify(part).length).toBeLessThan(65_536);
    const inserted = parts.flatMap((part) =>
      part.effects.flatMap((effect) => ('rows' in effect ? effect.rows : [])),
    );
    expect(inserted).toHaveLength(5000);
    expect(await rows()).toHaveLength(5000);
    await bulk.end();
  });

  it('a large transaction that is turned away half-way is rolled back, and the session goes on', async () => {
    await gateway.listener.close();
    gateway = await startGateway(pg, { partBytesMax: 65_536 });
    const bulk = await gateway.client();
    gateway.agreement.partsMax = 1;
    const sql = "INSERT INTO t SELECT n, repeat('x', 100) FROM generate_series(1, 20000) n";
    expect((await failure(bulk.query(sql))).code).toBe('53000');
    expect(await rows()).toEqual([]);
    gateway.agreement.partsMax = 1_000;
    await bulk.query(sql);
    expect(await rows()).toHaveLength(20_000);
    await bulk.end();
  });

  it('a row above the size of a part has one of its own; one above that is refused', async () => {
    await gateway.listener.close();
    gateway = await startGateway(pg, { partBytesMax: 65_536 });
    const other = await gateway.client();
    await other.query("INSERT INTO t VALUES (1, repeat('x', 100000))");
    expect(await rows()).toHaveLength(1);
    const code = (await failure(other.query("INSERT INTO t VALUES (2, repeat('x', 2000000))"))).code;
    expect(code).toBe('54000');
    expect(await rows()).toHaveLength(1);
    expect((await other.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await other.end();
  });

  it('a cursor WITH HOLD runs at COMMIT, and cannot write then', async () => {
    await client.query(`CREATE FUNCTION adds(n int) RETURNS int LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO t VALUES (n, 'f'); RETURN n; END $$`);
    gateway.agreement.chosen.length = 0;
    expect((await failure(client.query('DECLARE c CURSOR WITH HOLD FOR SELECT adds(1)'))).code).toBe('25006');
    await client.query('BEGIN');
    await client.query('DECLARE c CURSOR WITH HOLD FOR SELECT adds(1)');
    expect((await failure(client.query('COMMIT'))).code).toBe('25006');
    expect(gateway.agreement.chosen).toEqual([]);
    expect(await rows()).toEqual([]);
    await client.query('DROP FUNCTION adds');
  });
});

describe('outcomes', () => {
  it.each([
    ['superseded', '40001'],
    ['overloaded', '53000'],
  ] as const)('%s: rolled back, %s, and the session goes on', async (code, sqlState) => {
    gateway.agreement.decide = () => Promise.resolve({ code, reason: 'a test' });
    expect((await failure(client.query("INSERT INTO t VALUES (1, 'x')"))).code).toBe(sqlState);
    await client.query('BEGIN ISOLATION LEVEL SERIALIZABLE');
    await client.query("INSERT INTO t VALUES (2, 'x')");
    expect((await failure(client.query('COMMIT'))).code).toBe(sqlState);
    gateway.agreement.decide = null;
    await client.query("INSERT INTO t VALUES (3, 'x')");
    expect(await rows()).toEqual([3]);
    expect((await pg.superuser.query('SELECT FROM pg_prepared_xacts')).rowCount).toBe(0);
  });

  it.each([
    ['unknown', '08007'],
    ['notLeader', '57P01'],
  ] as const)('%s: %s and the session ends without a commit', async (code, sqlState) => {
    gateway.agreement.decide = () => Promise.resolve({ code, reason: 'a test' });
    const ended = new Promise<void>((resolve) => {
      client.on('end', () => resolve());
    });
    expect((await failure(client.query("INSERT INTO t VALUES (1, 'x')"))).code).toBe(sqlState);
    await ended;
    expect(await rows()).toEqual([]);
  });

  it('an answer waits for the agreement', async () => {
    const agreement = hold(gateway.agreement);
    let answered = false;
    const query = client.query("INSERT INTO t VALUES (1, 'x')").then(() => {
      answered = true;
    });
    await agreement.decided;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(answered).toBe(false);
    expect(await rows()).toEqual([]);
    agreement.decide('choose');
    await query;
    expect(await rows()).toEqual([1]);
  });

  it('chosen after leadership was lost: the client hears that it is committed, then that the session ends', async () => {
    const wire = await connectWire(gateway.connection);
    const agreement = hold(gateway.agreement);
    wire.send(send.query(Buffer.from("INSERT INTO t VALUES (1, 'x')")));
    await agreement.decided;
    gateway.agreement.setService(elsewhere);
    agreement.decide({ code: 'chosen', slot: 900_000 as Slot, label: 'x' });
    const frames = await wire.untilClosed();
    expect(frames.map((frame) => frame.type)).toEqual(['C', 'Z', 'E']);
    expect(describeFrame(frames[2] ?? { type: '', bytes: Buffer.alloc(0) })).toContain('C=57P01');
    expect(gateway.agreement.failed.map(({ slot }) => slot)).toEqual([900_000]);
    expect(await rows()).toEqual([]);
  });

  it('chosen after leadership was lost: rows that waited for the lease come before the success that they belong to', async () => {
    const agreement = hold(gateway.agreement);
    gateway.agreement.setLease(false);
    client.on('error', () => {});
    // With parameters, so that rows and harvest arrive together.
    const query = client.query('INSERT INTO t VALUES ($1, $2) RETURNING *', [1, 'x']);
    await agreement.decided;
    gateway.agreement.setService(elsewhere);
    agreement.decide({ code: 'chosen', slot: 900_001 as Slot, label: 'x' });
    expect((await query).rows).toHaveLength(1);
  });

  it('PostgreSQL dies between proposal and commit: reported as not committed here, told as committed', async () => {
    const wire = await connectWire(gateway.connection);
    const agreement = hold(gateway.agreement);
    wire.send(send.query(Buffer.from("INSERT INTO t VALUES (1, 'x')")));
    await agreement.decided;
    await pg.superuser.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'barista'",
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    agreement.decide('choose');
    const frames = await wire.untilClosed();
    expect(frames.map((frame) => frame.type)).toEqual(['C', 'Z', 'E']);
    expect(gateway.agreement.failed).toHaveLength(1);
  });

  it.each(['closes', 'resets'] as const)(
    'a client that %s its connection while its transaction is decided does not keep it from being committed',
    async (how) => {
      const wire = await connectWire(gateway.connection);
      const agreement = hold(gateway.agreement);
      wire.send(send.query(Buffer.from("INSERT INTO t VALUES (1, 'x')")));
      await agreement.decided;
      if (how === 'closes') wire.close();
      else wire.socket.resetAndDestroy();
      await new Promise((resolve) => setTimeout(resolve, 50));
      agreement.decide('choose');
      await expect.poll(rows).toEqual([1]);
      expect(gateway.agreement.failed).toEqual([]);
      expect(gateway.agreement.committedSlots).toHaveLength(1);
    },
  );
});

describe('leadership', () => {
  it('sessions of a deposed leader end with 57P01, idle or in a transaction', async () => {
    const idle = await connectWire(gateway.connection);
    const open = await connectWire(gateway.connection);
    open.send(send.query(Buffer.from("BEGIN; INSERT INTO t VALUES (1, 'x')")));
    await open.until('Z');
    gateway.agreement.setService(elsewhere);
    for (const wire of [idle, open]) {
      const frames = (await wire.untilClosed()).map(describeFrame);
      expect(frames).toHaveLength(1);
      expect(frames[0]).toContain('C=57P01 M=terminating connection: this replica is no longer the leader');
    }
    expect(await rows()).toEqual([]);
  });

  it('no answer leaves while the lease is not held', async () => {
    gateway.agreement.setLease(false);
    let answered = false;
    const query = client.query('SELECT 1').then(() => {
      answered = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(answered).toBe(false);
    gateway.agreement.setLease(true);
    await query;
    expect(answered).toBe(true);
  });

  it('a read that waits for the lease gets no answer when leadership ends', async () => {
    gateway.agreement.setLease(false);
    const wire = await connectWire(gateway.connection);
    wire.send(send.query(Buffer.from('SELECT 1')));
    await new Promise((resolve) => setTimeout(resolve, 100));
    gateway.agreement.setService(elsewhere);
    expect((await wire.untilClosed()).map((frame) => frame.type)).toEqual(['E']);
  });

  it('PostgreSQL ending the session is told to the client', async () => {
    const wire = await connectWire(gateway.connection);
    await pg.superuser.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'barista'",
    );
    const frames = (await wire.untilClosed()).map(describeFrame);
    expect(frames[0]).toMatch(/C=57P0[12]/);
  });
});
