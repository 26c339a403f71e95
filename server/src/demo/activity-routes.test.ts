/** With which status the routes to PostgreSQL's activity refuse. The reader is in memory. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ReplicaPlan } from './layout.ts';
import { createActivityRoutes } from './activity-routes.ts';

let server: Server;
let isThere = true;
let why: string | null = null;

beforeEach(async () => {
  const routes = createActivityRoutes(
    { plan: (id) => (id === 'r1' ? ({ id, dir: '/d' } as unknown as ReplicaPlan) : null) },
    {
      read: () => Promise.reject(new Error('its PostgreSQL is not running')),
      end: async () => isThere,
      countStatements: async () => why,
    },
  );
  const app = express();
  app.get('/:replica', routes.read);
  app.post('/:replica/end', express.json(), routes.end);
  app.post('/:replica/statements', routes.countStatements);
  server = createServer(app).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
});
afterEach(() => void server.close());

async function statusOf(path: string, body?: object): Promise<number> {
  const { port } = server.address() as AddressInfo;
  const init =
    body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  return (await fetch(`http://127.0.0.1:${port}${path}`, init)).status;
}

it('a body that makes no sense is 400, a session that is gone 409, a replica that is not there 404, one that cannot tell 503', async () => {
  expect(await statusOf('/r1/end', { pid: 0, how: 'cancel' })).toBe(400);
  expect(await statusOf('/r1/end', { pid: 7, how: 'cancel' })).toBe(200);
  isThere = false;
  expect(await statusOf('/r1/end', { pid: 7, how: 'cancel' })).toBe(409);
  expect(await statusOf('/r9/end', { pid: 7, how: 'cancel' })).toBe(404);
  expect(await statusOf('/r1')).toBe(503);
});

it('statements are counted when that is asked for, at the leader', async () => {
  expect(await statusOf('/r1/statements', {})).toBe(200);
  why = 'This is a standby.';
  expect(await statusOf('/r1/statements', {})).toBe(409);
});
