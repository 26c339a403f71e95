import { describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { decideFault, healthyLink, seededRandom } from './link-faults.ts';

const link = healthyLink('r1' as ReplicaId, 'r2' as ReplicaId);

describe('the fate of a message on a faulty link', () => {
  it('is the same for the same seed, and another for another', () => {
    const fates = (seed: number) => {
      const random = seededRandom(seed);
      return Array.from(
        { length: 200 },
        () => decideFault({ ...link, drop: 0.3, duplicate: 0.3 }, random).length,
      );
    };
    expect(fates(7)).toEqual(fates(7));
    expect(fates(7)).not.toEqual(fates(8));
    expect(new Set(fates(7))).toEqual(new Set([0, 1, 2]));
  });

  it('is to arrive once on a healthy link, and never on a cut one', () => {
    const random = seededRandom(1);
    expect(decideFault(link, random)).toEqual([0]);
    expect(decideFault({ ...link, cut: true, duplicate: 1 }, random)).toEqual([]);
    expect(decideFault({ ...link, delayMs: 40, duplicate: 1 }, random)).toEqual([40, 40]);
  });

  it('draws numbers that spread evenly over [0, 1)', () => {
    const random = seededRandom(42);
    const tenths = Array.from({ length: 10 }, () => 0);
    for (let count = 0; count < 10_000; count += 1) {
      const tenth = Math.floor(random() * 10);
      tenths[tenth] = (tenths[tenth] ?? 0) + 1;
    }
    expect(Math.min(...tenths)).toBeGreaterThan(850);
    expect(Math.max(...tenths)).toBeLessThan(1150);
  });
});
