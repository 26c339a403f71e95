/** Clients of the Thrift gateway that are slow, send what is none of its messages, or open without end; certificates; rules of access. */
import { readFileSync } from 'node:fs';
import { connect as connectTls } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CertificateMaker, makeCertificates } from '../pgwire/testing/certificates.ts';
import { startGateway, type TestGateway } from '../pgwire/testing/gateway.ts';
import { startTestPostgres, type TestPostgres } from '../pgwire/testing/postgres.ts';
import type { ThriftListener } from './door/listener.ts';
import { openDoor } from './testing/door.ts';
import { callMessage, DbFailure, type Fields, TestClient } from './testing/thrift-client.ts';

let pg: TestPostgres;
let certificates: CertificateMaker;
let gateway: TestGateway;
let door: ThriftListener;
let clients: TestClient[] = [];
const params: Fields = { 1: 'c', 2: '1', 3: 'barista', 4: 'barista', 5: 'barista' };
const anyone = { database: 'all', role: 'all', address: 'all', tls: 'any' } as const;

beforeAll(async () => {
  pg = await startTestPostgres();
  await pg.superuser.query("CREATE ROLE anna LOGIN PASSWORD 'anna'; CREATE ROLE ben LOGIN PASSWORD 'ben'");
  certificates = makeCertificates();
});
afterAll(async () => {
  certificates.remove();
  await pg.stop();
});
beforeEach(async () => {
  gateway = await startGateway(pg, {
    access: [
      { ...anyone, role: 'anna', method: 'reject' },
      { ...anyone, role: 'ben', tls: 'required', method: 'scram' },
      { ...anyone, role: 'ben', method: 'reject' },
      { ...anyone, method: 'scram' },
    ],
  });
  const limits = { messageTimeoutMs: 400, answerTimeoutMs: 400 };
  door = await openDoor(gateway.listener, { tls: certificates.make('server', 'localhost'), limits });
});
afterEach(async () => {
  for (const client of clients) client.close();
  clients = [];
  await door.close();
  await gateway.listener.close();
});

async function connect(tls = false): Promise<TestClient> {
  const client = await TestClient.connect({ port: door.port, tls });
  clients.push(client);
  return client;
}

async function stateOf(work: Promise<unknown>): Promise<string | null> {
  const error: unknown = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error !== null && !(error instanceof DbFailure)) throw error;
  return error?.sqlState ?? null;
}

/** Milliseconds. */
async function untilClosed({ socket }: TestClient): Promise<number> {
  const since = performance.now();
  if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve));
  return performance.now() - since;
}

async function othersAreServed(): Promise<void> {
  const client = await connect();
  const con = await client.open(params);
  expect((await client.sql(con, 'SELECT 1')).rows).toEqual([['1']]);
}

describe('the certificate', () => {
  const handshake = (authority: string, servername: string): Promise<string> =>
    new Promise((resolve) => {
      const ca = readFileSync(authority);
      const socket = connectTls({ host: '127.0.0.1', port: door.port, ca, servername });
      socket.once('secureConnect', () => resolve('believed'));
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
      socket.once('close', () => socket.destroy());
    });

  it('is believed by who knows its authority, for its own host alone', async () => {
    expect(await handshake(certificates.authority, 'localhost')).toBe('believed');
    expect(await handshake(certificates.authority, 'example.org')).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
    const other = makeCertificates();
    expect(await handshake(other.authority, 'localhost')).not.toBe('believed');
    other.remove();
  });
});

describe('rules of access', () => {
  it('hold for Thrift clients, with what their connection is', async () => {
    const as = (role: string): Fields => ({ ...params, 3: role, 4: role });
    const [plain, encrypted] = [await connect(), await connect(true)];
    expect(await stateOf(plain.open(as('anna')))).toBe('28000');
    expect(await stateOf(encrypted.open(as('anna')))).toBe('28000');
    expect(await stateOf(plain.open(as('ben')))).toBe('28000');
    expect(await stateOf(encrypted.open({ ...as('ben'), 4: 'wrong' }))).toBe('28P01');
    expect(await stateOf(encrypted.open(as('ben')))).toBeNull();
  });
});

describe('a client that', () => {
  it('trickles its request is ended in time', async () => {
    const client = await connect();
    const message = callMessage('get_version', {});
    let at = 0;
    const timer = setInterval(() => client.send(message.subarray(at, (at += 1))), 90);
    expect(await untilClosed(client)).toBeLessThan(5000);
    clearInterval(timer);
    expect(at).toBeLessThan(message.length);
    await othersAreServed();
  });

  it('does not read its answers is ended, and no more is made for it', async () => {
    const client = await connect();
    const con = await client.open(params);
    client.socket.pause();
    const big = { 1: con, 2: "SELECT repeat('x', 1000000) FROM generate_series(1, 14)", 3: [] };
    for (let asked = 0; asked < 20; asked += 1) client.send(callMessage('execute_sql', big));
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect(door.measures().requests.get('execute_sql') ?? 0).toBeLessThan(3);
    expect(door.measures().broken).toBe(1);
    await othersAreServed();
  });

  it.each([
    ['garbage', Buffer.from('GET / HTTP/1.1\r\nHost: barista\r\n\r\n')],
    ['a frame beyond the bound', Buffer.from([0x7f, 0xff, 0xff, 0xff])],
    ['zeros', Buffer.alloc(64)],
  ])('says what is no message is ended: %s', async (_what, bytes) => {
    const client = await connect();
    client.send(bytes);
    expect(await untilClosed(client)).toBeLessThan(5000);
    await othersAreServed();
  });

  it('opens and closes without end leaves nothing behind', async () => {
    const client = await connect();
    for (let opened = 0; opened < 200; opened += 1) {
      const con = await client.open(params);
      await client.call('close_connection', { 1: con });
    }
    expect(door.measures()).toMatchObject({ sessions: 0, connections: 1 });
    await othersAreServed();
  });
});
