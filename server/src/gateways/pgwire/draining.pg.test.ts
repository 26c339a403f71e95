/** Clients of a leader that hands over: what they have begun is answered, and nothing new is begun. */
import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from './testing/gateway.ts';
import { leaderAt, sleep, sleeping } from './testing/helpers.ts';
import { createMemoryClientService } from './testing/memory-client-service.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';

let pg: TestPostgres;
let leader: TestGateway;
let follower: TestGateway;

beforeAll(async () => {
  pg = await startTestPostgres();
});
afterAll(() => pg.stop());
beforeEach(async () => {
  leader = await startGateway(pg);
  const service = createMemoryClientService(null);
  service.setService(leaderAt(leader.connection.port));
  follower = await startGateway(pg, { service });
});
afterEach(async () => {
  await follower.listener.close();
  await leader.listener.close();
});

function drain(): void {
  leader.service.setService({ kind: 'nowhere', reason: 'it hands over', drains: 1 });
}

/** With what its connection was ended; null: it was not. */
function endOf(client: Client): { code: string | null } {
  const end: { code: string | null } = { code: null };
  client.on('error', (error: Error & { code?: string }) => (end.code ??= error.code ?? 'closed'));
  return end;
}

describe.each(['leader', 'follower'] as const)('while the leader hands over, a client of the %s', (which) => {
  const gateway = (): TestGateway => (which === 'leader' ? leader : follower);

  it('that is idle is told to reconnect', async () => {
    const end = endOf(await gateway().client());
    drain();
    await expect.poll(() => end.code).toBe('57P01');
  });

  it('has what it asked answered, and is told to reconnect behind it', async () => {
    const client = await gateway().client();
    const end = endOf(client);
    const asked = client.query('SELECT pg_sleep(0.5), 1 AS one');
    await expect.poll(() => sleeping(pg)).toBe(1);
    drain();
    expect((await asked).rows).toMatchObject([{ one: 1 }]);
    await expect.poll(() => end.code).toBe('57P01');
  });

  it('ends its transaction first', async () => {
    const client = await gateway().client();
    const end = endOf(client);
    await client.query('BEGIN');
    drain();
    await sleep(100);
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    expect(end.code).toBeNull();
    await client.query('COMMIT');
    await expect.poll(() => end.code).toBe('57P01');
  });

  it('that has just logged in may ask once', async () => {
    // The moment at which it is let in is the leader's.
    const opening = gateway().client();
    await expect.poll(() => leader.listener.clients, { interval: 1 }).toBe(1);
    drain();
    const client = await opening;
    const end = endOf(client);
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await expect.poll(() => end.code).toBe('57P01');
  });

  it('that comes is not let in before somebody serves again', async () => {
    drain();
    const opening = gateway().client();
    await sleep(100);
    expect(leader.listener.clients).toBe(0);
    leader.service.setService({ kind: 'here', generation: 2 });
    const client = await opening;
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await client.end();
  });
});
