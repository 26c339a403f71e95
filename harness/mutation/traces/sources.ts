/** The runs whose traces are altered: what groups of whole replicas record for a seed. */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { recordGroup } from '../../conformance/fresh/record-group.ts';
import type { TraceLayer } from './alterations.ts';

export interface TraceSource {
  readonly name: string;
  readonly events: readonly TraceEvent[];
}

/** So many runs of whole replicas have, together, most of what can become of a core, a lease or a database. */
const groups = 4;
/** In few runs a copy is ahead of a log. */
const copying = { replicas: 5, only: ['a copy tells of the members'] };

/** @throws Error if a run breaks what must hold */
export async function sourcesOf(layer: TraceLayer, seed: number): Promise<readonly TraceSource[]> {
  const mix = layer === 'consensus' ? 'losses' : 'default';
  const sources: TraceSource[] = [];
  for (let at = 0; at < groups; at++) {
    const one = seed + at;
    sources.push({ name: `seed ${one} of groups`, events: await recordGroup(one, mix) });
  }
  if (layer === 'consensus')
    sources.push({
      name: `seed ${seed} of groups, with copies`,
      events: await recordGroup(seed, 'default', copying),
    });
  return sources;
}
