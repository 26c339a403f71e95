/** Alters one event of a recorded trace (mutants.ts). Event numbers are closed up again, so that a gap gives nothing away. */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { mutants, type Mutant, type MutantKind } from './mutants.ts';
import { NothingToAlterError } from './nothing-to-alter.ts';
import type { ConsensusEvent } from './read-trace.ts';

export interface Mutated {
  readonly events: TraceEvent[];
  readonly original: ConsensusEvent;
}

/** Alters the middle one of the events that the mutant applies to. @throws NothingToAlterError */
export function mutate(events: readonly TraceEvent[], kind: MutantKind): Mutated {
  const mutant: Mutant = mutants[kind];
  const candidates = events.filter((event) => event.layer === 'consensus' && mutant.applies(event));
  const original = candidates[Math.floor(candidates.length / 2)];
  if (original?.layer !== 'consensus')
    throw new NothingToAlterError(`the trace has no event to alter for ${kind}`);
  const altered = mutant.alter(original);
  const result = events.flatMap((event): TraceEvent[] => {
    if (event === original) return altered === null ? [] : [altered];
    const isBehind =
      event.replica === original.replica && event.run === original.run && event.seq > original.seq;
    return [altered === null && isBehind ? { ...event, seq: event.seq - 1 } : event];
  });
  return { events: result, original };
}

/** Exchanges an event with the one before it in its run: the order in which one replica did things. */
export function swapWithPrevious(events: readonly TraceEvent[], target: TraceEvent): TraceEvent[] {
  return events.map((event) => {
    if (event.replica !== target.replica || event.run !== target.run) return event;
    if (event.seq === target.seq) return { ...event, seq: target.seq - 1 };
    return event.seq === target.seq - 1 ? { ...event, seq: target.seq } : event;
  });
}
