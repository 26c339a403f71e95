/** Rules that can be taken out are rules of the specifications; acts and what is said of them belong together. */
import { describe, expect, it } from 'vitest';
import type { LoadStatus } from '../../../server/src/api/load.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { Act } from '../run/simulated/acts.ts';
import { accountOf } from './account.ts';
import { beatAt } from './beats.ts';
import { findRule } from '../scenarios/rules.ts';
import { specTexts } from '../scenarios/spec-texts.ts';
import { variants } from './variants.ts';

describe('a rule that can be taken out', () => {
  for (const variant of variants) {
    it(`is in its specification: ${variant.rule.name}`, () => {
      expect(findRule(specTexts, variant.rule)?.text).toContain('==');
    });
    it(`has words for each moment at which something is done: ${variant.id}`, () => {
      const { setup, beats, fromMs, foundByMs } = variant;
      expect(beats.map(({ atMs }) => atMs)).toEqual([...new Set(setup.acts.map(([atMs]) => atMs))]);
      expect(beats[0]!.atMs).toBeGreaterThan(fromMs);
      expect(beatAt(variant, setup.acts, foundByMs)).toBe(beats.findLast(({ atMs }) => atMs <= foundByMs));
    });
  }
});

const wiped = variants.find(({ id }) => id === 'wiped')!;
const plan = wiped.setup.acts;
const lastMs = wiped.beats.at(-1)!.atMs;
const own: Act = [8_500, { action: 'crash', replica: 'r3' as ReplicaId }];

const wellLoad: LoadStatus = {
  settings: { isRunning: true, clients: 4, perSecond: 10, readShare: 0.3 },
  counts: { acknowledged: 90, refused: 0, unknown: 0, reads: 9, readsRefused: 0 },
  lost: 0,
  lostIds: [],
  risen: 0,
  stale: 0,
  findings: [],
  replicas: [
    { id: 'r1', checkedAgoMs: 400, missing: 0, problem: null },
    { id: 'r2', checkedAgoMs: null, missing: 0, problem: 'r2 does not answer' },
  ],
};
const finding = { kind: 'lost', row: 7, replica: 'r3', acknowledgedAtMs: 9_100, foundAtMs: 21_000 } as const;
const lostLoad: LoadStatus = { ...wellLoad, lost: 1, lostIds: [7], findings: [finding] };

describe('what was done last', () => {
  it('is told of what was done, and not of what a fork has left out', () => {
    expect(beatAt(wiped, [], 15_000).text).toContain('Both are well');
    const forked = plan.filter(([atMs]) => atMs <= 9_500);
    expect(beatAt(wiped, forked, 15_000)).toBe(wiped.beats[0]);
  });

  it('is what a reader did, and a beat does not speak of what came about otherwise', () => {
    expect(beatAt(wiped, [own, ...plan], 8_600)).toEqual({ atMs: 8_500, text: 'Killed r3' });
    expect(beatAt(wiped, [own, ...plan], 12_300)).toEqual({ atMs: 12_200, text: 'Wiped the disk of r2' });
    expect(beatAt(wiped, [own, ...plan], 20_100).text).toBe('Healed all links and Restarted r1');
    expect(beatAt(wiped, [...plan, [22_000, { action: 'heal' }]], 12_300)).toBe(wiped.beats[2]);
  });
});

describe('what came of it', () => {
  const account = { variant: wiped, acts: plan, atMs: lastMs + 2_000 };
  const naive = { ...account, isNaive: true, load: lostLoad };
  const ours = { ...account, isNaive: false, load: wellLoad };

  it('is explained when all that was planned has been done', () => {
    expect(accountOf(naive)).toEqual({
      looked: { kind: 'harm', findings: [finding] },
      why: wiped.happened,
      isChanged: false,
    });
    expect(accountOf(ours)).toMatchObject({ why: wiped.prevented, looked: { kind: 'well', at: ['r1'] } });
    for (const one of [naive, ours]) expect(accountOf({ ...one, atMs: lastMs - 1 }).why).toBeNull();
  });

  it('is not explained by the plan where something else was done, or left out', () => {
    for (const acts of [[own, ...plan], plan.slice(0, 2), []])
      for (const one of [naive, ours])
        expect(accountOf({ ...one, acts })).toMatchObject({ why: null, isChanged: true });
  });

  it('is harm wherever it is found, and nothing was prevented then', () => {
    expect(accountOf({ ...ours, load: lostLoad })).toMatchObject({ why: null, looked: { kind: 'harm' } });
    const stale: LoadStatus = { ...wellLoad, stale: 2, findings: [{ ...finding, kind: 'stale' }] };
    expect(accountOf({ ...ours, load: stale })).toMatchObject({
      why: null,
      looked: { kind: 'harm', findings: [{ kind: 'stale' }] },
    });
    expect(accountOf({ ...naive, load: stale }).why).toBeNull();
  });

  it('is told in the order in which it was found', () => {
    const stale = { ...finding, kind: 'stale', foundAtMs: finding.foundAtMs - 200 } as const;
    const both: LoadStatus = { ...lostLoad, stale: 1, findings: [finding, stale] };
    expect(accountOf({ ...naive, load: both }).looked).toEqual({ kind: 'harm', findings: [stale, finding] });
  });

  it('is nothing while nobody has looked', () => {
    const unlooked = wellLoad.replicas.map((one) => ({ ...one, checkedAgoMs: null }));
    for (const load of [null, { ...wellLoad, replicas: unlooked }])
      expect(accountOf({ ...ours, load })).toMatchObject({ why: null, looked: { kind: 'nowhere' } });
  });
});
