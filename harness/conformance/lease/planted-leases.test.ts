/** A bug of the lease in the product is seen in the traces of its groups: the specification refuses them where it shows, whatever clients notice. */
import { describe, expect, it } from 'vitest';
import { loadMutant } from '../../groups/mutant.ts';
import { ofLeases } from '../../groups/planted-leases.ts';
import { recordRun } from '../../groups/record-run.ts';
import { judgeLeaseRuns, leaseRunOf } from './lease-trace.ts';

/** Seeds on from the one that is known to show it: room for changes that reshuffle what happens. */
const seedsMax = 12;

describe('a planted bug of the lease is refused', () => {
  for (const { name, mutations, strain, seed: first, refusedAt } of ofLeases) {
    it(`${name}, at ${refusedAt.join(' or ')}`, async () => {
      const run = await loadMutant(name, mutations);
      let refused: string | undefined;
      for (let seed = first; refused === undefined && seed < first + seedsMax; seed++) {
        const { events } = await recordRun({ seed, rounds: 1, restMs: 1000, ...strain }, run);
        const [outcome] = await judgeLeaseRuns([{ ...leaseRunOf(events)!, contradiction: null }]);
        if (outcome?.kind === 'rejected') refused = outcome.recorded?.name;
      }
      expect(refusedAt).toContain(refused);
    });
  }
});
