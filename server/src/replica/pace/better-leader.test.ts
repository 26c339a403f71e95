import { describe, expect, it } from 'vitest';
import type { Pace } from '../../multipaxos/types/messages.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import {
  type BetterLeader,
  type BetterLeaderOptions,
  BetterLeaderFinder,
  betterLeaderDefaults,
  type PaceFacts,
} from './better-leader.ts';

const [r2, r3] = ['r2', 'r3'] as ReplicaId[] as [ReplicaId, ReplicaId];
const pace = (logMs: number | null, databaseMs: number | null, quorumMs: number | null = 1): Pace => ({
  logMs,
  databaseMs,
  quorumMs,
});
const fast = pace(1, 1);
const sick = pace(2000, 2000);
const facts = (own: Pace, two: Pace = fast, three: Pace = fast): PaceFacts => ({
  leads: true,
  own,
  others: [
    { replica: r2, pace: two },
    { replica: r3, pace: three },
  ],
});

const options: BetterLeaderOptions = { ...betterLeaderDefaults, settledLooks: 0 };

function looks(finder: BetterLeaderFinder, times: number, what: PaceFacts): (BetterLeader | null)[] {
  return Array.from({ length: times }, () => finder.look(what));
}
const found = (all: readonly (BetterLeader | null)[]): ReplicaId[] =>
  all.flatMap((each) => each?.replica ?? []);

describe('a better leader', () => {
  it('is found when this replica is slow in so many looks in a row, and not sooner', () => {
    const finder = new BetterLeaderFinder(options);
    expect(found(looks(finder, 9, facts(sick)))).toEqual([]);
    expect(finder.look(facts(sick))).toMatchObject({ replica: r2, part: 'disk', ownMs: 2001, theirMs: 2 });
  });

  it('is the fastest of the others', () => {
    expect(found(looks(new BetterLeaderFinder(options), 10, facts(sick, pace(9, 9), pace(1, 2))))).toEqual([
      r3,
    ]);
  });

  it.each<[string, PaceFacts]>([
    ['nobody is slow', facts(fast)],
    ['this replica is below the floor, however fast others are', facts(pace(190, 190, 9), pace(0, 0, 0))],
    ['all are slow', facts(sick, sick, sick)],
    ['others are faster, but not by much', facts(pace(800, 800), pace(300, 300), pace(250, 1))],
    ['others are slow in another way', facts(sick, pace(1, 1900), pace(1, 1, 700))],
    ['others do not tell the time that is slow here', facts(pace(1, 2000), pace(1, null), pace(1, null))],
    ['others tell nothing', facts(sick, pace(null, null, null), pace(null, null, null))],
    ['this replica does not lead', { ...facts(sick), leads: false }],
    ['nobody else is there', { ...facts(sick), others: [] }],
  ])('is not found when %s', (_, what) => {
    expect(found(looks(new BetterLeaderFinder(options), 500, what))).toEqual([]);
  });

  it('is found for slow links, where others are nearer to each other', () => {
    const finder = new BetterLeaderFinder(options);
    const [better] = looks(finder, 10, facts(pace(1, 1, 500), pace(1, 1, 400), pace(1, 1, 3))).slice(-1);
    expect(better).toMatchObject({ replica: r3, part: 'links' });
  });

  it('is forgotten by a single good look', () => {
    const finder = new BetterLeaderFinder(options);
    looks(finder, 9, facts(sick));
    looks(finder, 1, facts(fast));
    expect(found(looks(finder, 9, facts(sick)))).toEqual([]);
  });

  it('waits until this replica has led for a while', () => {
    const finder = new BetterLeaderFinder({ ...options, settledLooks: 50 });
    expect(found(looks(finder, 49, facts(sick)))).toEqual([]);
    expect(found(looks(finder, 1, facts(sick)))).toEqual([r2]);
  });

  it('is told again only after a rest, which doubles with each attempt up to a bound, and is short again in the end', () => {
    const finder = new BetterLeaderFinder({ ...options, restLooksMax: 700, forgottenLooks: 2000 });
    const restOf = (): number => {
      let count = 0;
      while (finder.look(facts(sick)) === null) count += 1;
      finder.attempted();
      return count;
    };
    restOf();
    expect([restOf(), restOf(), restOf()]).toEqual([199, 399, 699]);
    looks(finder, 2000, facts(fast));
    restOf();
    expect(restOf()).toBe(199);
  });

  it('is found ever more seldom where each leader in turn becomes the slow one', () => {
    const finders = [new BetterLeaderFinder(), new BetterLeaderFinder(), new BetterLeaderFinder()];
    const moves: number[] = [];
    let leader = 0;
    // An hour of looks: each leader is slow from its 30th second on, and well again once it leads no more.
    for (let look = 0, since = 0; look < 12_000; look += 1) {
      const isSick = look - since > 100;
      for (const [at, finder] of finders.entries()) {
        const leads = at === leader;
        const others = facts(fast).others;
        if (finder.look({ leads, own: leads && isSick ? sick : fast, others }) === null) continue;
        finder.attempted();
        moves.push(look);
        leader = (at + 1) % 3;
        since = look;
      }
    }
    const ofQuarter = (n: number): number =>
      moves.filter((look) => look >= n * 3000 && look < (n + 1) * 3000).length;
    expect(ofQuarter(0)).toBeLessThanOrEqual(15);
    expect(ofQuarter(3)).toBeLessThanOrEqual(3);
  });

  it('says that this replica is slow until it takes half of what it may', () => {
    const finder = new BetterLeaderFinder(options);
    const slowWith = (ms: number): boolean => {
      finder.look(facts(pace(ms, 1, 0)));
      return finder.slow;
    };
    expect([199, 200, 150, 100, 99, 150].map(slowWith)).toEqual([false, true, true, true, false, false]);
  });
});
