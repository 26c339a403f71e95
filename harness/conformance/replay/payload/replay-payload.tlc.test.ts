import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { loadMutated } from '../../../groups/mutant.ts';
import { makePayloadBehaviours, replayedActions, replayPayloads } from './payload-behaviours.ts';
import { payloadBugs, payloadMutations } from './planted-in-payload.ts';
import type { replayPayload } from './replay-payload.ts';

const planted = globalThis as { plantedBug?: string };
let behaviours: string[] = [];
let replay: typeof replayPayload;
beforeAll(async () => {
  behaviours = await makePayloadBehaviours({ behaviours: 70, depth: 100, seed: 1 });
  const entry = 'harness/conformance/replay/payload/replay-payload.ts';
  const loaded = await loadMutated<{ replayPayload: typeof replayPayload }>({
    entry,
    name: 'replayed-payload',
    mutations: payloadMutations(),
  });
  replay = loaded.replayPayload;
}, 280_000);
afterEach(() => {
  delete planted.plantedBug;
});

describe('behaviours of OrderedApply', () => {
  it('are followed by the payload, step by step, every action among them', async () => {
    const { failed, actions } = await replayPayloads(behaviours);
    expect(failed).toBeNull();
    expect((await replayedActions()).filter((name) => !actions.has(name))).toEqual([]);
  });

  it.each(payloadBugs.map(({ name }) => name))('are not followed where %s', async (name) => {
    planted.plantedBug = name;
    const { failed } = await replayPayloads(behaviours, replay);
    expect(failed).not.toBeNull();
  });
});
