/** Groups in memory under random faults. A seed that fails here is told in full by `npm run groups -- SEED 1 REPLICAS`, which also tries many. */
import { expect, it } from 'vitest';
import { runSchedule } from './testing/memory-schedule.ts';

it.each([
  { seed: 17, replicas: 3 },
  { seed: 11, replicas: 3 },
  { seed: 13, replicas: 3 },
  { seed: 16, replicas: 5 },
])(
  'nothing that must not be comes of seed $seed with $replicas replicas',
  { timeout: 240_000 },
  async (options) => {
    const { faults, counts, story } = await runSchedule({ ...options, rounds: 1 });
    expect({ faults, story: faults.length === 0 ? [] : story }).toEqual({ faults: [], story: [] });
    // It was worth it.
    expect(counts.done).toBeGreaterThan(20);
    expect(counts.leaderships).toBeGreaterThan(1);
  },
);

it('a seed gives the same run each time', { timeout: 240_000 }, async () => {
  const [one, other] = [
    await runSchedule({ seed: 15, rounds: 1 }),
    await runSchedule({ seed: 15, rounds: 1 }),
  ];
  expect(one).toEqual(other);
});
