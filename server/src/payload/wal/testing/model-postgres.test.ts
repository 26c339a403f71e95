/** The model of PostgreSQL, held against the contract that PostgreSQL itself is held against. */
import { afterAll, beforeAll } from 'vitest';
import { describeDatabase } from '../../../ports/testing/database-server-contract.ts';
import { ModelWorld } from './model-fixture.ts';

const worlds: ModelWorld[] = [];
let seed = 1;

beforeAll(() => {
  seed = 1;
});
afterAll(() => {
  for (const world of worlds) {
    world.end();
    if (world.troubles.length > 0) throw new Error(world.troubles.join('\n'));
  }
});

describeDatabase('a modelled PostgreSQL', () => {
  const world = new ModelWorld(seed++);
  worlds.push(world);
  return Promise.resolve(world.fixture());
});
