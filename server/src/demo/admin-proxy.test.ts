import { createServer, type Server } from 'node:http';
import express from 'express';
import { afterEach, describe, expect, it } from 'vitest';
import type { ClusterReplica } from '../api/status.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { adminToken, bearer } from '../main/admin-token.ts';
import { type FakeAdmin, fakeAdmin, fakeSecret, type Reply, sendJson } from '../main/testing/fake-admin.ts';
import { createAdminProxy } from './admin-proxy.ts';
import type { ReplicaPlan } from './layout.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

interface Replica {
  readonly role: 'leader' | 'follower' | 'down';
  readonly reply: Reply;
}

/** A demo of replicas that say what they are told to. */
async function demo(replicas: Readonly<Record<string, Replica>>) {
  const fakes = new Map<string, FakeAdmin>();
  for (const [id, { reply }] of Object.entries(replicas)) fakes.set(id, await fakeAdmin(reply));
  cleanups.push(() => Promise.all([...fakes.values()].map((fake) => fake.close())));
  const supervisor = {
    cluster: () =>
      Object.entries(replicas).map(([id, { role }]) => ({
        id: id as ReplicaId,
        process: role === 'down' ? 'stopped' : 'running',
        ageMs: 10,
        status: role === 'down' ? null : { state: 'serving', role },
      })) as unknown as ClusterReplica[],
    plan: (id: string) => {
      const fake = fakes.get(id);
      return fake === undefined ? null : ({ id, httpPort: fake.target.port } as unknown as ReplicaPlan);
    },
  };
  const proxy = createAdminProxy({ supervisor, clusterSecret: fakeSecret });
  const app = express();
  app.use(express.json());
  app.post('/verify', proxy.verify);
  app.post('/transfer', proxy.transferLeadership);
  app.get('/backup', proxy.backup);
  const server: Server = createServer(app);
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });
  cleanups.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  );
  const asked = (id: string) => fakes.get(id)?.asked ?? [];
  const ask =
    (path: string) =>
    async (body: unknown = {}) => {
      const response = await fetch(`http://127.0.0.1:${port}/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return [response.status, await response.json()] as const;
    };
  const backup = (headers: Record<string, string> = bearer(fakeSecret)) =>
    fetch(`http://127.0.0.1:${port}/backup`, { headers });
  return { asked, verify: ask('verify'), transfer: ask('transfer'), backup };
}

const done: Reply = (_asked, response) => sendJson(response, 200, { slot: 7, replicas: [] });
const notLeader =
  (leader: string | null): Reply =>
  (_asked, response) =>
    sendJson(response, 409, { error: { code: 'notLeader', message: 'no', leader } });
const never: Reply = (_asked, response) =>
  sendJson(response, 500, { error: { code: 'failed', message: 'not me' } });

describe('what operators ask of a demo', () => {
  it('goes to the leader, with the token that it needs', async () => {
    const { asked, verify } = await demo({
      r1: { role: 'follower', reply: never },
      r2: { role: 'leader', reply: done },
    });
    expect(await verify({ repair: true })).toEqual([200, { slot: 7, replicas: [] }]);
    expect(asked('r1')).toEqual([]);
    expect(asked('r2')).toEqual([
      {
        method: 'POST',
        path: '/api/verify',
        authorization: `Bearer ${adminToken(fakeSecret)}`,
        body: { repair: true },
      },
    ]);
  });

  it('follows the leader that is named, but not round and round', async () => {
    const moved = await demo({
      r1: { role: 'leader', reply: notLeader('r2') },
      r2: { role: 'follower', reply: done },
    });
    expect((await moved.verify())[0]).toBe(200);
    const round = await demo({
      r1: { role: 'leader', reply: notLeader('r2') },
      r2: { role: 'follower', reply: notLeader('r1') },
    });
    expect((await round.verify())[0]).toBe(409);
    expect([round.asked('r1').length, round.asked('r2').length]).toEqual([2, 1]);
  });

  it('is refused while nobody leads, and passed on when the leader refuses', async () => {
    const { verify } = await demo({
      r1: { role: 'follower', reply: done },
      r2: { role: 'down', reply: done },
    });
    expect(await verify()).toMatchObject([503, { error: { code: 'unavailable' } }]);
    const { verify: again } = await demo({ r1: { role: 'leader', reply: notLeader(null) } });
    expect(await again()).toEqual([409, { error: { code: 'notLeader', message: 'no', leader: null } }]);
  });

  it('is one thing of a kind at a time: a hand-over does not wait for a comparison', async () => {
    let release = (): void => {};
    const { verify, transfer, asked } = await demo({
      r1: {
        role: 'leader',
        reply: (request, response) => {
          if (request.path !== '/api/verify') done(request, response);
          else release = () => done(request, response);
        },
      },
    });
    const first = verify();
    await expect.poll(() => asked('r1').length).toBe(1);
    expect(await verify()).toMatchObject([409, { error: { code: 'busy' } }]);
    expect((await transfer())[0]).toBe(200);
    release();
    expect((await first)[0]).toBe(200);
  });
});

describe('a backup of a demo', () => {
  it('is taken from a follower', async () => {
    const bytes = Buffer.alloc(500_000, 9);
    const { backup, asked } = await demo({
      r1: { role: 'leader', reply: never },
      r2: { role: 'follower', reply: (_asked, response) => void response.writeHead(200).end(bytes) },
    });
    const response = await backup();
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
    expect(asked('r2')[0]).toMatchObject({
      path: '/api/backup',
      authorization: `Bearer ${adminToken(fakeSecret)}`,
    });
  });

  it('is refused without the token of the cluster', async () => {
    const { backup, asked } = await demo({ r1: { role: 'leader', reply: never } });
    for (const headers of [{}, bearer('another secret, long enough')]) {
      expect((await backup(headers)).status).toBe(401);
    }
    expect(asked('r1')).toEqual([]);
  });

  it('that breaks off at the replica breaks off at its reader', async () => {
    const { backup } = await demo({
      r1: {
        role: 'leader',
        reply: (_asked, response) => {
          response.writeHead(200);
          response.write(Buffer.alloc(100_000), () => response.destroy());
        },
      },
    });
    const response = await backup();
    await expect(response.arrayBuffer()).rejects.toThrow(/terminated/);
  });

  it('is refused when no replica serves, and with the reason of the replica', async () => {
    const { backup } = await demo({ r1: { role: 'down', reply: never } });
    expect((await backup()).status).toBe(503);
    const { backup: refusing } = await demo({ r1: { role: 'leader', reply: never } });
    const response = await refusing();
    expect([response.status, await response.json()]).toEqual([
      500,
      { error: { code: 'failed', message: 'not me' } },
    ]);
  });
});
