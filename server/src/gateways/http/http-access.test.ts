/** The operator's doors, as those find them who should not get in. */
import { once } from 'node:events';
import { type IncomingMessage, request as plainRequest, type RequestOptions } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { readCertificates } from '../../adapters/tls-files/read-certificates.ts';
import { CertificateFolder, testAuthority } from '../../adapters/tls-files/testing/certificate-folder.ts';
import { openTlsFiles } from '../../adapters/tls-files/tls-files.ts';
import { type HttpGatewayOptions, startHttpGateway } from './http-gateway.ts';
import { createMetrics } from './metrics.ts';
import { createOperatorAccess } from './operator-access.ts';
import { fakeReplica } from './testing/fake-replica.ts';

const token = 'the right one';
const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end();
});

async function start(options: Partial<HttpGatewayOptions> = {}) {
  const replica = fakeReplica('r1');
  let nowMs = 0;
  const wrong: unknown[] = [];
  const gateway = await startHttpGateway({
    listen: { host: '127.0.0.1', port: 0, names: ['db1.example'] },
    replica,
    metrics: createMetrics(() => replica.status()),
    faultsAllowed: true,
    access: createOperatorAccess({
      tokens: () => ['another', token],
      nowMs: () => nowMs,
      onWrong: (from) => wrong.push(from),
    }),
    open: 'health',
    logger: pino({ level: 'silent' }),
    ...options,
  });
  endings.push(() => gateway.close());
  return { replica, port: gateway.port, wrong, pass: (ms: number) => (nowMs += ms) };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** Unlike fetch, with any headers. */
function ask(
  port: number,
  path: string,
  {
    headers = {},
    method = 'GET',
    body,
    ...options
  }: RequestOptions & ConnectionOptions & { readonly body?: string; readonly tls?: boolean } = {},
): Promise<Answer> {
  const { tls = false, ...rest } = options as { tls?: boolean };
  return new Promise((resolve, reject) => {
    const send = tls ? tlsRequest : plainRequest;
    const outgoing = send(
      { host: '127.0.0.1', port, path, method, headers, agent: false, ...rest },
      (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

const bearing = (value: string) => ({ headers: { authorization: `Bearer ${value}` } });
const guarded: readonly (readonly [string, string])[] = [
  ['GET', '/api/status'],
  ['GET', '/api/latencies'],
  ['GET', '/api/log/17'],
  ['GET', '/api/backup'],
  ['GET', '/api/nothing'],
  ['GET', '/api//status'],
  ['GET', '/API/status'],
  ['GET', '/metrics'],
  ['GET', '/metrics/'],
  ['POST', '/api/faults'],
  ['POST', '/api/members'],
  ['POST', '/api/verify'],
  ['POST', '/api/leader/transfer'],
  ['POST', '/api/sessions/end'],
];

function upgrade(port: number, headers: Record<string, string>, path = '/api/events'): Promise<string> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
  endings.push(() => socket.terminate());
  return new Promise((resolve) => {
    socket.on('open', () => resolve('open'));
    socket.on('error', (error) => resolve(error.message));
  });
}

describe('without a token', () => {
  it('there is nothing but whether the replica is well', async () => {
    const { port, replica } = await start();
    expect((await ask(port, '/healthz')).status).toBe(200);
    expect(JSON.parse((await ask(port, '/readyz')).text)).toEqual({ ready: true, state: 'serving' });
    for (const [method, path] of guarded) {
      const { status, text, headers } = await ask(port, path, { method });
      expect([path, status, headers['www-authenticate']]).toEqual([path, 401, 'Bearer']);
      expect(text).not.toContain(replica.status().group);
    }
    expect(await upgrade(port, {})).toMatch(/401/);
  });

  it.each([
    '',
    'Bearer',
    'Bearer ',
    'Bearer wrong',
    `Bearer ${token} `,
    `bearer ${token}x`,
    `Basic ${token}`,
    token,
  ])('nor with one that is none: %j', async (authorization) => {
    const { port } = await start();
    expect((await ask(port, '/api/status', { headers: { authorization } })).status).toBe(
      authorization === `Bearer ${token} ` ? 200 : 401,
    );
  });

  it('metrics are answered where the configuration says so, and nothing else', async () => {
    const { port } = await start({ open: 'metrics' });
    expect((await ask(port, '/metrics')).text).toContain('barista_commit_point');
    expect((await ask(port, '/api/status')).status).toBe(401);
  });

  it('load balancers may call it anything', async () => {
    const { port } = await start();
    for (const host of ['anything.example', '???'])
      expect((await ask(port, '/readyz', { headers: { host } })).status).toBe(200);
  });
});

describe('with a token', () => {
  it('an operator gets what is there, and the stream of events, which needs no Origin', async () => {
    const { port } = await start();
    expect((await ask(port, '/api/status', bearing(token))).status).toBe(200);
    expect((await ask(port, '/metrics', bearing('another'))).status).toBe(200);
    expect(await upgrade(port, { authorization: `Bearer ${token}` })).toBe('open');
    expect(await upgrade(port, { authorization: `Bearer ${token}` }, '/api/other')).toMatch(/404/);
  });

  it('is never taken from a URL', async () => {
    const { port } = await start();
    for (const path of [`/api/status?token=${token}`, `/api/status?a=1&access_token=${token}`]) {
      const { status, text } = await ask(port, encodeURI(path));
      expect([status, text]).toEqual([400, expect.stringMatching(/does not belong into a URL/)]);
      expect((await ask(port, encodeURI(path), bearing(token))).status).toBe(400);
    }
    expect(await upgrade(port, {}, `/api/events?token=x`)).toMatch(/400/);
  });

  it('guesses are slowed down, for a moment, and told; right tokens are not', async () => {
    const { port, wrong, pass } = await start();
    for (let n = 0; n < 30; n += 1) expect((await ask(port, '/api/status', bearing(token))).status).toBe(200);
    for (let n = 0; n < 10; n += 1)
      expect((await ask(port, '/api/status', bearing(`guess ${n}`))).status).toBe(401);
    const held = await ask(port, '/api/status', bearing('guess 11'));
    expect([held.status, held.headers['retry-after']]).toEqual([429, '1']);
    expect(await upgrade(port, { authorization: 'Bearer guess' })).toMatch(/429/);
    expect(wrong).toHaveLength(10);
    // Whoever guesses may share the operator's address.
    expect((await ask(port, '/api/status', bearing(token))).status).toBe(200);
    expect(await upgrade(port, { authorization: `Bearer ${token}` })).toBe('open');
    pass(1000);
    expect((await ask(port, '/api/status', bearing('guess 12'))).status).toBe(401);
    // Whoever shows none guesses nothing.
    expect((await ask(port, '/api/status')).status).toBe(401);
  });
});

describe('a page of another site', () => {
  const right = { authorization: `Bearer ${token}` };

  it('wipes nothing and reads nothing, whatever it has a browser send', async () => {
    const { port, replica } = await start({ open: 'all' });
    const cut = JSON.stringify({ faults: [{ from: 'r1', to: 'r2', cut: true }] });
    const json = { 'content-type': 'application/json' };
    for (const headers of [
      { origin: 'http://evil.example', ...json },
      { origin: 'null', ...json },
      { origin: `http://localhost:3000`, ...json },
      { host: 'evil.example', ...json },
      { host: `evil.example:${port}`, origin: `http://evil.example:${port}`, ...json },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', ...json },
    ]) {
      expect((await ask(port, '/api/faults', { method: 'POST', headers, body: cut })).status).toBe(403);
      expect((await ask(port, '/api/status', { headers })).status).toBe(403);
      const { 'content-type': _type, ...plain } = headers;
      expect(await upgrade(port, plain)).toMatch(/403/);
    }
    // What a form can send without asking is no request of this server's.
    const form = { 'content-type': 'text/plain' };
    expect((await ask(port, '/api/faults', { method: 'POST', headers: form, body: cut })).status).toBe(400);
    expect(replica.status().faults).toEqual([]);
  });

  it('is refused though it had the token', async () => {
    const { port } = await start();
    expect((await ask(port, '/api/status', { headers: { ...right, host: 'evil.example' } })).status).toBe(
      403,
    );
    expect((await ask(port, '/api/status', { headers: { ...right, host: 'db1.example' } })).status).toBe(200);
    expect(await upgrade(port, { ...right, origin: 'http://evil.example' })).toMatch(/403/);
  });
});

describe('headers', () => {
  it('that are too large end with the connection', async () => {
    const { port } = await start();
    const { status } = await ask(port, '/healthz', { headers: { padding: 'x'.repeat(20_000) } });
    expect(status).toBe(431);
    expect((await ask(port, '/healthz')).status).toBe(200);
  });

  it('of which there are two kinds at once, or two lengths, are refused', async () => {
    const { port } = await start();
    const socket = connectPlain(port, '127.0.0.1');
    endings.push(() => socket.destroy());
    socket.write(
      'POST /api/verify HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    );
    const [data] = (await once(socket, 'data')) as [Buffer];
    expect(data.toString()).toMatch(/^HTTP\/1\.1 400/);
  });
});

describe('over TLS', () => {
  async function secured() {
    const folder = await CertificateFolder.make();
    endings.push(() => folder.remove());
    const paths = await folder.write('web', { names: ['localhost', '127.0.0.1'] });
    const log = { info() {}, warn() {}, error() {} };
    const files = await openTlsFiles({
      name: 'http.tls',
      paths: { ...paths, isMutual: false },
      log,
      everyMs: 3_600_000,
    });
    endings.push(() => files.close());
    const { certificate: ca } = await testAuthority('ours');
    return { folder, files, ca, ...(await start({ tls: files })) };
  }

  it('a token is as good as without it, and plain HTTP is not answered', async () => {
    const { port, ca } = await secured();
    expect((await ask(port, '/healthz', { tls: true, ca })).status).toBe(200);
    expect((await ask(port, '/api/status', { tls: true, ca })).status).toBe(401);
    expect((await ask(port, '/api/status', { tls: true, ca, ...bearing(token) })).status).toBe(200);
    await expect(ask(port, '/healthz')).rejects.toThrow(/socket hang up|ECONNRESET/);
  });

  it('a certificate of the authority is as good as a token, and no other is', async () => {
    const { port, ca, folder } = await secured();
    const ours = await readCertificates(await folder.write('operator'));
    const theirs = await readCertificates(await folder.write('stranger', { authority: 'theirs' }));
    const showing = ({ certificate: cert, key }: typeof ours) =>
      ask(port, '/api/status', { tls: true, ca, cert, key });
    expect((await showing(ours)).status).toBe(200);
    expect((await showing(theirs)).status).toBe(401);
  });

  it('nobody becomes an operator by coming again with the session of a connection that showed no certificate', async () => {
    const { port, ca } = await secured();
    const come = async (
      session?: Buffer,
    ): Promise<{ readonly socket: TLSSocket; readonly said: string; readonly sessions: Buffer[] }> => {
      const socket = connectTls({
        port,
        host: '127.0.0.1',
        ca,
        ...(session === undefined ? {} : { session }),
      });
      endings.push(() => socket.destroy());
      const sessions: Buffer[] = [];
      socket.on('session', (next: Buffer) => sessions.push(next));
      await once(socket, 'secureConnect');
      socket.write('GET /api/status HTTP/1.1\r\nhost: localhost\r\n\r\n');
      const [data] = (await once(socket, 'data')) as [Buffer];
      return { socket, said: data.toString().slice(0, 12), sessions };
    };
    const first = await come();
    const second = await come(first.sessions.at(-1));
    expect([first.said, second.said]).toEqual(['HTTP/1.1 401', 'HTTP/1.1 401']);
  });

  it('new certificates are shown from the next connection on', async () => {
    const { port, ca, folder, files } = await secured();
    const shown = async (): Promise<string> => {
      const socket = connectTls({ port, host: '127.0.0.1', ca });
      endings.push(() => socket.destroy());
      await once(socket, 'secureConnect');
      return socket.getPeerCertificate().subjectaltname ?? '';
    };
    expect(await shown()).toContain('localhost');
    await folder.write('web', { names: ['db1.example', '127.0.0.1'] });
    await files.look();
    expect(await shown()).toContain('db1.example');
  });
});
