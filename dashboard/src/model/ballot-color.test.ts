import { describe, expect, test } from 'vitest';
import { ballotColor, ballotHue } from './ballot-color.ts';
import { ballot } from './testing.ts';

function apart(one: number, other: number): number {
  const distance = Math.abs(one - other) % 360;
  return Math.min(distance, 360 - distance);
}

describe('the colour of a ballot', () => {
  test('is far from those of the rounds next to it, and of another replica in the same one', () => {
    for (let round = 1; round < 200; round += 1)
      for (const id of ['r1', 'r2', 'r3', 'r9']) {
        const own = ballotHue(ballot(round, id))!;
        expect(apart(own, ballotHue(ballot(round + 1, id))!)).toBeGreaterThan(40);
        expect(apart(own, ballotHue(ballot(round, id === 'r1' ? 'r2' : 'r1'))!)).toBeGreaterThan(15);
      }
  });

  test('is never the red of what is broken', () => {
    for (let round = 1; round < 500; round += 1)
      for (const id of ['r1', 'r5', 'zebra']) {
        const hue = ballotHue(ballot(round, id))!;
        expect(hue > 5 && hue < 50).toBe(false);
      }
  });

  test('is the same each time, another in the dark, and grey for none', () => {
    expect(ballotColor(ballot(7, 'r2'), 'light')).toBe(ballotColor(ballot(7, 'r2'), 'light'));
    expect(ballotColor(ballot(7, 'r2'), 'light')).not.toBe(ballotColor(ballot(7, 'r2'), 'dark'));
    expect(ballotHue(ballot(0, ''))).toBeNull();
  });
});
