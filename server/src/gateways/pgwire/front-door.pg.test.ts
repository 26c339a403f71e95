/** Who may come in, what a broken or hostile client can do, large answers, many clients. */
import { connect, type Socket } from 'node:net';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createPgwireListener } from './listener.ts';
import { doorOf, startGateway, type TestGateway } from './testing/gateway.ts';
import { ask, backends, codeOf, fatal, lastWords, q, sleep } from './testing/helpers.ts';
import { createMemoryClientService } from './testing/memory-client-service.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { connectWire, describeFrame, followWire } from './testing/wire-client.ts';

let pg: TestPostgres;
let gateway: TestGateway;
let sockets: Socket[] = [];
beforeAll(async () => {
  pg = await startTestPostgres();
  await pg.superuser.query('CREATE ROLE open LOGIN');
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  gateway = await startGateway(pg, { limits: { leaderWaitMs: 300, frameBytesMax: 100_000_000 } });
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await gateway.listener.close();
  await pg.superuser.query('DROP TABLE IF EXISTS t CASCADE');
});

async function connectAs(change: Partial<TestGateway['connection']>): Promise<void> {
  const client = new Client({ ...gateway.connection, ...change });
  client.on('error', () => {});
  await client.connect();
  await client.end();
}

/** A connection on which these bytes have been said. */
function open(bytes: Buffer = Buffer.alloc(0), port = gateway.connection.port): Socket {
  const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
  socket.on('error', () => {});
  sockets.push(socket);
  return socket;
}

/** What the server says to these bytes, until it closes the connection or has said `bytesMin`. */
function say(bytes: Buffer, { bytesMin = 1_000_000, port = gateway.connection.port } = {}): Promise<Buffer> {
  return new Promise((resolve) => {
    const answer: Buffer[] = [];
    const socket = open(bytes, port);
    function finish(): void {
      socket.destroy();
      resolve(Buffer.concat(answer));
    }
    socket.on('data', (chunk) => {
      answer.push(chunk);
      if (Buffer.concat(answer).length >= bytesMin) finish();
    });
    socket.on('close', finish);
  });
}

function startup(code: number, rest: string): Buffer {
  const head = Buffer.alloc(8);
  head.writeInt32BE(rest.length + 8, 0);
  head.writeInt32BE(code, 4);
  return Buffer.concat([head, Buffer.from(rest)]);
}
const asOpen = startup(3 << 16, 'user\0open\0database\0barista\0\0');
const asBarista = startup(3 << 16, 'user\0barista\0database\0barista\0\0');

