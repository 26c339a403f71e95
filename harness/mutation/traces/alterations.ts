/**
 * The alterations of a recorded trace: every field of every event, one at a time, and events as a whole.
 *
 * Responsible for: listing them and making the altered trace. Left alone is only what says when and in which order an event was recorded (`atUs`, `seq`,
 * `run`) and the layer. Event numbers are closed up again where an event goes or comes twice, so that a gap gives nothing away.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { ConsensusEvent } from '../../conformance/trace/read-trace.ts';

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type Step = string | number;

export interface TraceMutant {
  readonly name: string;
  /** Alterations of the same field of events of the same name, in the same way, are of one class. */
  readonly className: string;
  readonly target: ConsensusEvent;
  /** What stands in the place of the event. */
  readonly by: readonly ConsensusEvent[];
}

const unaltered: ReadonlySet<string> = new Set(['atUs', 'seq', 'run', 'layer']);
/** Another ballot's owner, another sender, another name: one that belongs to the group. */
const ownersOf = (events: readonly TraceEvent[]): string[] =>
  [...new Set(events.map(({ replica }) => replica))].sort();

export function traceMutants(events: readonly TraceEvent[]): TraceMutant[] {
  const owners = ownersOf(events);
  return events.flatMap((event) => (event.layer === 'consensus' ? mutantsOfEvent(event, owners) : []));
}

function mutantsOfEvent(event: ConsensusEvent, owners: readonly string[]): TraceMutant[] {
  const named = (how: string, path: readonly Step[], by: readonly ConsensusEvent[]): TraceMutant => {
    const field = path.map((step) => (typeof step === 'number' ? '[]' : step)).join('.');
    const className = `${event.name} ${field} ${how}`.replaceAll('.[]', '[]').replace('  ', ' ');
    const at = `${event.replica} ${event.run} ${event.seq}`;
    return { name: `${className} (${at}: ${path.join('.')})`, className, target: event, by };
  };
  const whole = [named('dropped', [], []), named('twice', [], [event, event])];
  const inside = changesOf(event as unknown as Json, owners)
    .filter(({ path, how }) => how !== 'gone' || mayBeGone(path))
    .map(({ path, how, value }) => named(how, path, [value as unknown as ConsensusEvent]));
  return [...whole, ...inside];
}

/** A ballot without its round, or a state without its role, is no event: nothing is learnt from those. */
function mayBeGone(path: readonly Step[]): boolean {
  return path.length === 1 || (path.length === 2 && path[0] === 'message');
}

interface Change {
  readonly path: readonly Step[];
  readonly how: string;
  readonly value: Json;
}

/** The value with one place in it altered, in every way. */
function changesOf(value: Json, owners: readonly string[]): Change[] {
  if (value === null) return [{ path: [], how: 'not null', value: { round: 1, replica: owners[0]! } }];
  if (typeof value === 'boolean') return [{ path: [], how: 'negated', value: !value }];
  if (typeof value === 'number')
    return [1, -1].map((by) => ({ path: [], how: by > 0 ? 'one more' : 'one less', value: value + by }));
  if (typeof value === 'string') return [{ path: [], how: 'another', value: another(value, owners) }];
  if (isList(value)) return value.flatMap((one, index) => changesOfItem(value, one, index, owners));
  return Object.entries(value).flatMap(([key, one]) =>
    unaltered.has(key) ? [] : changesOfField(value, key, one, owners),
  );
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function changesOfItem(
  list: readonly Json[],
  item: Json,
  index: number,
  owners: readonly string[],
): Change[] {
  const inside = changesOf(item, owners).map(({ path, how, value }) => ({
    path: [index, ...path],
    how,
    value: list.with(index, value),
  }));
  // A vote is a tuple: none of its three can go alone.
  const isTuple = !list.some((one) => typeof one === 'object' && one !== null) || isVote(list);
  const isNames = list.every((one) => typeof one === 'string');
  if (isTuple && !isNames) return inside;
  return [{ path: [index], how: 'dropped', value: list.toSpliced(index, 1) }, ...inside];
}

/** [slot, ballot or null, label] */
function isVote(list: readonly Json[]): boolean {
  return list.length === 3 && typeof list[0] === 'number' && typeof list[2] === 'string';
}

function changesOfField(
  record: { readonly [key: string]: Json },
  key: string,
  field: Json,
  owners: readonly string[],
): Change[] {
  const { [key]: _gone, ...others } = record;
  const inside = changesOf(field, owners).map(({ path, how, value }) => ({
    path: [key, ...path],
    how,
    value: { ...record, [key]: value },
  }));
  return [{ path: [key], how: 'gone', value: others }, ...inside];
}

/** A replica becomes another one, an action or a label something that is none. */
function another(text: string, owners: readonly string[]): string {
  const at = owners.indexOf(text);
  return at === -1 ? `${text}x` : owners[(at + 1) % owners.length]!;
}

export function alteredTrace(events: readonly TraceEvent[], { target, by }: TraceMutant): TraceEvent[] {
  const shift = by.length - 1;
  return events.flatMap((event): TraceEvent[] => {
    if (event === target) return by.map((one, index) => ({ ...one, seq: target.seq + index }));
    const isBehind = event.run === target.run && event.seq > target.seq;
    return [isBehind ? { ...event, seq: event.seq + shift } : event];
  });
}
