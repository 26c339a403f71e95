import { expect, test } from 'vitest';
import { ageText } from './activity-text.ts';

test('an age is told in the units that people read', () => {
  const told = [3, 999, 1500, 12_400, 59_999, 61_000, 3_600_000, 7_380_000].map(ageText);
  expect(told).toEqual(['3 ms', '999 ms', '1.5 s', '12 s', '60 s', '1 min 1 s', '1 h 0 min', '2 h 3 min']);
});
