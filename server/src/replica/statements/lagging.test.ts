import { describe, expect, it } from 'vitest';
import type { Slot } from '../../multipaxos/types/names.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import type { ForeignProcess } from '../../payload/statements/executor.ts';
import { type FoundCopy, Lagging, type LaggingOptions } from './lagging.ts';

/** Nobody is let in beyond 1,200 operations, and sessions end beyond 3,600. */
function setUp(found: FoundCopy | null = null) {
  const timers = new SimulatedTime();
  const at = {
    pointer: 1_000,
    commitPoint: 1_000,
    ended: 0,
    isUp: true,
    isAlone: false,
    isHalted: false,
    /** It answers nobody. */
    isSilent: false,
    blockedBy: [] as ForeignProcess[],
  };
  const story: string[] = [];
  const asked = { count: 0 };
  const lagging = new Lagging({
    timers,
    position: () => (at.isUp ? { pointer: at.pointer as Slot, commitPoint: at.commitPoint as Slot } : null),
    endedElsewhere: () => at.ended as Slot,
    isHalted: () => at.isHalted,
    blockedBy: () => {
      asked.count += 1;
      return at.isSilent ? new Promise(() => undefined) : Promise.resolve(at.blockedBy);
    },
    logger: {
      warn: (_facts: unknown, text: string) => void story.push(`log: ${text}`),
      info: (_facts: unknown, text: string) => void story.push(`log: ${text}`),
    } as LaggingOptions['logger'],
    sessionsMax: 100,
    isAlone: () => at.isAlone,
    endSessions: (reason) => story.push(reason),
    findCopy: (atLeast) => {
      story.push(`looks for ${atLeast}`);
      return Promise.resolve(found);
    },
    bytesPerSecond: 1_000,
    takeCopy: (atLeast) => story.push(`takes ${atLeast}`),
  });
  return { timers, at, story, asked, lagging };
}

describe('a replica that lags', () => {
  it('lets nobody in until it is near again', () => {
    const { at, lagging } = setUp();
    at.commitPoint = 2_200;
    expect(lagging.whyNot).toBeNull();
    at.commitPoint = 2_201;
    expect(lagging.whyNot).toBe('this replica is 1201 operations behind the group');
    at.pointer = 1_600;
    expect(lagging.whyNot).not.toBeNull();
    at.pointer = 1_601;
    expect(lagging.whyNot).toBeNull();
    at.pointer = 1_000;
    expect(lagging.whyNot).not.toBeNull();
    at.isAlone = true;
    expect(lagging.whyNot).toBeNull();
    at.isAlone = false;
    at.isUp = false;
    expect(lagging.whyNot).toBeNull();
  });

  it('ends its sessions once, and again when it was near meanwhile', async () => {
    const { timers, at, story } = setUp();
    at.commitPoint = 4_600;
    await timers.pass(5_000);
    expect(story).toEqual([]);
    at.commitPoint = 4_601;
    await timers.pass(5_000);
    expect(story).toEqual(['this replica is 3601 operations behind the group']);
    at.pointer = 4_601;
    await timers.pass(2_000);
    at.commitPoint = 9_000;
    await timers.pass(5_000);
    expect(story).toHaveLength(2);
  });
});

describe('a replica that lags far', () => {
  async function lags(found: FoundCopy | null, perSecond: number, seconds = 40): Promise<string[]> {
    const { timers, at, story } = setUp(found);
    at.commitPoint = 21_000;
    for (let second = 0; second < seconds; second += 1) {
      await timers.pass(1_000);
      at.pointer += perSecond;
    }
    return story.filter((line) => !line.includes('behind'));
  }

  it('takes the copy of another replica where it does not come nearer', async () => {
    expect(await lags({ slot: 12_000 as Slot, bytes: 1_000_000 }, 0)).toEqual([
      'looks for 11000',
      'takes 11000',
    ]);
    expect(await lags(null, 0)).toEqual(['looks for 11000']);
  });

  it('comes nearer by itself where that is quicker', async () => {
    // 17,000 operations are left, at 100 a second.
    expect(await lags({ slot: 15_000 as Slot, bytes: 200_000 }, 100)).toEqual(['looks for 12500']);
    expect(await lags({ slot: 15_000 as Slot, bytes: 150_000 }, 100)).toEqual([
      'looks for 12500',
      'takes 12500',
    ]);
    expect(await lags({ slot: 15_000 as Slot, bytes: 1 }, 300)).toEqual([]);
  });

  it('looks for a copy again after a while, and not while nothing is executed', async () => {
    expect(await lags(null, 0, 160)).toHaveLength(2);
    const { timers, at, story } = setUp();
    at.commitPoint = 21_000;
    at.isUp = false;
    await timers.pass(100_000);
    expect(story).toEqual([]);
  });
});

describe('a replica that stands', () => {
  it('at a request that another one has executed lets nobody in, names who blocks it, and ends its sessions', async () => {
    const { timers, at, story, lagging } = setUp();
    at.commitPoint = 1_001;
    await timers.pass(60_000);
    // It lasts at all of them.
    expect(lagging.whyNot).toBeNull();
    at.ended = 1_001;
    at.blockedBy = [{ pid: 123, application: 'psql' }];
    await timers.pass(3_000);
    expect(lagging.whyNot).toBeNull();
    await timers.pass(2_000);
    const told =
      'this replica has been at slot 1001 for 3 s, which others have executed: process 123 (psql) of this PostgreSQL blocks it';
    expect(story).toEqual([`log: ${told}`]);
    expect(lagging.whyNot).toContain('process 123 (psql)');
    await timers.pass(60_000);
    expect(story.slice(1)).toEqual([told.replace('3 s', '30 s')]);
    at.pointer = 1_001;
    await timers.pass(1_000);
    expect(lagging.whyNot).toBeNull();
    expect(story.at(-1)).toBe('log: execution goes on');
  });

  it('does so while its database is started anew, and where it has no room to be', async () => {
    const { timers, at, story, lagging } = setUp();
    at.ended = 1_001;
    await timers.pass(4_000);
    at.isUp = false;
    await timers.pass(1_000);
    expect(lagging.whyNot).toContain('slot 1001');
    at.isUp = true;
    at.pointer = 1_001;
    await timers.pass(1_000);
    expect(lagging.whyNot).toBeNull();
    at.isUp = false;
    await timers.pass(60_000);
    expect(lagging.whyNot).toBeNull();
    story.length = 0;
    at.isHalted = true;
    await timers.pass(60_000);
    expect(lagging.whyNot).not.toBeNull();
    expect(story).toHaveLength(2);
  });

  it('asks who blocks it, and not again before that is answered', async () => {
    const { timers, at, asked } = setUp();
    at.ended = 1_001;
    at.isSilent = true;
    await timers.pass(20_000);
    expect(asked.count).toBe(1);
  });

  it('but for one that goes on from one slow request to the next', async () => {
    const { timers, at, lagging } = setUp();
    at.ended = 1_100;
    for (; at.pointer < 1_020; at.pointer += 1) {
      await timers.pass(2_500);
      expect(lagging.whyNot).toBeNull();
    }
  });
});
