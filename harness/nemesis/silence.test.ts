import { expect, it } from 'vitest';
import { longestSilence } from './silence.ts';

it('the longest silence is found wherever it is', () => {
  expect(longestSilence([10, 20, 70, 80], 0, 100)).toEqual({ fromUs: 20, lengthUs: 50 });
  expect(longestSilence([60, 80], 0, 100)).toEqual({ fromUs: 0, lengthUs: 60 });
  expect(longestSilence([10, 20], 0, 100)).toEqual({ fromUs: 20, lengthUs: 80 });
  expect(longestSilence([], 5, 100)).toEqual({ fromUs: 5, lengthUs: 95 });
});

it('the order in which clients report does not matter', () => {
  expect(longestSilence([80, 10, 70, 20, 900], 0, 100)).toEqual({ fromUs: 20, lengthUs: 50 });
});
