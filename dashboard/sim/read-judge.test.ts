/** What a read must show. */
import { expect, it } from 'vitest';
import { ReadJudge } from './read-judge.ts';

it('a read that shows all that was acknowledged before it began is right, whatever else it shows', () => {
  const judge = new ReadJudge(100);
  judge.acknowledged(3);
  const must = judge.begins(1);
  judge.acknowledged(4);
  expect(judge.ends(must, [3, 9])).toEqual([]);
});

it('a read lacks what was acknowledged before it began', () => {
  const judge = new ReadJudge(100);
  for (const row of [5, 3]) judge.acknowledged(row);
  expect(judge.ends(judge.begins(1), [9])).toEqual([3, 5]);
});

it('what one read has shown a later one must show, acknowledged or not', () => {
  const judge = new ReadJudge(100);
  const meanwhile = judge.begins(1);
  judge.ends(judge.begins(1), [7]);
  expect(judge.ends(meanwhile, [])).toEqual([]);
  expect(judge.ends(judge.begins(1), [])).toEqual([7]);
});

it('rows below those that it looks at, and those that were let go of, are not asked for', () => {
  const judge = new ReadJudge(2);
  for (const row of [1, 2, 3]) judge.acknowledged(row);
  expect(judge.begins(1)).toEqual([2, 3]);
  expect(judge.begins(3)).toEqual([3]);
});
