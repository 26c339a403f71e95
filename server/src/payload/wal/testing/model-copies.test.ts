/** Copies of the model of PostgreSQL, held against the contract that PostgreSQL's are held against. */
import { afterAll } from 'vitest';
import { describeCopies, type CopyFixture } from '../../../ports/testing/copy-contract.ts';
import { openChannel } from './channel.ts';
import { ModelCopySource } from './model-copy-source.ts';
import { receiveModelCopy } from './model-copy-target.ts';
import { type ModelFixture, ModelWorld } from './model-fixture.ts';

const worlds: ModelWorld[] = [];
afterAll(() => {
  for (const world of worlds) {
    world.end();
    if (world.troubles.length > 0) throw new Error(world.troubles.join('\n'));
  }
});

function withCopies(fixture: ModelFixture): CopyFixture {
  const { postgres, timers, directory } = fixture;
  const clone = fixture.clone.bind(fixture);
  return Object.assign(fixture, {
    source: (chosen: Parameters<CopyFixture['source']>[0]) =>
      new ModelCopySource({ postgres, timers, random: postgres.random, ...chosen }),
    receive: (options: Parameters<CopyFixture['receive']>[0]) =>
      receiveModelCopy({
        ...options,
        disk: postgres.disk,
        directory,
        onProgress: () => undefined,
        clear: null,
      }),
    channel: () => Promise.resolve(openChannel(timers, timers, postgres.latencyMs)),
    clone: async () => withCopies(await clone()),
  });
}

let seed = 1;
describeCopies('a modelled PostgreSQL', () => {
  const world = new ModelWorld(seed++);
  worlds.push(world);
  return Promise.resolve(withCopies(world.fixture()));
});
