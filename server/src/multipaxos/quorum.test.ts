import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countMembers, majority, replicasMax, reachedBy } from './quorum.ts';

const anyMask = fc.integer({ min: 0, max: 0x7fffffff });

describe('quorums', () => {
  it('count each member of a mask once', () => {
    fc.assert(
      fc.property(anyMask, (mask) => {
        expect(countMembers(mask)).toBe(mask.toString(2).replaceAll('0', '').length);
      }),
    );
  });

  it('of one configuration, or of two that differ by one voter, always share a member', () => {
    for (let members = 1; members <= replicasMax; members += 1) {
      expect(2 * majority(members)).toBeGreaterThan(members);
      expect(majority(members) + majority(members + 1)).toBeGreaterThan(members + 1);
      expect(2 * (majority(members) - 1)).toBeLessThanOrEqual(members);
    }
  });

  it('find the highest value that enough members have reached', () => {
    fc.assert(
      fc.property(fc.array(fc.integer(), { minLength: 1, maxLength: 7 }), fc.nat(6), (values, index) => {
        const count = (index % values.length) + 1;
        expect(reachedBy(values, count)).toBe(values.toSorted((a, b) => b - a)[count - 1]);
      }),
    );
  });

  it('have reached nothing while too few have', () => {
    expect(reachedBy([1, 2], 3)).toBe(Number.NEGATIVE_INFINITY);
  });
});
