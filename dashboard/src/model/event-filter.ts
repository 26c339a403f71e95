/**
 * Which events the list shows. An empty set of replicas or layers lets all through, so that a replica that joins later is seen.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { describeEvent, isRoutine } from './event-text.ts';
import { replicaOf } from './incarnation.ts';

export type Layer = TraceEvent['layer'];

export const layers: readonly Layer[] = ['consensus', 'apply', 'lease', 'operation'];

export interface EventFilter {
  readonly replicas: ReadonlySet<string>;
  readonly layers: ReadonlySet<Layer>;
  readonly routine: boolean;
  /** Case-insensitive, looked for in the name and the description. */
  readonly text: string;
}

export const noFilter: EventFilter = { replicas: new Set(), layers: new Set(), routine: false, text: '' };

export function matches(filter: EventFilter, event: TraceEvent): boolean {
  if (filter.replicas.size > 0 && !filter.replicas.has(replicaOf(event.replica))) return false;
  if (filter.layers.size > 0 && !filter.layers.has(event.layer)) return false;
  if (!filter.routine && isRoutine(event)) return false;
  const text = filter.text.trim().toLowerCase();
  return text === '' || `${event.name} ${describeEvent(event)}`.toLowerCase().includes(text);
}

/** The set with `item` added, or taken away if it was there. */
export function toggled<T>(set: ReadonlySet<T>, item: T): ReadonlySet<T> {
  const next = new Set(set);
  if (!next.delete(item)) next.add(item);
  return next;
}

/** By the machine's clock: the batches of different replicas arrive in any order. */
export function newestFirst(events: readonly TraceEvent[]): readonly TraceEvent[] {
  return events.toSorted((a, b) => b.atUs - a.atUs || (a.run === b.run ? b.seq - a.seq : 0));
}
