/** What groups of whole replicas record in the simulated runs of seeds, by mixes, and which of it is judged. */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { isMix, mixes, type MixName } from '../../groups/mixes.ts';
import { recordGroup } from './record-group.ts';

/** A mix of faults, of whose runs the layer `consensus` is judged; `groups`: all layers of runs of the mix `default`. */
export type FreshMix = MixName | 'groups';

export const freshMixes: readonly FreshMix[] = [...(Object.keys(mixes) as MixName[]), 'groups'];

export function isFreshMix(name: string): name is FreshMix {
  return freshMixes.some((mix) => mix === name);
}

export interface RecordedSeed {
  readonly events: readonly TraceEvent[];
  /** What became of databases, and what leases rest on, is judged, too. */
  readonly judgesAll: boolean;
}

/** @throws Error if the run itself breaks a rule */
export async function recordFresh(seed: number, mix: FreshMix): Promise<RecordedSeed> {
  const judgesAll = !isMix(mix);
  return { events: await recordGroup(seed, judgesAll ? 'default' : mix), judgesAll };
}
