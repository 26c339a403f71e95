import { expect, it } from 'vitest';
import { Pace } from './pace.ts';

it('a first few begin at once, the others one after the other in their order, and nobody who has gone', async () => {
  const pace = new Pace({ burst: 2, everyMs: 20 });
  const begun: string[] = [];
  const at: number[] = [];
  const gone = new Set<string>();
  const from = performance.now();
  const all = ['a', 'b', 'c', 'd', 'e'].map(
    (name) =>
      new Promise<void>((resolve) => {
        pace.turn(
          () => {
            begun.push(name);
            at.push(performance.now() - from);
            resolve();
          },
          () => gone.has(name),
        );
      }),
  );
  expect(begun).toEqual(['a', 'b']);
  gone.add('d');
  await Promise.all([all[0], all[1], all[2], all[4]]);
  expect(begun).toEqual(['a', 'b', 'c', 'e']);
  expect(at[2]).toBeGreaterThan(15);
  expect(at[3]).toBeGreaterThan(35);
});
