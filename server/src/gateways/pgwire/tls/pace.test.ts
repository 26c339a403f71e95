import { expect, it } from 'vitest';
import { Pace } from './pace.ts';

it('sources take turns, and a newcomer does not wait for all of its own', async () => {
  const pace = new Pace({ burst: 1, everyMs: 2 });
  const begun: string[] = [];
  for (const name of ['a1', 'a2', 'a3', 'b1']) {
    pace.turn(
      name[0]!,
      () => begun.push(name),
      () => false,
    );
  }
  await expect.poll(() => begun.length).toBe(4);
  expect(begun).toEqual(['a1', 'a3', 'b1', 'a2']);
});

it('clients that have gone do not pile up', () => {
  const pace = new Pace({ burst: 1, everyMs: 60_000 });
  for (let client = 0; client < 20_000; client++)
    pace.turn(
      'a',
      () => {},
      () => true,
    );
  expect(pace.waitingCount).toBeLessThan(2_000);
});

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
          name,
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

it('no two begin in one turn, however late the thread is', async () => {
  const pace = new Pace({ burst: 1, everyMs: 2 });
  let turn = 0;
  const count = setInterval(() => (turn += 1), 0);
  const begunIn: number[] = [];
  for (let client = 0; client < 6; client++)
    pace.turn(
      'a',
      () => {
        begunIn.push(turn);
        for (const from = performance.now(); performance.now() - from < 10; );
      },
      () => false,
    );
  await expect.poll(() => begunIn.length).toBe(6);
  clearInterval(count);
  expect(new Set(begunIn).size).toBe(6);
});
