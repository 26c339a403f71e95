import { describe, expect, it } from 'vitest';
import { plantedBugs } from './planted.ts';
import { findFailure } from './simulation.ts';

/** Each bug has shown within 120 seeds; the bound leaves room for changes that reshuffle what happens. */
const seedsMax = 400;

describe('a planted bug is caught', () => {
  for (const { core, caughtBy, options } of plantedBugs) {
    it(`${core.name} breaks ${caughtBy.join(' or ')}`, { timeout: 120_000 }, () => {
      const result = findFailure(1, seedsMax, { steps: 5000, ...options, core });
      expect(caughtBy).toContain(result?.failure?.rule);
    });
  }
});