describe('start-up', () => {
  it('a wrong password and an unknown database are refused', async () => {
    expect(await codeOf(connectAs({ password: 'wrong' }))).toBe('28P01');
    expect(await codeOf(connectAs({ database: 'nowhere' }))).toBe('3D000');
    await expect.poll(() => backends(pg)).toBe(0);
  });

  it('reserved users are refused with 28000, and so is nobody', async () => {
    expect(await codeOf(connectAs({ user: 'postgres' }))).toBe('28000');
    expect((await say(startup(3 << 16, 'database\0barista\0\0'))).toString()).toContain('C28000');
  });

  it.each(['true', 'database', 'On', '1'])('replication connections are refused: %s', async (value) => {
    const answer = await say(startup(3 << 16, `user\0barista\0replication\0${value}\0\0`));
    expect(answer.toString()).toContain('C0A000');
  });

  it('encryption is declined, and the connection goes on', async () => {
    expect((await say(startup(80_877_103, ''), { bytesMin: 1 })).toString()).toBe('N');
    expect((await say(startup(80_877_104, ''), { bytesMin: 1 })).toString()).toBe('N');
    const socket = open(startup(80_877_103, ''));
    await new Promise((resolve) => socket.once('data', resolve));
    socket.removeAllListeners('data');
    const wire = followWire(socket);
    wire.send(asOpen);
    expect((await wire.until('Z')).at(-1)?.type).toBe('Z');
  });

  it.each([
    ['another protocol', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['the end of a session that has not begun', Buffer.from([0x58, 0, 0, 0, 4])],
  ])('%s is closed without a word, as by PostgreSQL', async (_, bytes) => {
    expect((await say(bytes)).toString()).toBe('');
  });

  it('another version of the protocol is refused with 08P01', async () => {
    expect((await say(startup(2 << 16, 'user\0barista\0\0'))).toString()).toContain('C08P01');
  });

  it('PostgreSQL that is down is told with 57P03', async () => {
    const door = doorOf(pg);
    gateway.service.setDoor({ ...door, socketPath: '/nowhere/.s.PGSQL.5432' });
    expect(await codeOf(connectAs({}))).toBe('57P03');
    gateway.service.setDoor({ ...door, findLogin: () => Promise.reject(new Error('away')) });
    expect(await codeOf(connectAs({}))).toBe('57P03');
    gateway.service.setDoor(null);
    expect(await codeOf(connectAs({}))).toBe('57P03');
  });

  it('a port in use is an error that names it', async () => {
    const { port } = gateway.connection;
    const second = createPgwireListener({
      host: '127.0.0.1',
      port,
      service: createMemoryClientService(null),
      clusterSecret: 'secret',
      access: [],
      logger: { info: () => {}, warn: () => {} },
    });
    await expect(second).rejects.toThrow(new RegExp(`port ${port} of 127.0.0.1: it is in use`));
  });

  it('is not answered while answers may not leave', async () => {
    gateway.service.holdAnswers();
    const wire = followWire(open(asOpen));
    await sleep(200);
    expect(wire.socket.bytesRead).toBe(0);
    gateway.service.letGo();
    expect((await wire.until('R'))[0]?.type).toBe('R');
  });
});

describe('connections that do not log in', () => {
  it('are ended after a while, whether they say nothing, half a packet, or no password', async () => {
    const impatient = await startGateway(pg, {
      limits: { firstPacketTimeoutMs: 300, authenticationTimeoutMs: 500 },
    });
    const { port } = impatient.connection;
    const answers = await Promise.all(
      [Buffer.alloc(0), asBarista.subarray(0, 6), asBarista].map((bytes) => say(bytes, { port })),
    );
    for (const answer of answers) expect(answer.toString()).toContain('C08P01');
    await expect.poll(() => backends(pg)).toBe(0);
    await expect.poll(() => impatient.listener.strangers).toBe(0);
    await impatient.listener.close();
  });

  it('hear why they are refused while few do, and are closed without a word where many do not take it', async () => {
    const small = await startGateway(pg, {
      limits: { clientsMax: 5, openingMax: 5, provingMax: 5, leavingMax: 5, lastWordsMs: 600_000 },
    });
    let closed = 0;
    const all = Array.from({ length: 100 }, () => {
      const socket = connect({ port: small.connection.port, host: '127.0.0.1', allowHalfOpen: true });
      return socket.on('error', () => undefined).on('close', () => (closed += 1));
    });
    // Who is not there any more says so when something is sent.
    const knock = (): number => {
      for (const socket of all) if (!socket.destroyed) socket.write('x');
      return closed;
    };
    await expect.poll(knock).toBeGreaterThanOrEqual(80);
    expect(closed).toBeLessThan(90);
    for (const socket of all) socket.destroy();
    await small.listener.close();
  });

  it('are forgotten at once when they are closed', async () => {
    for (const bytes of [Buffer.alloc(0), asBarista.subarray(0, 6), asBarista]) {
      const socket = open(bytes);
      await expect.poll(() => gateway.listener.strangers).toBe(1);
      await sleep(20);
      socket.destroy();
      await expect.poll(() => gateway.listener.strangers, { interval: 5 }).toBe(0);
    }
    await expect.poll(() => backends(pg)).toBe(0);
  });

  it('do not keep anybody out: neither 250 that say nothing, nor 60 that wait with their password', async () => {
    const crowded = await startGateway(pg, {
      limits: { clientsMax: 2, openingMax: 200, provingMax: 10, enteringMax: 10 },
    });
    // Those that want to log in come first, so that they all wait before the client does.
    const crowd = [...Array(310).keys()].map((n) => {
      const socket = connect(crowded.connection.port, '127.0.0.1', () =>
        socket.write(n < 60 ? asBarista : ''),
      );
      socket.on('error', () => {}).resume();
      return socket;
    });
    await expect.poll(() => crowded.listener.strangers).toBeGreaterThanOrEqual(200);
    const client = await crowded.client();
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    expect(crowded.listener.clients).toBe(1);
    expect(await backends(pg)).toBeLessThanOrEqual(11);
    for (const socket of crowd) socket.destroy();
    await client.end();
    await crowded.listener.close();
  });

  it('keep out no client with 1,200 startup packets of made-up roles that come again when they are closed', async () => {
    let come = 0;
    let isOver = false;
    function flood(): void {
      come += 1;
      const socket = open(startup(3 << 16, `user\0made_up_${come}\0database\0barista\0\0`));
      socket.resume().on('close', () => {
        if (!isOver) flood();
      });
    }
    for (let n = 0; n < 1_200; n += 1) flood();
    await expect.poll(() => gateway.listener.strangers).toBeGreaterThanOrEqual(1_000);
    for (let n = 0; n < 5; n += 1) await (await gateway.client()).end();
    isOver = true;
  });

  it('more clients than the limit are refused with 53300, and there is room when one has gone', async () => {
    const small = await startGateway(pg, { limits: { clientsMax: 1 } });
    const first = await small.client();
    expect(await codeOf(small.client())).toBe('53300');
    await first.end();
    await expect.poll(() => small.listener.clients).toBe(0);
    await (await small.client()).end();
    await small.listener.close();
  });
});

describe('broken and hostile clients', () => {
  it('a malformed length ends that connection alone, with 08P01', async () => {
    const other = await gateway.client();
    for (const bytes of [
      Buffer.from([0x51, 0, 0, 0, 1]),
      Buffer.from([0x64, 0x7f, 0xff, 0xff, 0xff]),
      Buffer.from([0x51, 0x05, 0xf5, 0xe1, 0x01]),
    ]) {
      const wire = await connectWire(gateway.connection);
      wire.send(q('SELECT 1'), bytes);
      expect((await wire.untilClosed()).map(describeFrame).at(-1)).toContain('C=08P01');
    }
    expect((await other.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await other.end();
  });

  it('one that sends and never reads is stopped, and costs no memory', async () => {
    const wire = await connectWire(gateway.connection);
    wire.socket.pause();
    const before = process.memoryUsage();
    const query = q(`SELECT repeat('x', 1000) -- ${'y'.repeat(10_000)}`);
    let sent = 0;
    while (sent < 200_000_000 && wire.socket.writableLength < 50_000_000) {
      wire.socket.write(query);
      sent += query.length;
      if (sent % 1_000_000 < query.length) await sleep(1);
    }
    expect(wire.socket.writableLength).toBeGreaterThanOrEqual(50_000_000);
    const after = process.memoryUsage();
    const ours = after.arrayBuffers + after.external - before.arrayBuffers - before.external;
    // What the test itself has queued is in it.
    expect(ours).toBeLessThan(120_000_000);
    wire.close();
  });
});

describe('large answers', () => {
  it('a slow reader stops PostgreSQL instead of filling our memory', async () => {
    const wire = await connectWire(gateway.connection);
    wire.send(q("SELECT repeat('x', 10000) FROM generate_series(1, 8000)"));
    await wire.until('T');
    wire.socket.pause();
    const waits = "SELECT wait_event FROM pg_stat_activity WHERE usename = 'barista'";
    let received = 0;
    // Until nothing moves any more.
    await expect
      .poll(
        async () => {
          const before = received;
          received = wire.socket.bytesRead;
          return [received - before, (await pg.superuser.query(waits)).rows];
        },
        { interval: 200 },
      )
      .toEqual([0, [{ wait_event: 'ClientWrite' }]]);
    expect(process.memoryUsage().arrayBuffers).toBeLessThan(150_000_000);
    wire.socket.resume();
    expect((await wire.until('Z')).filter((frame) => frame.type === 'D')).toHaveLength(8_000);
    wire.close();
  });

  it('answers that may not leave stop PostgreSQL, too', async () => {
    const wire = await connectWire(gateway.connection);
    gateway.service.holdAnswers();
    wire.send(q("SELECT repeat('x', 10000) FROM generate_series(1, 5000)"));
    // PostgreSQL waits for a gateway that has not come to read yet, too.
    await expect.poll(() => gateway.listener.answersHeld).toBeGreaterThan(0);
    await expect
      .poll(
        async () =>
          (await pg.superuser.query("SELECT wait_event FROM pg_stat_activity WHERE usename = 'barista'"))
            .rows,
      )
      .toEqual([{ wait_event: 'ClientWrite' }]);
    gateway.service.letGo();
    expect((await wire.until('Z')).filter((frame) => frame.type === 'D')).toHaveLength(5_000);
    wire.close();
  });

  it('rows and COPY data of any size pass', async () => {
    const wire = await connectWire(gateway.connection);
    wire.send(q("SELECT repeat('x', 30000000)"));
    const [, row] = await wire.until('Z');
    expect(row?.bytes.length).toBe(30_000_000 + 11);
    await ask(wire, q('CREATE TEMP TABLE big (b text)'));
    wire.send(q('COPY big FROM STDIN'));
    await wire.until('G');
    const data = Buffer.alloc(5 + 20_000_001, 'y');
    data.write('d');
    data.writeInt32BE(20_000_005, 1);
    data[data.length - 1] = 0x0a;
    expect((await ask(wire, data, Buffer.from([0x63, 0, 0, 0, 4])))[0]).toBe('C COPY 1\\0');
    wire.close();
  });

  it('answers stay in order when some had to wait', async () => {
    const wire = await connectWire(gateway.connection);
    const queries = [...Array(300).keys()].map((n) => q(`SELECT ${n} AS n`));
    const flips = setInterval(() => {
      gateway.service.holdAnswers();
      setTimeout(() => gateway.service.letGo(), 2);
    }, 4);
    for (const query of queries) {
      wire.send(query);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const frames = await wire.until('Z', 300);
    clearInterval(flips);
    const numbers = frames
      .filter(({ type }) => type === 'D')
      .map(({ bytes }) => Number(bytes.toString('latin1', 11)));
    expect(numbers).toEqual([...Array(300).keys()]);
    wire.close();
  });
});

describe('many clients', () => {
  it('a crowd comes and goes, and nothing is left', async () => {
    const clients = await Promise.all([...Array(80).keys()].map(() => gateway.client()));
    expect(gateway.listener.clients).toBe(80);
    await Promise.all(clients.map((client) => client.query('SELECT 1')));
    await Promise.all(clients.map((client) => client.end()));
    await expect.poll(() => [gateway.listener.clients, gateway.listener.strangers]).toEqual([0, 0]);
    await expect.poll(() => backends(pg)).toBe(0);
  });

  it('are all told when the gateway stops', async () => {
    const wires = await Promise.all([1, 2, 3].map(() => connectWire(gateway.connection)));
    const waiting = open();
    const closed = gateway.listener.close();
    for (const wire of wires) expect(await lastWords(wire)).toEqual([fatal('57P01')]);
    await closed;
    await expect.poll(() => waiting.destroyed).toBe(true);
  });
});
