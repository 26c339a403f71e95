/** Clients that come and go while a lock keeps their sessions from beginning: PostgreSQL lets go of no such session by itself. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Client } from 'pg';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { startGateway, type TestGateway } from './testing/gateway.ts';
import { codeOf, endSleeping, leaderAt, q, sleeping } from './testing/helpers.ts';
import { createMemoryClientService } from './testing/memory-client-service.ts';
import { followWire } from './testing/wire-client.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { startupPacket } from '../../adapters/postgres/replication/messages.ts';

const ordinaryPlaces = 24;
const slowEntryMs = 500;

const anyone = { database: 'all', role: 'all', address: 'all', tls: 'any', method: 'trust' } as const;

let pg: TestPostgres;
let gateway: TestGateway;
const warnings: object[] = [];
beforeEach(async () => {
  warnings.length = 0;
  pg = await startTestPostgres({ max_connections: '32', superuser_reserved_connections: '8' });
  for (const role of ['open', 'other']) await pg.superuser.query(`CREATE ROLE ${role} LOGIN`);
  await pg.superuser.query('CREATE DATABASE evil OWNER open');
  gateway = await startGateway(pg, {
    access: [anyone],
    limits: {
      clientsMax: ordinaryPlaces - 6,
      slowEntryMs,
      lingeringLookMs: 50,
      lingeringPerRoleMax: 10,
      clientsPerRoleMax: 16,
    },
    onWarn: (fields) => warnings.push(fields),
  });
});
afterEach(async () => {
  await gateway.listener.close();
  await pg.stop();
});

/** One that has the database to itself until it ends. */
async function lockDatabase(): Promise<Client> {
  const holder = await pg.connect('postgres');
  await holder.query('BEGIN');
  await holder.query('ALTER DATABASE evil RENAME TO worse');
  return holder;
}

/** Processes that wait for a lock. */
async function waiting(): Promise<number> {
  const { rows } = await pg.superuser.query<{ n: number }>(
    'SELECT count(DISTINCT pid)::int AS n FROM pg_locks WHERE NOT granted',
  );
  return rows[0]!.n;
}

interface Visitor {
  /** It was refused, or ended. */
  readonly isOver: boolean;
  leave(): void;
  /** It says no more, and hears yet what it is told. */
  end(): void;
}

/** Resolves when it has said who it is. */
async function come(role: string, port?: number): Promise<Visitor> {
  const socket = await reached(port);
  socket.resume().write(startupPacket({ user: role, database: 'evil' }));
  return {
    get isOver() {
      return socket.destroyed;
    },
    leave: () => socket.destroy(),
    end: () => socket.end(),
  };
}

function comeAsTen(role: string): Promise<Visitor[]> {
  return Promise.all([...Array(10).keys()].map(() => come(role)));
}

async function logInElsewhere(): Promise<unknown> {
  const client = await gateway.client({ user: 'other' });
  const { rows } = await client.query('SELECT current_user AS who');
  await client.end();
  return rows;
}

it('leave places to others, and their processes end while the lock is held', async () => {
  const holder = await lockDatabase();
  onTestFinished(() => holder.end());
  for (let round = 0; round < 6; round += 1) {
    const ten = await comeAsTen('open');
    await expect
      .poll(async () => ten.filter(({ isOver }) => isOver).length + (await waiting()))
      .toBeGreaterThanOrEqual(10);
    for (const one of ten) one.leave();
    expect(await logInElsewhere()).toEqual([{ who: 'other' }]);
    expect(await waiting()).toBeLessThan(ordinaryPlaces);
  }
  await expect.poll(waiting).toBe(0);
  expect(await logInElsewhere()).toEqual([{ who: 'other' }]);
  expect(warnings).toHaveLength(1);
  // As long as the lock is held.
  expect((await holder.query("SELECT FROM pg_database WHERE datname = 'worse'")).rowCount).toBe(1);
});

it('end with the reason of PostgreSQL where their clients are still there', async () => {
  const holder = await lockDatabase();
  onTestFinished(() => holder.end());
  const patient = codeOf(gateway.client({ user: 'open', database: 'evil' }));
  await expect.poll(waiting).toBe(1);
  const gone = await come('open');
  await expect.poll(waiting).toBe(2);
  gone.leave();
  expect(await patient).toBe('57P01');
  await expect.poll(waiting).toBe(0);
});

