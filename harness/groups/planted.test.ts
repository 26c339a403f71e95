/** Bugs of the product, each of which random schedules must find. */
import { describe, expect, it } from 'vitest';
import { loadMutant } from './mutant.ts';
import { plantedBugs } from './planted.ts';

/** Seeds on from the one that is known to find it: room for changes that reshuffle what happens. */
const seedsMax = 12;

describe('a planted bug is found', () => {
  for (const { name, mutations, strain, seed: first, expected } of plantedBugs) {
    it(`${name}, from seed ${first} on`, async () => {
      const run = await loadMutant(name, mutations);
      let found: string | undefined;
      for (let seed = first; found === undefined && seed < first + seedsMax; seed++) {
        const { faults } = await run({ seed, rounds: 1, ...strain });
        found = faults.find((fault) => expected.test(fault));
      }
      expect(found).toBeDefined();
    });
  }
});

it('a bug whose text is not there is not planted', async () => {
  const mutation = { file: 'payload/wal/shipper.ts', find: 'what nobody wrote', replace: '' };
  await expect(loadMutant('nothing', [mutation])).rejects.toThrow('what nobody wrote');
});
