import { describe, expect, test } from 'vitest';
import { following, momentOf, passed, play, standAt } from './playhead.ts';

const extent = { firstMs: 1_000, lastMs: 5_000 };

describe('the playhead', () => {
  test('looks at nothing that is not kept', () => {
    expect(momentOf(following, extent)).toBe(5_000);
    expect(momentOf(standAt(0, extent), extent)).toBe(1_000);
    expect(momentOf(standAt(9_000, extent), extent)).toBe(5_000);
    expect(momentOf(standAt(1_200, extent), { firstMs: 3_000, lastMs: 8_000 })).toBe(3_000);
  });

  test('plays at its speed, and follows when it has come to the end', () => {
    const slow = play(standAt(2_000, extent), 0.25, extent);
    const later = passed(slow, 1_000, extent);
    expect(momentOf(later, extent)).toBe(2_250);
    expect(passed(later, 1_000_000, extent)).toEqual(following);
  });

  test('has nothing to play where it stands at the end', () => {
    expect(play(standAt(5_000, extent), 1, extent)).toEqual(following);
    expect(passed(standAt(2_000, extent), 1_000, extent)).toEqual(standAt(2_000, extent));
  });
});
