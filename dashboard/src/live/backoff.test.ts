import { expect, test } from 'vitest';
import { backoffMs } from './backoff.ts';

test('the wait doubles up to a limit and is spread by a quarter either way', () => {
  expect([1, 2, 3].map((attempt) => backoffMs(attempt, 0.5))).toEqual([250, 500, 1000]);
  expect(backoffMs(6, 0.5)).toBe(8000);
  expect(backoffMs(5000, 0.5)).toBe(8000);
  expect(backoffMs(1, 0)).toBe(188);
  expect(backoffMs(1, 0.999)).toBe(312);
});
