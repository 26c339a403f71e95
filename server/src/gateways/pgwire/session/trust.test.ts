import { describe, expect, it } from 'vitest';
import { Trust } from './trust.ts';

function setUp(passes: boolean) {
  const world = { distrusted: 0, barriers: [] as number[] };
  const service = {
    distrust: () => {
      world.distrusted += 1;
      return () => void (world.distrusted -= 1);
    },
    barrier: (generation: number) => {
      world.barriers.push(generation);
      return Promise.resolve(passes);
    },
  };
  return { trust: new Trust(service, 7), world };
}

describe('the trust in the commits of one session', () => {
  it('comes back when the session has ended and what it left is chosen', async () => {
    const { trust, world } = setUp(true);
    trust.lose({ lasting: false });
    expect([trust.isLost, world.distrusted]).toEqual([true, 1]);
    await trust.sessionEnded();
    expect([world.distrusted, world.barriers]).toEqual([0, [7]]);
  });

  it('does not come back when nobody knows whether what the session left is chosen', async () => {
    const { trust, world } = setUp(false);
    trust.lose({ lasting: false });
    await trust.sessionEnded();
    expect([world.distrusted, world.barriers]).toEqual([1, [7]]);
  });

  it('does not come back where the setting may outlive the session', async () => {
    const { trust, world } = setUp(true);
    trust.lose({ lasting: false });
    trust.lose({ lasting: true });
    await trust.sessionEnded();
    expect([world.distrusted, world.barriers]).toEqual([1, []]);
  });
});