it('let their role in again when PostgreSQL has let go of them', async () => {
  const holder = await lockDatabase();
  const ten = await comeAsTen('open');
  await expect.poll(waiting).toBe(10);
  for (const one of ten) one.leave();
  await holder.query('ROLLBACK');
  await holder.end();
  await expect.poll(() => codeOf(connected())).toBe('connected');
});

async function connected(): Promise<never> {
  const client = await gateway.client({ user: 'open', database: 'evil' });
  await client.end();
  throw Object.assign(new Error('it has connected'), { code: 'connected' });
}

it.each(['leader', 'follower'])(
  'are forgotten where they left while they waited for their turn, at a %s, and no session begins for them',
  async (at) => {
    const narrow = { access: [anyone], limits: { clientsMax: 10, enteringMax: 1, slowEntryMs: 60_000 } };
    const leader = await startGateway(pg, narrow);
    const service = createMemoryClientService(null);
    service.setService(leaderAt(leader.listener.port));
    const follower = await startGateway(pg, { ...narrow, service });
    onTestFinished(() => follower.listener.close().then(() => leader.listener.close()));
    const { listener } = at === 'leader' ? leader : follower;
    const holder = await lockDatabase();
    const first = await come('open', listener.port);
    await expect.poll(waiting).toBe(1);
    const second = await come('open', listener.port);
    await expect.poll(() => listener.strangers).toBe(2);
    second.end();
    await expect.poll(() => second.isOver).toBe(true);
    expect(listener.strangers).toBe(1);
    await holder.end();
    await expect.poll(() => listener.clients).toBe(1);
    first.leave();
    await expect.poll(() => listener.clients).toBe(0);
    // The last in the row: nobody waits before it any more.
    const last = await come('other', listener.port);
    await expect.poll(() => listener.clients).toBe(1);
    last.leave();
    const none = { leader: 0, tunnel: 0, read: 0, statements: 0 };
    await expect.poll(() => leader.listener.measures().sessions).toEqual(none);
    expect([listener.clients, listener.strangers]).toEqual([0, 0]);
  },
);

it('are forgotten where they left while nobody led', async () => {
  const service = createMemoryClientService(null);
  const patient = { leaderWaitMs: 600_000, firstPacketTimeoutMs: 600_000 };
  const follower = await startGateway(pg, { access: [anyone], service, limits: patient });
  onTestFinished(() => follower.listener.close());
  const gone = await come('other', follower.listener.port);
  await expect.poll(() => follower.listener.strangers).toBe(1);
  gone.end();
  await expect.poll(() => gone.isOver).toBe(true);
  service.setService(leaderAt(gateway.listener.port));
  const last = await come('other', follower.listener.port);
  await expect.poll(() => follower.listener.clients).toBe(1);
  last.leave();
  await expect.poll(() => [follower.listener.clients, follower.listener.strangers]).toEqual([0, 0]);
});

it('count, too, where they have begun and execute something, until that ends', async () => {
  for (let n = 0; n < 16; n += 1) {
    const wire = followWire(await reached());
    wire.send(startupPacket({ user: 'open', database: 'evil' }));
    await wire.until('Z');
    wire.send(q('SELECT pg_sleep(1000)'));
    await expect.poll(() => sleeping(pg)).toBe(n + 1);
    wire.socket.resetAndDestroy();
    await expect.poll(() => gateway.listener.clients).toBe(0);
  }
  expect(await codeOf(connected())).toBe('53300');
  expect(await logInElsewhere()).toEqual([{ who: 'other' }]);
  const asleep = { role: 'open', database: 'evil', waitsFor: 'Timeout: PgSleep' };
  await expect
    .poll(() => gateway.listener.leftRunning().longest)
    .toEqual(Array.from({ length: 5 }, () => expect.objectContaining(asleep) as object));
  const { count, longest } = gateway.listener.leftRunning();
  expect(count).toBe(16);
  expect(gateway.listener.sessionOf(longest[0]!.pid)).toMatchObject({ role: 'open', database: 'evil' });
  await endSleeping(pg);
  await expect.poll(() => codeOf(connected())).toBe('connected');
  await expect.poll(() => gateway.listener.leftRunning()).toEqual({ count: 0, longest: [] });
});

async function reached(port = gateway.connection.port): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  return socket;
}
