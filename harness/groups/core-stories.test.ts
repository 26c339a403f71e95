/** The core comes well through each story that shows a planted bug of it (planted-in-stories.ts). */
import { expect, it } from 'vitest';
import { coreStories } from './core-stories.ts';
import { runSchedule } from './group-schedule.ts';
import { inStories } from './planted-in-stories.ts';

it.each(inStories)('nothing comes of the story of $name', async ({ strain, seed }) => {
  const { faults } = await runSchedule({ seed, rounds: 1, ...strain });
  expect(faults).toEqual([]);
});

it('each story shows a bug', () => {
  const told = inStories.flatMap(({ strain }) => strain.only ?? []);
  expect(coreStories.map(([name]) => name).toSorted()).toEqual(told.toSorted());
});
