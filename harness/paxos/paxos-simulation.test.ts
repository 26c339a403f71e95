/** Random runs of groups of single-decree Paxos: nothing is wrong with the core, and what is wrong with a mutant is found. */
import { describe, expect, it } from 'vitest';
import { type PaxosMutant, paxosMutants } from './paxos-mutants.ts';
import { runPaxos, type PaxosRunResult } from './paxos-simulation.ts';

const SEEDS = 20;
const MUTANT_SEEDS = 150;

/** Groups of three mostly; of one to seven, and with lost databases, now and then. */
function runOf(seed: number, mutant?: PaxosMutant): PaxosRunResult {
  const replicas = seed % 5 === 0 ? [1, 2, 4, 5, 7][Math.floor(seed / 5) % 5]! : 3;
  const isUnsteady = seed % 4 === 2;
  const world = { isUnsteady, proposals: isUnsteady ? 200 : 60, loses: seed % 2 === 1 && replicas > 1 };
  const options = { seed, replicas, faultsMs: 2500, healMs: 6000, ...world };
  return runPaxos(mutant === undefined ? options : { ...options, mutant });
}

describe('groups of single-decree Paxos', () => {
  it('agree, choose each proposal once, in order, and have it all when the network heals', () => {
    const sums = { chosen: 0, moved: 0, copies: 0, purged: 0, crashes: 0 };
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const result = runOf(seed);
      expect(result.faults, `seed ${seed}`).toEqual([]);
      for (const key of Object.keys(sums) as (keyof typeof sums)[]) sums[key] += result[key];
    }
    // What is to be seen was seen.
    for (const [what, count] of Object.entries(sums)) expect(count, `${what} in all`).toBeGreaterThan(0);
  });

  it('choose everything soon where nothing fails, all proposing', () => {
    const result = runPaxos({ seed: 7, replicas: 5, faultsMs: 1, healMs: 1500, proposals: 20 });
    expect(result.faults).toEqual([]);
    expect(result.chosen).toBeGreaterThanOrEqual(15);
  });
});

describe('a planted bug is found', () => {
  it.each(paxosMutants)('$name', (mutant) => {
    let found: string | undefined;
    for (let seed = 1; seed <= MUTANT_SEEDS && found === undefined; seed += 1)
      found = runOf(seed, mutant).faults[0]?.rule;
    expect(mutant.breaks).toContain(found);
  });
});
