/** Groups in simulated time under random faults. A seed that fails here is told in full by `npm run groups -- --seed SEED --replicas REPLICAS --rounds 1`, which also tries many. */
import { expect, it } from 'vitest';
import { runSchedule } from './group-schedule.ts';

it('nothing that must not be comes of random schedules', { timeout: 240_000 }, async () => {
  const total = { done: 0, leaderships: 0, majorityMs: 0 };
  for (const [seed, replicas] of [
    [17, 3],
    [12, 3],
    [13, 3],
    [14, 3],
    [16, 5],
  ] as const) {
    const { faults, counts, story } = await runSchedule({ seed, replicas, rounds: 1 });
    expect({ seed, faults, story: faults.length === 0 ? [] : story }).toEqual({
      seed,
      faults: [],
      story: [],
    });
    total.done += counts.done;
    total.leaderships += counts.leaderships;
    total.majorityMs += counts.majorityMs;
  }
  // They were worth it: each begins with one leadership.
  expect(total.done).toBeGreaterThan(300);
  expect(total.leaderships).toBeGreaterThan(8);
  expect(total.majorityMs).toBeGreaterThan(0);
});

it('a seed gives the same run each time', { timeout: 240_000 }, async () => {
  const turned = { seed: 15, rounds: 1, turns: [{ atMs: 5000, salt: 3 }] };
  const [one, other] = [await runSchedule(turned), await runSchedule(turned)];
  expect(one).toEqual(other);
});
