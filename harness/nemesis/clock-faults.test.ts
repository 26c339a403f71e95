import { expect, it } from 'vitest';
import { drawnRate } from './clock-faults.ts';

const clockDriftMax = 0.05;

it('clocks run as far apart as leases bear, and in a traced run as the judge of leases does', () => {
  expect(drawnRate(1, false)).toBeLessThan(1 / (1 - clockDriftMax));
  expect(drawnRate(1, false)).toBeGreaterThan(1.04);
  const [slow, fast] = [1 - clockDriftMax, 1];
  expect(drawnRate(1, true) * (slow + fast)).toBeLessThanOrEqual(2 * fast);
  expect(drawnRate(1, true)).toBeGreaterThan(1.02);
});
