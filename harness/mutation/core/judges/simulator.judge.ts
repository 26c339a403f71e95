/** The third judge: groups of whole replicas in simulated time, with the usual faults, lost disks and changes of the members, few replicas and many, and with the stories of the core. */
import { describe, expect, it } from 'vitest';
import { runSchedule, type ScheduleOptions } from '../../../groups/group-schedule.ts';
import { inStories } from '../../../groups/planted-in-stories.ts';

const runs: readonly (readonly [name: string, seeds: number, options: Omit<ScheduleOptions, 'seed'>])[] = [
  ['three replicas', 4, {}],
  ['lost disks', 4, { mix: 'losses' }],
  ['five replicas', 2, { replicas: 5 }],
  ['five replicas and lost disks', 2, { replicas: 5, mix: 'losses' }],
];

describe('a mutant in groups', () => {
  it('answers when nothing fails', async () => {
    const { faults, counts } = await runSchedule({ seed: 1, rounds: 1, only: [] });
    expect(faults).toEqual([]);
    expect(counts.done).toBeGreaterThan(100);
  });

  it.each(inStories)('keeps every rule in the story of $name', async ({ strain, seed }) => {
    const { faults } = await runSchedule({ seed, rounds: 1, ...strain });
    expect(faults).toEqual([]);
  });

  it.each(runs)('keeps every rule with %s', async (_name, seeds, options) => {
    for (let seed = 1; seed <= seeds; seed++) {
      const { faults } = await runSchedule({ seed, rounds: 1, ...options });
      expect(faults).toEqual([]);
    }
  });
});
