import { expect, it } from 'vitest';
import { Turns } from './turns.ts';

it('no more than so many have their turn at once, in the order in which they came', async () => {
  const turns = new Turns(2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  for (const one of [1, 2, 3, 4]) {
    void turns.take().then((end) => {
      begun.push(one);
      ends.push(end);
    });
  }
  const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  await soon();
  expect(begun).toEqual([1, 2]);
  ends[1]?.();
  await soon();
  expect(begun).toEqual([1, 2, 3]);
  ends[0]?.();
  ends[2]?.();
  await soon();
  expect(begun).toEqual([1, 2, 3, 4]);
});
