import { expect, it } from 'vitest';
import { createRunningNotes } from './running-notes.ts';

it('a note that cannot be written is told once until one can be, and the next ones are tried', async () => {
  const said: string[] = [];
  const written: number[][] = [];
  let problem: string | null = 'ENOSPC';
  const notes = createRunningNotes(
    async (pids) => {
      await Promise.resolve();
      if (problem !== null) throw new Error(problem);
      written.push([...pids]);
    },
    (line) => said.push(line),
  );
  notes.note([1]);
  notes.note([1, 2]);
  await notes.settled();
  expect(said).toEqual([expect.stringContaining('Cannot write down which processes run: ENOSPC.')]);
  problem = null;
  notes.note([1, 2, 3]);
  await notes.settled();
  problem = 'ENOENT';
  notes.note([1, 2, 3, 4]);
  await notes.settled();
  expect(written).toEqual([[1, 2, 3]]);
  expect(said.length).toBe(2);
});
