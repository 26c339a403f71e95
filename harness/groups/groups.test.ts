/** Groups in simulated time under random faults. A seed that fails here is told in full by `npm run groups -- --seed SEED --replicas REPLICAS --mix MIX --rounds 1`, which also tries many. */
import { expect, it } from 'vitest';
import type { TraceEvent } from '../../server/src/api/events.ts';
import { runSchedule } from './group-schedule.ts';
import type { MixName } from './mixes.ts';

const runs: readonly (readonly [seed: number, replicas: number, mix: MixName])[] = [
  [17, 3, 'default'],
  [12, 3, 'default'],
  [13, 3, 'default'],
  [16, 5, 'default'],
  [2, 3, 'losses'],
  [3, 3, 'losses'],
  // Replicas without a database are elected here.
  [12, 3, 'losses'],
  [8, 5, 'losses'],
  [8, 1, 'default'],
];

const archiving = [
  [1, 'default'],
  [4, 'losses'],
] as const;

it('nothing that must not be comes of random schedules', async () => {
  const total = { done: 0, leaderships: 0, majorityMs: 0 };
  const actions = new Set<string>();
  const onEvent = ({ layer, name }: TraceEvent): void => void (layer === 'consensus' && actions.add(name));
  for (const [seed, replicas, mix] of runs) {
    const { faults, counts, story } = await runSchedule({ seed, replicas, mix, rounds: 1, onEvent });
    expect({ seed, mix, faults, story: faults.length === 0 ? [] : story }).toEqual({
      seed,
      mix,
      faults: [],
      story: [],
    });
    total.done += counts.done;
    total.leaderships += counts.leaderships;
    total.majorityMs += counts.majorityMs;
  }
  // They were worth it: each begins with one leadership.
  expect(total.done).toBeGreaterThan(300);
  expect(total.leaderships).toBeGreaterThan(runs.length + 3);
  expect(total.majorityMs).toBeGreaterThan(0);
  // Nearly every action of the core.
  expect(actions.size).toBeGreaterThan(15);
});

it('archives have what is chosen, byte by byte, whatever befalls those that keep them', async () => {
  let archivedBytes = 0;
  for (const [seed, mix] of archiving) {
    const { faults, counts, story } = await runSchedule({ seed, mix, rounds: 1, archives: true });
    expect({ seed, faults, story: faults.length === 0 ? [] : story }).toEqual({
      seed,
      faults: [],
      story: [],
    });
    archivedBytes += counts.archivedBytes;
  }
  expect(archivedBytes).toBeGreaterThan(1_000_000);
});

it('reads at followers find what anybody knew, whatever befalls the leader', async () => {
  const { faults, counts, story } = await runSchedule({ seed: 6, rounds: 1, followerReads: true });
  expect({ faults, story: faults.length === 0 ? [] : story }).toEqual({ faults: [], story: [] });
  expect(counts.followerReads).toBeGreaterThan(200);
});

it('a leader whose host refuses connections is replaced in safety, too', async () => {
  for (const seed of [31, 32]) {
    const { faults, story } = await runSchedule({ seed, rounds: 1, refuses: true });
    expect({ seed, faults, story: faults.length === 0 ? [] : story }).toEqual({
      seed,
      faults: [],
      story: [],
    });
  }
});

it('leases break once clocks go further apart than the stated bound', async () => {
  const { faults } = await runSchedule({ seed: 1, rounds: 1, only: ['clocks go too far apart'] });
  expect(faults.some((fault) => fault.startsWith('OneLeaseHolder'))).toBe(true);
});

it('a group that has lost the logs of a majority is lost, and that is said', async () => {
  const { faults } = await runSchedule({ seed: 1, rounds: 1, only: ['a majority loses its logs'] });
  expect(faults[0]).toMatch(/is not healthy after/);
});

it('a seed gives the same run each time', async () => {
  const turned = { seed: 15, rounds: 1, turns: [{ atMs: 5000, salt: 3 }] };
  const [one, other] = [await runSchedule(turned), await runSchedule(turned)];
  expect(one).toEqual(other);
});
