/** Digests of the model of PostgreSQL, held against the contract that PostgreSQL's are held against. */
import { afterAll } from 'vitest';
import { describeDigests, type DigestFixture } from '../../../ports/testing/digest-contract.ts';
import { ModelDigests } from './model-digest.ts';
import { type ModelFixture, ModelWorld } from './model-fixture.ts';

const worlds: ModelWorld[] = [];
afterAll(() => {
  for (const world of worlds) {
    world.end();
    if (world.troubles.length > 0) throw new Error(world.troubles.join('\n'));
  }
});

function withDigests(fixture: ModelFixture): DigestFixture {
  const clone = fixture.clone.bind(fixture);
  return Object.assign(fixture, {
    digests: () => new ModelDigests(fixture.postgres, fixture.timers),
    clone: async () => withDigests(await clone()),
  });
}

let seed = 1;
describeDigests('a modelled PostgreSQL', () => {
  const world = new ModelWorld(seed++);
  worlds.push(world);
  return Promise.resolve(withDigests(world.fixture()));
});
