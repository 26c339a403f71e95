import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { loadMutated } from '../../../groups/mutant.ts';
import { makePayloadBehaviours, replayedActions, replayPayloads, tellStories } from './payload-behaviours.ts';
import { payloadBugs, payloadMutations } from './planted-in-payload.ts';
import type { replayPayload } from './replay-payload.ts';

const planted = globalThis as { plantedBug?: string };
let random: string[] = [];
let stories: string[] = [];
let replay: typeof replayPayload;
beforeAll(async () => {
  random = await makePayloadBehaviours({ behaviours: 70, depth: 100, seed: 1 });
  stories = await tellStories();
  const entry = 'harness/conformance/replay/payload/replay-payload.ts';
  const loaded = await loadMutated<{ replayPayload: typeof replayPayload }>({
    entry,
    name: 'replayed-payload',
    mutations: payloadMutations(),
  });
  replay = loaded.replayPayload;
});
afterEach(() => {
  delete planted.plantedBug;
});

describe('behaviours of OrderedApply', () => {
  it('are followed by the payload, step by step, every action among them', async () => {
    const { failed, actions } = await replayPayloads([...random, ...stories]);
    expect(failed).toBeNull();
    expect((await replayedActions()).filter((name) => !actions.has(name))).toEqual([]);
  });

  it.each(payloadBugs.map((bug) => [bug.name, bug] as const))(
    'are not followed where %s',
    async (_, { name, needsStory }) => {
      planted.plantedBug = name;
      const { failed } = await replayPayloads(needsStory === true ? stories : random, replay);
      expect(failed).not.toBeNull();
    },
  );

  it('are none that a story makes up against the specification', async () => {
    await expect(tellStories([], 'GuidedOrderedApply-impossible.cfg')).rejects.toThrow(
      /\["Choose","range",1\]/,
    );
  });
});
