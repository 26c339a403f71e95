/**
 * The alterations of a recorded trace: every field of every event of a layer, one at a time, and events as a whole.
 *
 * Responsible for: listing them and making the altered trace. Left alone is only what says when and in which order an event was recorded (`atUs`, `seq`,
 * `run`) and the layer. Event numbers are closed up again where an event goes or comes twice, so that a gap gives nothing away.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { applyLeaves } from './apply-leaves.ts';
import { leaseLeaves } from './lease-leaves.ts';
import { byOne, changesOf, type Json, type Leaves, type Path } from './json-changes.ts';

export const traceLayers = ['consensus', 'apply', 'lease'] as const;
export type TraceLayer = (typeof traceLayers)[number];

type LayerEvent = Extract<TraceEvent, { layer: TraceLayer }>;

export interface TraceMutant {
  readonly name: string;
  /** Alterations of the same field of events of the same name, in the same way, are of one class. */
  readonly className: string;
  readonly target: LayerEvent;
  /** What stands in the place of the event. */
  readonly by: readonly LayerEvent[];
}

/** Another ballot's owner, another sender, another name: one that belongs to the group. */
const ownersOf = (events: readonly TraceEvent[]): string[] =>
  [...new Set(events.map(({ replica }) => replica))].sort();

export function traceMutants(events: readonly TraceEvent[], layer: TraceLayer = 'consensus'): TraceMutant[] {
  const owners = ownersOf(events);
  const ofConsensus = consensusLeaves(owners);
  const ofApply = applyLeaves(events, owners);
  const ofLease = leaseLeaves(events, owners);
  return events.flatMap((event) => {
    if (event.layer !== layer) return [];
    if (event.layer === 'apply') return mutantsOfEvent(event, ofApply(event));
    return mutantsOfEvent(event, event.layer === 'lease' ? ofLease : ofConsensus);
  });
}

function mutantsOfEvent(event: LayerEvent, leaves: Leaves): TraceMutant[] {
  const named = (how: string, path: Path, by: readonly LayerEvent[]): TraceMutant => {
    const field = path.map((step) => (typeof step === 'number' ? '[]' : step)).join('.');
    const className = `${event.name} ${field} ${how}`.replaceAll('.[]', '[]').replace('  ', ' ');
    // Runs of a group have other names each time.
    const at = event.layer !== 'consensus' ? `at ${event.atUs}` : `${event.run} ${event.seq}`;
    return { name: `${className} (${event.replica} ${at}: ${path.join('.')})`, className, target: event, by };
  };
  const whole = [named('dropped', [], []), named('twice', [], [event, event])];
  const inside = changesOf(event as unknown as Json, leaves)
    .filter(({ path, how }) => how !== 'gone' || mayBeGone(path))
    .map(({ path, how, value }) => named(how, path, [value as unknown as LayerEvent]));
  return [...whole, ...inside];
}

/** A ballot without its round, or a state without its role, is no event: nothing is learnt from those. */
function mayBeGone(path: Path): boolean {
  return path.length === 1 || (path.length === 2 && path[0] === 'message');
}

/** A replica becomes another one, an action or a label something that is none. */
function consensusLeaves(owners: readonly string[]): Leaves {
  const another = (text: string): string => {
    const at = owners.indexOf(text);
    return at === -1 ? `${text}x` : owners[(at + 1) % owners.length]!;
  };
  return {
    text: (text) => [{ how: 'another', value: another(text) }],
    number: byOne,
    notNull: { round: 1, replica: owners[0]! },
  };
}

export function alteredTrace(events: readonly TraceEvent[], { target, by }: TraceMutant): TraceEvent[] {
  const shift = by.length - 1;
  return events.flatMap((event): TraceEvent[] => {
    if (event === target) return by.map((one, index) => ({ ...one, seq: target.seq + index }));
    const isBehind = event.run === target.run && event.seq > target.seq;
    return [isBehind ? { ...event, seq: event.seq + shift } : event];
  });
}
