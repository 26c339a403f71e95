/** The runs whose traces are altered: what is simulated for a seed. */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { recordGroup } from '../../conformance/fresh/record-group.ts';
import { losses, optionsOfSeed } from '../../simulation/options.ts';
import { simulate } from '../../simulation/simulation.ts';
import { recordTrace } from '../../simulation/trace-recorder.ts';
import type { TraceLayer } from './alterations.ts';

export interface TraceSource {
  readonly name: string;
  readonly events: readonly TraceEvent[];
}

const stepsSimulated = 500;
const eventsMax = 100_000;
/** So many runs of whole replicas have, together, most of what can become of a database. */
const groups = 4;

/** @throws Error if a run breaks what must hold */
export async function sourcesOf(layer: TraceLayer, seed: number): Promise<readonly TraceSource[]> {
  if (layer === 'consensus')
    return [{ name: `seed ${seed} of the mix that loses disks`, events: simulated(seed) }];
  const sources: TraceSource[] = [];
  for (let at = 0; at < groups; at++) {
    const one = seed + at;
    sources.push({ name: `seed ${one} of groups`, events: await recordGroup(one) });
  }
  return sources;
}

function simulated(seed: number): readonly TraceEvent[] {
  const recorder = recordTrace(eventsMax);
  const { failure } = simulate(optionsOfSeed(seed, { ...losses, steps: stepsSimulated }), recorder);
  if (failure !== null) throw new Error(`seed ${seed} failed: ${failure.message}`);
  return recorder.events;
}
