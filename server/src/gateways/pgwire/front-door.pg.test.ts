/** Who may come in, what a broken or hostile client can do, large answers, followers. */
import { connect, type Socket } from 'node:net';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types.ts';
import * as send from './codec/frontend-messages.ts';
import { createPgwireListener } from './listener.ts';
import { startGateway, startTestDatabase, type TestDatabase, type TestGateway } from './testing/gateway.ts';
import { createMemoryAgreement } from './testing/memory-agreement.ts';
import { connectWire, describeFrame, type WireClient } from './testing/wire-client.ts';

let pg: TestDatabase;
let gateway: TestGateway;
beforeAll(async () => {
  pg = await startTestDatabase();
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  gateway = await startGateway(pg, {
    limits: { frameBytesMax: 100_000, leaderWaitMs: 300, startupTimeoutMs: 1_000, tunnelGraceMs: 200 },
  });
});
afterEach(async () => {
  await gateway.listener.close();
  await pg.superuser.query('DROP TABLE IF EXISTS t CASCADE');
});

const q = (sql: string): Buffer => send.query(Buffer.from(sql));
const ask = async (wire: WireClient, ...messages: readonly Buffer[]): Promise<string[]> => {
  wire.send(...messages);
  return (await wire.until('Z')).map(describeFrame);
};
const codeOf = async (work: Promise<unknown>): Promise<string | undefined> => {
  try {
    await work;
  } catch (error) {
    return (error as { code?: string }).code;
  }
  throw new Error('it did not fail');
};
const connectAs = async (
  change: Partial<TestGateway['connection']> & { replication?: string },
): Promise<void> => {
  const client = new Client({ ...gateway.connection, ...change });
  client.on('error', () => {});
  await client.connect();
  await client.end();
};
/** What the server says to these bytes, until it closes the connection or has said `bytesMin`. */
const say = (bytes: Buffer, bytesMin = 1_000_000): Promise<Buffer> =>
  new Promise((resolve) => {
    const answer: Buffer[] = [];
    const socket: Socket = connect(gateway.connection.port, '127.0.0.1', () => socket.write(bytes));
    const finish = (): void => {
      socket.destroy();
      resolve(Buffer.concat(answer));
    };
    socket.on('data', (chunk) => {
      answer.push(chunk);
      if (Buffer.concat(answer).length >= bytesMin) finish();
    });
    socket.on('close', finish);
    socket.on('error', finish);
  });
const startup = (code: number, rest: string): Buffer => {
  const head = Buffer.alloc(8);
  head.writeInt32BE(rest.length + 8, 0);
  head.writeInt32BE(code, 4);
  return Buffer.concat([head, Buffer.from(rest)]);
};

describe('start-up', () => {
  it('a wrong password is refused by PostgreSQL itself', async () => {
    expect(await codeOf(connectAs({ password: 'wrong' }))).toBe('28P01');
  });

  it('reserved users are refused with 28000', async () => {
    expect(await codeOf(connectAs({ user: 'postgres' }))).toBe('28000');
  });

  it('an unknown database is refused by PostgreSQL itself', async () => {
    expect(await codeOf(connectAs({ database: 'nowhere' }))).toBe('3D000');
  });

  it('replication connections are refused', async () => {
    const answer = await say(startup(3 << 16, 'user\0barista\0replication\0database\0\0'));
    expect(answer.toString()).toContain('0A000');
  });

  it('encryption is declined, and the connection goes on', async () => {
    expect((await say(startup(80_877_103, ''), 1)).toString()).toBe('N');
    expect((await say(startup(80_877_104, ''), 1)).toString()).toBe('N');
  });

  it('a newer minor version of the protocol is negotiated by PostgreSQL', async () => {
    const answer = await say(startup((3 << 16) | 9, 'user\0barista\0database\0barista\0\0'), 1);
    expect(String.fromCharCode(answer[0] ?? 0)).toBe('v');
  });

  it('garbage and silence end with 08P01', async () => {
    expect((await say(Buffer.from('GET / HTTP/1.1\r\n\r\n'))).toString()).toContain('08P01');
    expect((await say(Buffer.from([0, 0]))).toString()).toContain('08P01');
  });

  it('a port in use is an error that names it', async () => {
    const second = createPgwireListener({
      host: '127.0.0.1',
      port: gateway.connection.port,
      agreement: createMemoryAgreement(),
      sessionSql: () => pg.sessionSql,
      logger: { info: () => {}, warn: () => {} },
    });
    await expect(second).rejects.toThrow(
      new RegExp(`port ${gateway.connection.port} on 127.0.0.1 is in use`),
    );
  });

  it('more clients than the limit are refused with 53300', async () => {
    const small = await startGateway(pg, { limits: { clientsMax: 1 } });
    const first = await small.client();
    expect(await codeOf(small.client())).toBe('53300');
    await first.end();
    await small.listener.close();
  });
});

