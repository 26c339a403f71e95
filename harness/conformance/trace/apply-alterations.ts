/**
 * How a recorded run at the layer `apply` is altered: an event found, dropped, changed or moved. Pure.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { ApplyEvent } from './apply-event.ts';
import { NothingToAlterError } from './nothing-to-alter.ts';

export type Named<Name extends ApplyEvent['name']> = Extract<ApplyEvent, { readonly name: Name }>;

/** Events of one run of one replica, in their order. */
export type Alteration = (events: readonly TraceEvent[]) => readonly TraceEvent[];

/** Whether the run shows what the alteration of this event falsifies: what nothing rests on may as well not have been. */
type Test<Name extends ApplyEvent['name']> = (
  event: Named<Name> & TraceEvent,
  events: readonly TraceEvent[],
) => boolean;

/** The last event of this name that the test is true of. @throws NothingToAlterError */
export function last<Name extends ApplyEvent['name']>(
  events: readonly TraceEvent[],
  name: Name,
  test: Test<Name> = () => true,
): Named<Name> {
  const isIt = (event: TraceEvent): event is Named<Name> & TraceEvent =>
    event.layer === 'apply' && event.name === name && test(event as Named<Name> & TraceEvent, events);
  const found = events.findLast(isIt);
  if (found === undefined) throw new NothingToAlterError(`the run has no ${name} to alter`);
  return found;
}

export function replace(
  events: readonly TraceEvent[],
  target: TraceEvent,
  by: readonly TraceEvent[],
): readonly TraceEvent[] {
  const shift = by.length - 1;
  return events.flatMap((event) => {
    if (event === target) return by.map((one, index) => ({ ...one, seq: target.seq + index }));
    const isBehind = event.run === target.run && event.seq > target.seq;
    return [isBehind ? { ...event, seq: event.seq + shift } : event];
  });
}

export function drop<Name extends ApplyEvent['name']>(name: Name, test?: Test<Name>): Alteration {
  return (events) => replace(events, last(events, name, test), []);
}

export function alter<Name extends ApplyEvent['name']>(
  name: Name,
  change: (event: Named<Name>) => Partial<Named<Name>>,
  test?: Test<Name>,
): Alteration {
  return (events) => {
    const target = last(events, name, test);
    return replace(events, target, [{ ...target, ...change(target) }]);
  };
}

/** Exchanges what happened with what happened next at the layer `apply` of the same run. */
export function exchange<Name extends ApplyEvent['name']>(
  name: Name,
  next: ApplyEvent['name'],
  test: Test<Name> = () => true,
): Alteration {
  return (events) => {
    const behind = (first: TraceEvent): TraceEvent[] =>
      events.filter(
        ({ run, seq, layer, name: other }) =>
          run === first.run && seq > first.seq && layer === 'apply' && other === next,
      );
    const first = last(events, name, (event) => test(event, events) && behind(event).length > 0);
    const second = behind(first).sort((one, other) => one.seq - other.seq)[0] as TraceEvent;
    const { seq, atUs } = first;
    return events.map((event) => {
      if (event === first) return { ...event, seq: second.seq, atUs: second.atUs };
      return event === second ? { ...event, seq, atUs } : event;
    });
  };
}

/** What this run did next at the layer `apply`, up to the first event of the name `end`. */
export function behindUntil(
  event: TraceEvent,
  events: readonly TraceEvent[],
  end: ApplyEvent['name'],
): readonly TraceEvent[] {
  const behind = events
    .filter(({ run, seq, layer }) => run === event.run && seq > event.seq && layer === 'apply')
    .sort((one, other) => one.seq - other.seq);
  const at = behind.findIndex(({ name }) => name === end);
  return at === -1 ? behind : behind.slice(0, at);
}

export const names = (events: readonly TraceEvent[]): readonly string[] => events.map(({ name }) => name);

/** The newest event of one of these names that its run told before it. */
export function newestBefore<Name extends ApplyEvent['name']>(
  { run, seq }: TraceEvent,
  events: readonly TraceEvent[],
  among: readonly Name[],
): Named<Name> | null {
  let newest: (Named<Name> & TraceEvent) | null = null;
  for (const event of events) {
    if (event.run !== run || event.seq > seq || event.layer !== 'apply') continue;
    if (!among.some((name) => name === event.name) || event.seq < (newest?.seq ?? 0)) continue;
    newest = event as Named<Name> & TraceEvent;
  }
  return newest;
}
