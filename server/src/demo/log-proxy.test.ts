import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterEach, describe, expect, it } from 'vitest';
import type { ClusterReplica } from '../api/status.ts';
import type { SlotAnswer, SlotRefusal } from '../api/wal-summary.ts';
import { logRoutes } from '../gateways/http/log-routes.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import type { ReplicaPlan } from './layout.ts';
import { createLogProxy } from './log-proxy.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function listen(app: express.Express): Promise<number> {
  const server = createServer(app);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

type Reader = Parameters<typeof logRoutes>[0];

/** A demo over replicas with the real route, the first of which leads. Returns how to ask, and who was asked. */
async function demo(readers: Readonly<Record<string, Reader | 'away'>>) {
  const asked: string[] = [];
  const ports = new Map<string, number>();
  for (const [id, reader] of Object.entries(readers)) {
    const app = express();
    app.use(
      logRoutes(async (slot) => {
        asked.push(id);
        return reader === 'away' ? Promise.reject(new Error('unreachable')) : reader(slot);
      }),
    );
    ports.set(id, reader === 'away' ? 1 : await listen(app));
  }
  const supervisor = {
    cluster: () =>
      [...ports.keys()].map((id, index) => ({
        id: id as ReplicaId,
        process: 'running',
        ageMs: 10,
        status: { state: 'serving', role: index === 0 ? 'leader' : 'follower' },
      })) as unknown as ClusterReplica[],
    plan: (id: string) => ({ id, httpPort: ports.get(id) }) as unknown as ReplicaPlan,
  };
  const app = express();
  app.get('/api/log/:slot', createLogProxy(supervisor));
  const port = await listen(app);
  const ask = async (slot: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/log/${slot}`);
    return [response.status, await response.json()] as const;
  };
  return { ask, asked };
}

const holds: Reader = (slot) =>
  Promise.resolve({ slot, label: 'noop', content: { kind: 'noop' } } satisfies SlotAnswer);
const refuses =
  (code: SlotRefusal['error']['code']): Reader =>
  () =>
    Promise.resolve({ error: { code, message: code } });

describe('a slot that is asked for', () => {
  it('is told by a follower, so that the leader is left in peace', async () => {
    const { ask, asked } = await demo({ r1: holds, r2: holds, r3: holds });
    expect(await ask('12')).toEqual([200, { slot: 12, label: 'noop', content: { kind: 'noop' } }]);
    expect(asked).toEqual(['r2']);
  });

  it('is told by the one that has it, whoever is away or has purged it', async () => {
    const { ask, asked } = await demo({ r1: holds, r2: 'away', r3: refuses('purged') });
    expect(await ask('12')).toMatchObject([200, { slot: 12 }]);
    expect(asked).toEqual(['r3', 'r1']);
  });

  it.each([
    ['purged', 410],
    ['notChosen', 404],
    ['unavailable', 503],
    ['failed', 500],
  ] as const)('is refused as a replica refuses it: %s', async (code, status) => {
    const { ask } = await demo({ r1: 'away', r2: refuses(code) });
    expect(await ask('12')).toEqual([status, { error: { code, message: code } }]);
  });

  it('cannot be told if nobody answers', async () => {
    const { ask } = await demo({ r1: 'away' });
    expect(await ask('1')).toMatchObject([503, { error: { code: 'unavailable' } }]);
  });

  it.each(['0', '-1', 'x', '1.5', '9'.repeat(16)])('must be one: %s', async (slot) => {
    const { ask, asked } = await demo({ r1: holds });
    expect(await ask(slot)).toMatchObject([400, { error: { code: 'badRequest' } }]);
    expect(asked).toEqual([]);
  });
});
