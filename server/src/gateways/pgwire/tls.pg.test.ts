/** TLS with clients, and between gateways. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sslRequest } from './codec/startup.ts';
import { defaultAccess } from './login/access-rules.ts';
import { type CertificateMaker, makeCertificates } from './testing/certificates.ts';
import { doorOf, startGateway, type TestGateway } from './testing/gateway.ts';
import {
  backends,
  cancelPacket,
  codeOf,
  failure,
  keyOf,
  leaderAt,
  settled,
  sleeping,
} from './testing/helpers.ts';
import { createMemoryClientService } from './testing/memory-client-service.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { startup } from './testing/startup.ts';
import { followWire } from './testing/wire-client.ts';
import type { TlsFiles } from './tls/tls-identity.ts';

let pg: TestPostgres;
let certificates: CertificateMaker;
let files: TlsFiles & { readonly clientAuthority: string };
let gateway: TestGateway;
let told: { info: object[]; warn: { reason?: string }[] };
let cleanUp: (() => void)[] = [];

const anyone = { database: 'all', role: 'all', address: 'all', tls: 'any' } as const;

beforeAll(async () => {
  pg = await startTestPostgres();
  await pg.superuser.query("CREATE ROLE anna LOGIN PASSWORD 'anna'; CREATE ROLE ben LOGIN PASSWORD 'ben'");
  certificates = makeCertificates();
  files = { ...certificates.make('server', 'localhost'), clientAuthority: certificates.authority };
});
afterAll(async () => {
  certificates.remove();
  await pg.stop();
});
beforeEach(async () => {
  told = { info: [], warn: [] };
  gateway = await startGateway(pg, {
    tls: files,
    access: [{ ...anyone, role: 'ben', method: 'certificate' }, ...defaultAccess(true)],
    limits: { certificateLookMs: 20, leaderWaitMs: 300 },
    onInfo: (fields) => told.info.push(fields),
    onWarn: (fields) => told.warn.push(fields),
  });
});
afterEach(async () => {
  for (const each of cleanUp) each();
  cleanUp = [];
  await gateway.listener.close();
});

/** What psql prints, or its complaint. */
function psql(options: string, sql = 'SELECT 1', port = gateway.connection.port): Promise<string> {
  const place = `host=localhost hostaddr=127.0.0.1 port=${port} dbname=barista ${options}`;
  const env = { ...process.env, PGCONNECT_TIMEOUT: '20' };
  return new Promise((resolve) => {
    execFile('psql', [place, '-XAtc', sql], { env, maxBuffer: 1 << 26 }, (_, stdout, stderr) =>
      resolve((stdout + stderr).trim()),
    );
  });
}

function asAnna(more: string): string {
  return `user=anna password=anna sslrootcert=${certificates.authority} ${more}`;
}

function open(port = gateway.connection.port): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  cleanUp.push(() => socket.destroy());
  return socket;
}

/** As far as TLS. */
async function encrypted(protocols?: string[]): Promise<TLSSocket> {
  const socket = open();
  socket.write(sslRequest);
  expect(String(await once(socket, 'data'))).toBe('S');
  const secure = connectTls({
    socket,
    rejectUnauthorized: false,
    ...(protocols ? { ALPNProtocols: protocols } : {}),
  });
  await once(secure, 'secureConnect');
  return secure;
}

async function untilClosed(socket: Socket): Promise<string> {
  let said = '';
  socket.on('data', (chunk: Buffer) => {
    said += chunk.toString('latin1');
  });
  socket.on('error', () => {});
  if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve));
  return said;
}

