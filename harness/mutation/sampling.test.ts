import { expect, it } from 'vitest';
import { sample } from './sampling.ts';

const all = Array.from({ length: 40 }, (_, index) => ({ name: `mutant ${index}` }));

it('a sample is the same for the same seed, in the order of all, and another for another seed', () => {
  const chosen = sample(all, 10, 1);
  expect(chosen).toHaveLength(10);
  expect(sample(all, 10, 1)).toEqual(chosen);
  expect(sample(all, 10, 2)).not.toEqual(chosen);
  expect(chosen).toEqual(all.filter((one) => chosen.includes(one)));
});

it('a sample keeps its members when others are added', () => {
  const chosen = sample(all, 10, 1);
  const kept = sample([...all, { name: 'one more' }], 10, 1).filter((one) => chosen.includes(one));
  expect(kept.length).toBeGreaterThanOrEqual(9);
});

it('a sample larger than all is all', () => {
  expect(sample(all, 100, 1)).toEqual(all);
});
