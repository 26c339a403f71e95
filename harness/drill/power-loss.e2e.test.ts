/** One drill, once: that all replicas are killed at once, and come back by themselves. */
import { expect, it } from 'vitest';
import { losePower } from './power-loss.ts';

it('all replicas lose power under load, come back by themselves, and have all that was acknowledged', async () => {
  const said: string[] = [];
  const faults = await losePower(1, {
    seconds: 1,
    keep: false,
    older: null,
    say: (line) => said.push(line),
  });
  expect({ faults, said }).toEqual({ faults: [], said });
  expect(said.join('\n')).toMatch(/1 of 1: \d+ processes killed at once, after [1-9]\d* rows/);
});