/** Between two ends. `onClient` says what passes of what the client says. */
async function between(
  port: number,
  onClient: (bytes: Buffer, reply: Socket) => Buffer | null,
): Promise<number> {
  const server: Server = createServer((client) => {
    const there = connect(port, '127.0.0.1');
    for (const socket of [client, there]) socket.on('error', () => {});
    client.on('data', (bytes: Buffer) => {
      const on = onClient(bytes, client);
      if (on !== null) there.write(on);
    });
    there.pipe(client);
    client.on('close', () => there.destroy());
    there.on('close', () => client.destroy());
    cleanUp.push(() => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUp.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Somebody in between who has a certificate of the authority, and reads all. */
async function thief(file: string): Promise<number> {
  const { certificate, key } = certificates.make(file, 'localhost');
  const inner = createTlsServer({ key: readFileSync(key), cert: readFileSync(certificate) });
  inner.on('secureConnection', (client) => {
    void encrypted().then((there) => {
      for (const socket of [client, there]) socket.on('error', () => {});
      client.pipe(there).pipe(client);
    });
  });
  const outer = createServer((client) => {
    client.on('error', () => {});
    client.once('data', () => {
      client.write('S');
      inner.emit('connection', client);
    });
  });
  await new Promise<void>((resolve) => outer.listen(0, '127.0.0.1', resolve));
  cleanUp.push(() => outer.close());
  return (outer.address() as AddressInfo).port;
}

describe('a client over TLS', () => {
  it('of psql is sure of the server, and binds its proof to the certificate', async () => {
    expect(await psql(asAnna('sslmode=verify-full channel_binding=require'), 'SELECT session_user')).toBe(
      'anna',
    );
    expect(
      await psql(asAnna('sslmode=verify-full').replace('anna password=anna', 'anna password=no')),
    ).toContain('password authentication failed');
    expect(await psql(asAnna('sslmode=disable'))).toBe('1');
  });

  it('gets answers of any size, and may stop sending before it is answered', async () => {
    const sql = "SELECT repeat('x', 3000000) FROM generate_series(1, 5)";
    const answer = await psql(asAnna('sslmode=require'), sql);
    expect(answer).toBe(Array(5).fill('x'.repeat(3_000_000)).join('\n'));
    const client = await gateway.client({ ssl: { rejectUnauthorized: false } });
    expect((await client.query('SELECT length($1::text) AS n', ['y'.repeat(5_000_000)])).rows).toEqual([
      { n: 5_000_000 },
    ]);
    await client.end();
    await expect.poll(() => [gateway.listener.clients, gateway.listener.strangers]).toEqual([0, 0]);
    expect(await backends(pg)).toBe(0);
  });

  it('may cancel over TLS what it runs', async () => {
    const client = await gateway.client({ ssl: { rejectUnauthorized: false } });
    const cancelled = codeOf(client.query('SELECT pg_sleep(20)'));
    await expect.poll(() => sleeping(pg)).toBe(1);
    const secure = await encrypted();
    secure.end(cancelPacket(keyOf(client)));
    expect(await cancelled).toBe('57014');
    await client.end();
  });

  it('may begin with TLS at once if it names the protocol, and not otherwise', async () => {
    const { port } = gateway.connection;
    const direct = (ALPNProtocols: string[]): TLSSocket => {
      const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols });
      socket.on('error', () => {});
      cleanUp.push(() => socket.destroy());
      return socket;
    };
    const wire = followWire(direct(['postgresql']));
    wire.send(startup({ user: 'anna', database: 'barista' }));
    expect((await wire.until('R'))[0]?.bytes.toString('latin1')).toContain('SCRAM-SHA-256-PLUS');
    expect(await untilClosed(direct([]))).toBe('');
    expect(await untilClosed(direct(['http/1.1']))).toBe('');
  });

  it('is not taken in by somebody in between who has another certificate', async () => {
    const options = asAnna('sslmode=verify-full channel_binding=require');
    expect(await psql(options, 'SELECT 1', await thief('other'))).toContain(
      'SCRAM channel binding check failed',
    );
  });
});

describe('a certificate of the client', () => {
  it('lets it in as the role that it names, and as no other', async () => {
    const ben = certificates.make('ben', 'ben');
    const anna = certificates.make('anna', 'anna');
    const stranger = makeCertificates();
    const forged = stranger.make('ben', 'ben');
    const as = (user: string, { certificate, key }: { certificate: string; key: string }): Promise<string> =>
      psql(
        `user=${user} sslmode=verify-full sslrootcert=${certificates.authority} sslcert=${certificate} sslkey=${key}`,
        'SELECT session_user',
      );
    expect(await as('ben', ben)).toBe('ben');
    const refused = 'certificate authentication failed for user "ben"';
    expect(await as('ben', anna)).toContain(refused);
    expect(await as('ben', forged)).toContain(refused);
    expect(await psql('user=ben password=ben sslmode=require')).toContain(refused);
    expect(await psql('user=ben password=ben sslmode=disable')).toContain(refused);
    stranger.remove();
  });
});

describe('certificates of the gateway', () => {
  it('are changed without a restart; files that are wrong change nothing, and are told', async () => {
    const own = certificates.make('own', 'localhost');
    const changing = await startGateway(pg, {
      tls: own,
      limits: { certificateLookMs: 20 },
      onInfo: (fields) => told.info.push(fields),
      onWarn: (fields) => told.warn.push(fields),
    });
    const { port } = changing.connection;
    const shown = async (): Promise<string> => {
      const socket = connectTls({
        host: '127.0.0.1',
        port,
        rejectUnauthorized: false,
        ALPNProtocols: ['postgresql'],
      });
      socket.on('error', () => {});
      await once(socket, 'secureConnect');
      const { fingerprint256 } = socket.getPeerCertificate();
      socket.destroy();
      return fingerprint256;
    };
    const first = await shown();
    const client = await changing.client({ ssl: { rejectUnauthorized: false } });
    const next = certificates.make('next', 'localhost');
    // The key comes later: until then the two do not belong together.
    copyFileSync(next.certificate, own.certificate);
    await expect.poll(() => told.warn.at(-1)?.reason).toContain('is not the key of the certificate');
    expect(await shown()).toBe(first);
    copyFileSync(next.key, own.key);
    await expect.poll(shown).not.toBe(first);
    const second = await shown();
    writeFileSync(own.certificate, 'nothing');
    await expect.poll(() => told.warn.at(-1)?.reason).toContain('holds no certificate');
    expect(await shown()).toBe(second);
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await client.end();
    await changing.listener.close();
  });

  it('that are wrong from the beginning are an error that names the file', async () => {
    const missing = startGateway(pg, { tls: { ...files, key: '/nowhere/key' } });
    await expect(missing).rejects.toThrow('cannot read /nowhere/key');
  });
});

describe('somebody in between', () => {
  it.each([sslRequest, Buffer.concat([sslRequest, sslRequest])])(
    'can put nothing behind a request for encryption that counts as said in confidence: %#',
    async (request) => {
      const socket = open();
      socket.write(Buffer.concat([request, startup({ user: 'anna', database: 'barista' })]));
      const said = await untilClosed(socket);
      expect(said).toContain('C08P01');
      expect(said).toContain('received unencrypted data after SSL request');
    },
  );

  it('can say nothing in the clear once encryption is agreed on', async () => {
    const socket = open();
    socket.write(sslRequest);
    await once(socket, 'data');
    socket.write(startup({ user: 'anna', database: 'barista' }));
    const said = await untilClosed(socket);
    // No more than an alert of TLS.
    expect(said.length).toBeLessThan(16);
    await expect.poll(() => gateway.listener.strangers).toBe(0);
  });

  it('cannot have it encrypted twice', async () => {
    const secure = await encrypted();
    secure.write(sslRequest);
    expect(await untilClosed(secure)).toContain('encryption was asked for again');
  });
});

describe('connections that do not finish agreeing on TLS', () => {
  it('are ended after a while, and do not keep anybody out', async () => {
    const crowded = await startGateway(pg, {
      tls: files,
      limits: { openingMax: 50, firstPacketTimeoutMs: 1_000, handshakeTimeoutMs: 500 },
    });
    const crowd = [...Array(150).keys()].map((n) => {
      const socket = open(crowded.connection.port);
      socket.write(sslRequest);
      if (n % 2 === 0) socket.once('data', () => socket.write(Buffer.from([0x16, 3, 1, 0, 200, 1])));
      return untilClosed(socket);
    });
    await expect.poll(() => crowded.listener.strangers).toBeGreaterThanOrEqual(50);
    expect(crowded.listener.strangers).toBeLessThanOrEqual(51);
    const client = await crowded.client({ ssl: { rejectUnauthorized: false } });
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await client.end();
    await Promise.all(crowd);
    await expect.poll(() => crowded.listener.strangers).toBe(0);
    await crowded.listener.close();
  });
});

describe('connections that ask for TLS and begin no handshake', () => {
  it.each([
    ['say nothing', Buffer.alloc(0)],
    ['say a part of a ClientHello', Buffer.from([22, 3, 1, 1, 0, 1, 0, 0])],
    ['say something else', Buffer.from([22, 3, 1, 0, 2, 2, 0])],
  ])('cost no turn: they %s', async (_, said) => {
    const slow = await startGateway(pg, {
      tls: files,
      limits: { handshakesAtOnce: 1, handshakeEveryMs: 3_600_000 },
    });
    for (let n = 0; n < 5; n += 1) {
      const socket = open(slow.connection.port);
      socket.write(sslRequest);
      await once(socket, 'data');
      socket.write(said);
      await settled();
    }
    const client = await slow.client({ ssl: { rejectUnauthorized: false } });
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await client.end();
    await slow.listener.close();
  });

  it('may say their ClientHello byte by byte', async () => {
    const port = gateway.connection.port;
    const cable = createServer((near) => {
      const far = connect(port, '127.0.0.1');
      far.setNoDelay(true);
      let sending: Promise<unknown> = Promise.resolve();
      near.on('data', (chunk: Buffer) => {
        for (const byte of chunk) {
          sending = sending.then(() => far.write(Buffer.from([byte]))).then(() => new Promise(setImmediate));
        }
      });
      far.pipe(near);
      near.on('error', () => far.destroy()).on('close', () => far.destroy());
      far.on('error', () => near.destroy());
    }).listen(0, '127.0.0.1');
    await once(cable, 'listening');
    cleanUp.push(() => cable.close());
    const client = new Client({
      ...gateway.connection,
      port: (cable.address() as AddressInfo).port,
      ssl: { rejectUnauthorized: false },
    });
    await client.connect();
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await client.end();
  });
});

describe('between gateways', () => {
  async function followerOf(port: number): Promise<TestGateway> {
    const service = createMemoryClientService(null);
    service.setService(leaderAt(port));
    service.setStandby(doorOf(pg));
    const follower = await startGateway(pg, { service, tls: certificates.make('follower', 'localhost') });
    cleanUp.push(() => void follower.listener.close());
    return follower;
  }

  it('nothing is readable on the way, and a client binds to the certificate of the gateway that it came to', async () => {
    let seen = '';
    const port = await between(gateway.connection.port, (bytes) => {
      seen += bytes.toString('latin1');
      return bytes;
    });
    const follower = await followerOf(port);
    const place = follower.connection.port;
    const options = asAnna('sslmode=verify-full channel_binding=require');
    expect(await psql(options, "SELECT 'a secret'", place)).toBe('a secret');
    follower.service.setStandby(null);
    expect(await psql(options, "SELECT 'a secret'", place)).toBe('a secret');
    const client = await follower.client({ ssl: { rejectUnauthorized: false } });
    const cancelled = codeOf(client.query('SELECT pg_sleep(20)'));
    await expect.poll(() => sleeping(pg)).toBe(1);
    const packet = cancelPacket(keyOf(client));
    open(place).end(packet);
    expect(await cancelled).toBe('57014');
    await client.end();
    expect(seen).not.toContain(packet.subarray(8).toString('latin1'));
    expect(seen.length).toBeGreaterThan(500);
    expect(seen).not.toMatch(/secret|anna|barista/);
  });

  it('encryption cannot be declined by somebody in between', async () => {
    const port = await between(gateway.connection.port, (bytes, reply) => {
      if (!bytes.equals(sslRequest)) return bytes;
      reply.write('N');
      return null;
    });
    const error = await failure((await followerOf(port)).client());
    expect([error.code, error.detail]).toEqual(['08001', 'a proxy in between prevents encryption']);
  });

  it('somebody in between with a certificate of the same authority is noticed', async () => {
    const follower = await followerOf(await thief('between'));
    const error = await failure(follower.client());
    expect([error.code, error.detail]).toEqual([
      '08001',
      'the server there does not know the cluster secret, or a proxy in between has another certificate',
    ]);
  });
});
