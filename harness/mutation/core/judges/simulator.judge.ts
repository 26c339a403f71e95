/** The second judge: the simulator, with the usual faults, lost disks and changes of the members, few replicas and many. */
import { describe, expect, it } from 'vitest';
import { calm, losses, type SimulationOptions } from '../../../simulation/options.ts';
import { findFailure, simulate } from '../../../simulation/simulation.ts';

const runs: readonly (readonly [name: string, seeds: number, overrides: Partial<SimulationOptions>])[] = [
  ['three replicas', 20, { steps: 3000 }],
  ['lost disks', 12, { ...losses, steps: 3000 }],
  ['five replicas', 8, { steps: 3000, replicas: 5 }],
  ['five replicas and lost disks', 6, { ...losses, steps: 3000, replicas: 5 }],
  ['one replica', 3, { steps: 1000, replicas: 1 }],
];

describe('a mutant in the simulator', () => {
  it('answers when nothing fails', () => {
    const result = simulate({ ...calm, steps: 3000 });
    expect(result.failure).toBeNull();
    expect(result.acknowledgedWrites).toBeGreaterThan(100);
  });

  it.each(runs)('keeps every rule with %s', (_name, seeds, overrides) => {
    expect(findFailure(1, seeds, overrides)?.failure).toBeUndefined();
  });
});
