/** What is recorded in the simulated run of a seed: by cores among imitations of everything else, or by whole replicas. */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { isMix, mixes, type MixName } from '../../simulation/mixes.ts';
import { recordGroup } from './record-group.ts';
import { recordSeed } from './record-seed.ts';

/** `groups`: whole replicas, under all the faults of harness/groups. */
export type FreshMix = MixName | 'groups';

export const freshMixes: readonly FreshMix[] = [...(Object.keys(mixes) as MixName[]), 'groups'];

export function isFreshMix(name: string): name is FreshMix {
  return freshMixes.some((mix) => mix === name);
}

export interface FreshSeedOptions {
  readonly mix: FreshMix;
  /** Of the simulator of cores, under faults. */
  readonly steps: number;
}

/** @throws Error if the run itself breaks a rule */
export async function recordFresh(
  seed: number,
  { mix, steps }: FreshSeedOptions,
): Promise<readonly TraceEvent[]> {
  return isMix(mix) ? recordSeed(seed, { mix, steps }) : recordGroup(seed);
}
