/** The page's server in development is held to what the demo's is held to, and what people do from the page befalls the simulated group. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeDemoApi } from '../../server/src/demo/testing/demo-api-contract.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { type SimulatedFixture, startFixture } from './simulated-fixture.ts';

const forever = Number.POSITIVE_INFINITY;
const r1 = 'r1' as ReplicaId;
let fixture: SimulatedFixture;

beforeAll(async () => {
  const quiet = { dashboard: null, say: () => undefined };
  fixture = await startFixture({ seed: 1, replicas: 3, clients: 2, port: 0, ...quiet });
});
afterAll(async () => {
  await fixture.close();
});

describe('a group in simulated time', () => {
  beforeAll(() => void fixture.pace.playTo(forever, 1));
  describeDemoApi('a group in simulated time', () => ({
    url: `http://127.0.0.1:${fixture.demo.port}`,
    table: 'orders',
  }));
});

describe('what is done from the page', () => {
  it('befalls the group, whose others elect and serve in simulated time', async () => {
    const { group, demo, pace } = fixture;
    expect(group.serving()?.id).toBe(r1);
    const beganMs = group.time.nowMs();
    // Time stands still: nothing has come of it yet.
    await pace.playTo(beganMs, 1);
    expect(await demo.supervisor.fault({ action: 'crash', replica: r1 })).toMatchObject({ ok: true });
    expect(group.member(r1).isRunning).toBe(false);
    expect(group.serving()).toBeNull();
    await pace.playTo(beganMs + 10_000, forever);
    expect(group.serving()?.id).toMatch(/^r[23]$/);
    expect(group.troubles).toEqual([]);
  });
});
