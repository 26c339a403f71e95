/** Databases come well through each story that shows a planted bug of what they may become (planted-in-database-stories.ts). */
import { expect, it } from 'vitest';
import { databaseStories } from './database-stories.ts';
import { runSchedule } from './group-schedule.ts';
import { inDatabaseStories } from './planted-in-database-stories.ts';

it.each(databaseStories)('nothing comes of the story: %s', async (name) => {
  for (const seed of [1, 2, 4, 6]) {
    const { faults } = await runSchedule({ seed, rounds: 1, only: [name] });
    expect({ seed, faults }).toEqual({ seed, faults: [] });
  }
});

it('each story shows a bug', () => {
  const told = inDatabaseStories.flatMap(({ strain }) => strain.only ?? []);
  expect(databaseStories.map(([name]) => name).toSorted()).toEqual([...new Set(told)].toSorted());
});
