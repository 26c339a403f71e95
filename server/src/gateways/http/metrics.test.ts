import { expect, it } from 'vitest';
import { createMetrics } from './metrics.ts';
import { fakeReplica } from './testing/fake-replica.ts';

it('of the event loop only what needs no timer is told', async () => {
  const replica = fakeReplica('r1');
  const text = await createMetrics(() => replica.status()).text();
  const told = [...text.matchAll(/^(nodejs_eventloop_lag_\w+) /gm)].map(([, name]) => name);
  expect(told).toEqual(['nodejs_eventloop_lag_seconds']);
});
