/** The demo's load at a real PostgreSQL behind a real gateway, with a replica beside it that takes connections and never says a word. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../gateways/pgwire/testing/gateway.ts';
import { startTestPostgres, type TestPostgres } from '../../gateways/pgwire/testing/postgres.ts';
import type { ReplicaPlan } from '../layout.ts';
import { DemoLoad } from './load.ts';

const settings = { isRunning: true, clients: 3, perSecond: 60, readShare: 0 };

let pg: TestPostgres;
let gateway: TestGateway;
let silent: Server;
let load: DemoLoad;
const taken = new Set<Socket>();

beforeEach(async () => {
  pg = await startTestPostgres();
  gateway = await startGateway(pg);
  await pg.superuser.query('GRANT CREATE ON DATABASE barista TO barista');
  silent = createServer((socket) => {
    taken.add(socket);
    socket.on('error', () => {});
  }).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const silentPort = (silent.address() as AddressInfo).port;
  const plans = [gateway.connection.port, gateway.connection.port, silentPort].map(
    (pgwirePort, index) => ({ id: `r${index + 1}`, pgwirePort }) as unknown as ReplicaPlan,
  );
  load = new DemoLoad({ plans, payload: 'statements', settings });
});
afterEach(async () => {
  const stopped = load.stop();
  for (const socket of taken) socket.destroy();
  await stopped;
  silent.close();
  await gateway.listener.close();
  await pg.stop();
});

const acknowledged = (): number => load.status().counts.acknowledged;

it('goes on at once when it is watched again, though a look and a client hang', async () => {
  load.hold(false);
  await expect.poll(acknowledged).toBeGreaterThan(10);
  await expect.poll(() => taken.size).toBeGreaterThan(1);
  load.hold(true);
  const isResting = async (): Promise<boolean> => {
    const sofar = acknowledged();
    await new Promise((resolve) => setTimeout(resolve, 300));
    return acknowledged() === sofar;
  };
  await expect.poll(isResting).toBe(true);
  const rested = acknowledged();
  load.hold(false);
  await expect.poll(acknowledged).toBeGreaterThan(rested + 3);
});

it('has as many clients as it is set to, from now on', async () => {
  load.hold(false);
  const writers = async (): Promise<number> => {
    const { rows } = await pg.superuser.query<{ n: number }>(
      'SELECT count(DISTINCT client)::int AS n FROM lab.load WHERE id > (SELECT max(id) FROM lab.load) - 8',
    );
    return rows[0]?.n ?? 0;
  };
  await expect.poll(acknowledged).toBeGreaterThan(10);
  load.set({ ...settings, clients: 1 });
  await expect.poll(writers).toBe(1);
  load.set({ ...settings, clients: 6 });
  await expect.poll(writers).toBeGreaterThan(3);
});
