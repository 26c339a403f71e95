import { afterAll, beforeAll, expect, it } from 'vitest';
import { comparableDump, sequencePositions } from '../../../../harness/checkers/database-compare.ts';
import { startPair } from './testing/replicated-pair.ts';
import type { ReplicatedPair } from './testing/replicated-pair.ts';
import { rowShapes } from './testing/row-shapes.ts';
import { schemaShapes } from './testing/schema-shapes.ts';

let pair: ReplicatedPair;
beforeAll(async () => {
  pair = await startPair();
});
afterAll(() => pair.stop());

async function expectIdentical(): Promise<void> {
  const [leader, follower] = await Promise.all([
    comparableDump(pair.leader, pair.leader.database),
    comparableDump(pair.follower, pair.follower.database),
  ]);
  expect(follower).toEqual(leader);
}

/** Each shape, by itself: what it does on the leader, the follower gets. */
it.each([...rowShapes, ...schemaShapes])('$name reaches the follower', async ({ transactions }) => {
  for (const statements of transactions) await pair.run(...statements);
  await pair.replicate();
  await expectIdentical();
  const [leader, follower] = await Promise.all([
    sequencePositions(pair.leader, pair.leader.database),
    sequencePositions(pair.follower, pair.follower.database),
  ]);
  expect(follower).toEqual(leader);
});