describe('broken and hostile clients', () => {
  it('an oversized or malformed message closes that connection alone, with 08P01', async () => {
    const other = await gateway.client();
    const oversized = q(`SELECT '${'x'.repeat(100_000)}'`);
    const malformed = Buffer.from([0x51, 0, 0, 0, 1]);
    const unterminated = Buffer.from([0x51, 0, 0, 0, 5, 0x53]);
    const unknown = Buffer.from([0x7a, 0, 0, 0, 4]);
    for (const bytes of [oversized, malformed, unterminated, unknown]) {
      const wire = await connectWire(gateway.connection);
      wire.send(bytes);
      const frames = (await wire.untilClosed()).map(describeFrame);
      expect(frames).toHaveLength(1);
      expect(frames[0]).toContain('C=08P01');
    }
    expect((await other.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await other.end();
  });

  it('a prepared COMMIT cannot be run by EXECUTE, in SQL or inside a function', async () => {
    const wire = await connectWire(gateway.connection);
    await ask(wire, q('CREATE TABLE t (a int)'));
    gateway.agreement.chosen.length = 0;
    await ask(wire, send.parse('c', 'COMMIT'), send.parse('r', 'ROLLBACK'), send.sync);
    for (const smuggled of [
      'EXECUTE c',
      "DO $$ BEGIN EXECUTE 'EXECUTE c'; END $$",
      "DO $$ BEGIN EXECUTE 'EXECUTE r'; END $$",
    ]) {
      await ask(wire, q('BEGIN; INSERT INTO t VALUES (1)'));
      const answer = await ask(wire, q(smuggled));
      expect(answer[0]).toMatch(/^E /);
      expect(answer.at(-1)).toBe('Z E');
      await ask(wire, q('ROLLBACK'));
    }
    expect((await pg.superuser.query('SELECT FROM t')).rowCount).toBe(0);
    expect(gateway.agreement.chosen).toEqual([]);
    wire.close();
  });

  it('a statement that SQL has put in the place of a prepared SET does not escape agreement', async () => {
    const wire = await connectWire(gateway.connection);
    await ask(wire, q('CREATE TABLE t (a int)'));
    gateway.agreement.chosen.length = 0;
    for (const [name, sql] of [
      ['s', "SET application_name = 'x'"],
      ['b', 'BEGIN'],
    ] as const) {
      await ask(wire, send.parse(name, sql), send.sync);
      await ask(
        wire,
        q(
          `DO $$ BEGIN EXECUTE 'DEALLOCATE ${name}'; EXECUTE 'PREPARE ${name} AS INSERT INTO t VALUES (1)'; END $$`,
        ),
      );
      await ask(wire, send.bind({ portal: '', statement: name }), send.execute(''), send.sync);
      await ask(wire, q('ROLLBACK'));
    }
    expect((await pg.superuser.query('SELECT FROM t')).rowCount).toBe(0);
    expect(gateway.agreement.chosen).toEqual([]);
    wire.close();
  });

  it.each([
    ['SET standard_conforming_strings = off', 'standard_conforming_strings'],
    ["SELECT set_config('standard_conforming_strings', 'off', false)", 'standard_conforming_strings'],
    ["SET client_encoding = 'SJIS'", 'SJIS'],
    ["SET client_encoding = 'GB18030'", 'GB18030'],
  ])('%s ends the session with 0A000', async (sql, named) => {
    const wire = await connectWire(gateway.connection);
    wire.send(q(sql));
    const last = (await wire.untilClosed()).map(describeFrame).at(-1);
    expect(last).toContain('C=0A000');
    expect(last).toContain(named);
  });

  it('messages that are not COPY data do not reach PostgreSQL during COPY', async () => {
    const wire = await connectWire(gateway.connection);
    await ask(wire, q('CREATE TABLE t (a int)'));
    wire.send(q('COPY t FROM STDIN'));
    await wire.until('G');
    wire.send(Buffer.concat([Buffer.from([0x64, 0, 0, 0, 6, 0x31, 0x0a]), q('SELECT 1')]));
    const frames = (await wire.until('Z', 2)).map(describeFrame);
    expect(frames[0]).toContain('C=57014');
    expect(frames.slice(2).map((frame) => frame[0])).toEqual(['T', 'D', 'C', 'Z']);
    expect((await pg.superuser.query('SELECT FROM t')).rowCount).toBe(0);
    wire.close();
  });

  it('the secret reaches no client, whatever fails', async () => {
    const wire = await connectWire(gateway.connection);
    await ask(wire, q('CREATE TABLE t (a int)'));
    await ask(wire, q('SET log_parameter_max_length_on_error = -1'));
    const seen: string[] = [];
    for (const setting of ["statement_timeout = '1ms'", "lock_timeout = '1ms'"]) {
      await ask(wire, q(`SET ${setting}`));
      for (let n = 0; n < 5; n += 1)
        seen.push(...(await ask(wire, q(`INSERT INTO t SELECT generate_series(1, ${n * 300})`))));
    }
    seen.push(
      ...(await ask(
        wire,
        q('SELECT query FROM pg_stat_activity'),
        q('SELECT statement FROM pg_prepared_statements'),
      )),
    );
    seen.push(...(await wire.until('Z')).map(describeFrame));
    expect(seen.filter((line) => line.includes(pg.sessionSql.secret))).toEqual([]);
    wire.close();
  });

  it('a pipeline beyond what is looked at, and large parameters, still run as one transaction', async () => {
    const big = await startGateway(pg, { limits: { batchBytesMax: 10_000 } });
    const wire = await connectWire(big.connection);
    await ask(wire, q('CREATE TABLE t (a int, b text)'));
    big.agreement.chosen.length = 0;
    const insert = Buffer.concat([
      send.parse('', 'INSERT INTO t VALUES (1, $1)'),
      send.bind({ portal: '', statement: '', parameters: ['x'.repeat(3_000)] }),
      send.execute(''),
    ]);
    wire.send(...Array.from({ length: 20 }, () => insert), send.sync);
    expect((await wire.until('Z')).filter((frame) => frame.type === 'C')).toHaveLength(20);
    expect(big.agreement.chosen).toHaveLength(1);
    wire.send(
      ...Array.from({ length: 20 }, () => insert),
      q('SELECT 1/0').subarray(0, 0),
      send.parse('', 'SELEC'),
      send.sync,
    );
    await wire.until('Z');
    expect(big.agreement.chosen).toHaveLength(1);
    expect((await pg.superuser.query('SELECT FROM t')).rowCount).toBe(20);
    wire.close();
    await big.listener.close();
  });
});

describe('large answers', () => {
  it('a slow reader stops PostgreSQL instead of filling our memory', async () => {
    const wire = await connectWire(gateway.connection);
    wire.send(q("SELECT repeat('x', 10000) FROM generate_series(1, 50000)"));
    await wire.until('T');
    wire.socket.pause();
    const waits = async (): Promise<unknown> =>
      (await pg.superuser.query("SELECT wait_event FROM pg_stat_activity WHERE usename = 'barista'")).rows;
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    const received = wire.socket.bytesRead;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(wire.socket.bytesRead).toBe(received);
    expect(await waits()).toEqual([{ wait_event: 'ClientWrite' }]);
    expect(process.memoryUsage().arrayBuffers).toBeLessThan(100_000_000);
    wire.socket.resume();
    expect((await wire.until('Z')).filter((frame) => frame.type === 'D')).toHaveLength(50_000);
    wire.close();
  });

  it('rows and COPY data larger than any limit on whole messages pass in pieces', async () => {
    const wire = await connectWire(gateway.connection);
    wire.send(q("SELECT repeat('x', 3000000)"));
    const [, row] = await wire.until('Z');
    expect(row?.bytes.length).toBe(3_000_000 + 11);
    await ask(wire, q('CREATE TEMP TABLE big (b text)'));
    wire.send(q('COPY big FROM STDIN'));
    await wire.until('G');
    const data = Buffer.alloc(5 + 2_000_001, 'y');
    data.write('d');
    data.writeInt32BE(2_000_005, 1);
    data[data.length - 1] = 0x0a;
    expect((await ask(wire, data, Buffer.from([0x63, 0, 0, 0, 4])))[0]).toBe('C COPY 1\\0');
    wire.close();
  });
});

describe('followers', () => {
  let follower: TestGateway;
  beforeEach(async () => {
    const agreement = createMemoryAgreement();
    agreement.setService(leaderAt(gateway.connection.port));
    follower = await startGateway(pg, { agreement, limits: { leaderWaitMs: 300, tunnelGraceMs: 200 } });
  });
  afterEach(async () => {
    await follower.listener.close();
  });
  const leaderAt = (port: number, leader = 'r1') =>
    ({ kind: 'at', leader: leader as ReplicaId, host: '127.0.0.1', port }) as const;

  it('a client of a follower is served by the leader', async () => {
    const client = await follower.client();
    await client.query('CREATE TABLE t (a int)');
    await client.query('INSERT INTO t SELECT generate_series(1, 1000)');
    expect((await client.query('SELECT count(*)::int AS n FROM t')).rows).toEqual([{ n: 1000 }]);
    expect(gateway.agreement.chosen).toHaveLength(2);
    expect([gateway.listener.clients, follower.listener.clients]).toEqual([1, 1]);
    await client.end();
  });

  it('a CancelRequest at a follower reaches the session at the leader', async () => {
    const client = await follower.client();
    const sleeping = codeOf(client.query('SELECT pg_sleep(20)'));
    await new Promise((resolve) => setTimeout(resolve, 200));
    const { processID, secretKey } = client as unknown as { processID: number; secretKey: number };
    const packet = Buffer.alloc(16);
    packet.writeInt32BE(16, 0);
    packet.writeInt32BE((1234 << 16) | 5678, 4);
    packet.writeInt32BE(processID, 8);
    packet.writeInt32BE(secretKey, 12);
    const socket = connect(follower.connection.port, '127.0.0.1', () => socket.end(packet));
    socket.on('error', () => {});
    expect(await sleeping).toBe('57014');
    await client.end();
  });

  it('without a leader a new client is told 57P03 after a bounded time', async () => {
    follower.agreement.setService({ kind: 'nowhere', reason: 'an election' });
    const begun = performance.now();
    expect(await codeOf(follower.client())).toBe('57P03');
    expect(performance.now() - begun).toBeGreaterThan(250);
  });

  it('a new client waits for a leader to be found', async () => {
    follower.agreement.setService({ kind: 'nowhere', reason: 'an election' });
    setTimeout(() => follower.agreement.setService(leaderAt(gateway.connection.port)), 100);
    const client = await follower.client();
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await client.end();
  });

  it('two followers that take each other for the leader do not send a client round and round', async () => {
    gateway.agreement.setService(leaderAt(follower.connection.port, 'r2'));
    expect(await codeOf(follower.client())).toBe('57P03');
  });

  it('when the leader goes away a client of a follower is told: 57P01 if idle, 08007 if an answer was due', async () => {
    const idle = await connectWire(follower.connection);
    const busy = await connectWire(follower.connection);
    busy.send(q('SELECT pg_sleep(20)'));
    await new Promise((resolve) => setTimeout(resolve, 100));
    // The leader hangs: it says nothing and closes nothing.
    follower.agreement.setService(leaderAt(1, 'r3'));
    expect((await idle.untilClosed()).map(describeFrame).join()).toContain('C=57P01');
    expect((await busy.untilClosed()).map(describeFrame).join()).toContain('C=08007');
  });

  it('a leader that nobody answers for is told with 08001', async () => {
    follower.agreement.setService(leaderAt(1));
    expect(await codeOf(follower.client())).toBe('08001');
  });
});
