import { expect, it } from 'vitest';
import { JudgeTimes } from './judge-times.ts';

it('a judge may take several times as long as it took to let something pass, and never less than the least', () => {
  const times = new JudgeTimes({ firstMs: 900, leastMs: 60 });
  expect(times.limitMs('simulator')).toBe(900);
  times.passed('simulator', 1);
  expect(times.limitMs('simulator')).toBe(60);
  times.passed('simulator', 40);
  times.passed('simulator', 20);
  expect(times.limitMs('simulator')).toBe(240);
  expect(times.limitMs('unit')).toBe(900);
});
