/** Pages of other sites that would have a browser wipe a disk of the demo, run SQL there, or look on. */
import { request, type OutgoingHttpHeaders } from 'node:http';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { FaultRequest } from '../api/status.ts';
import { type DemoServer, startDemoServer } from './demo-server.ts';
import type { Supervisor } from './supervisor.ts';

let server: DemoServer;
let done: unknown[];

beforeEach(async () => {
  done = [];
  const supervisor = {
    monitors: () => [],
    cluster: () => [],
    plan: () => ({ id: 'r1' }),
    refresh: () => Promise.resolve(),
    fault: (wanted: FaultRequest) => {
      done.push(wanted);
      return Promise.resolve({ ok: true, message: 'done' });
    },
  } as unknown as Supervisor;
  server = await startDemoServer({
    port: 0,
    supervisor,
    clusterSecret: 'a secret of the cluster',
    runSql: (_plan, sql) => {
      done.push(sql);
      return Promise.resolve({ error: { code: '42601', message: 'no' } }) as ReturnType<
        Parameters<typeof startDemoServer>[0]['runSql']
      >;
    },
    dashboard: () => null,
    logger: pino({ level: 'silent' }),
  });
});
afterEach(() => server.close());

function send(path: string, headers: OutgoingHttpHeaders, body: unknown): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { host: '127.0.0.1', port: server.port, path, method: 'POST', headers, agent: false },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    outgoing.on('error', reject);
    outgoing.end(JSON.stringify(body));
  });
}

function watch(headers: Record<string, string>): Promise<string> {
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/api/stream`, { headers });
  return new Promise((resolve) => {
    socket.on('open', () => {
      socket.terminate();
      resolve('open');
    });
    socket.on('error', (error) => resolve(error.message));
  });
}

const wipe = { action: 'wipe', replica: 'r1', what: 'both' };
const sql = { replica: 'r1', sql: 'DROP TABLE t' };
const json = { 'content-type': 'application/json' };

describe('a page of another site', () => {
  it.each<[string, Record<string, string>]>([
    ['of another name', { origin: 'http://evil.example' }],
    ['of another port of this machine', { origin: 'http://127.0.0.1:3000' }],
    ['of no name, as a file or a sandbox', { origin: 'null' }],
    ['whose name was made to resolve to this machine', { host: 'evil.example' }],
    ['that says so of itself, too', { host: 'evil.example', origin: 'http://evil.example' }],
    ['whose browser names no origin', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }],
    [
      'on another port, whose browser names no origin',
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' },
    ],
  ])('%s, wipes no disk, runs no SQL and sees nothing', async (_which, headers) => {
    expect(await send('/api/fault', { ...json, ...headers }, wipe)).toBe(403);
    expect(await send('/api/sql', { ...json, ...headers }, sql)).toBe(403);
    expect(await watch(headers)).toMatch(/403/);
    expect(done).toEqual([]);
  });

  it('can have a form sent, which is no request that is understood', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
      expect(await send('/api/fault', { 'content-type': type }, wipe)).toBe(400);
    expect(done).toEqual([]);
  });
});

it('this page, and the command line, are understood', async () => {
  const own = { ...json, origin: `http://localhost:${server.port}`, host: `localhost:${server.port}` };
  expect(
    await send('/api/fault', { ...own, 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }, wipe),
  ).toBe(200);
  expect(await send('/api/fault', json, wipe)).toBe(200);
  expect(done).toEqual([wipe, wipe]);
  expect(await watch({})).toBe('open');
});

it('headers that are too large are refused', async () => {
  expect(await send('/api/fault', { ...json, padding: 'x'.repeat(20_000) }, wipe)).toBe(431);
});
