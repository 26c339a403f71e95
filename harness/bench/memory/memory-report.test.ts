import { describe, expect, test } from 'vitest';
import { figuresOf } from './memory-report.ts';

const looks = (...residentMiB: readonly number[]) =>
  residentMiB.map((mib, at) => ({ atSeconds: 5 * at, residentMiB: mib }));

describe('memory under a load that goes on', () => {
  test('is flat if it only grew while it warmed up', () => {
    expect(figuresOf(looks(80, 150, 200, 205, 198, 204, 207, 203))).toEqual({
      quarters: [115, 202.5, 201, 205],
      mostMiB: 207,
      isFlat: true,
    });
  });

  test('grows if the last quarter holds more than a tenth more than the second', () => {
    expect(figuresOf(looks(80, 100, 120, 140, 160, 180, 200, 220)).isFlat).toBe(false);
  });

  test('cannot be told from a moment', () => {
    expect(() => figuresOf(looks(1, 2, 3))).toThrow(RangeError);
  });
});
