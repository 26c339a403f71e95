/**
 * A recorded run as a walk: its events around one of them, each as the action of the specification that it claims to be, with what it says of itself and the state that each replica has told last.
 *
 * Pure.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { functionOn } from '../../../harness/tla/functions.ts';
import { ListedSet } from '../../../harness/tla/set-value.ts';
import { recordOf, Sequence, type Value } from '../../../harness/tla/value.ts';
import { changedBetween, type ModelText, type WalkStep } from './walk.ts';

const BEFORE_MAX = 60;
const BEHIND_MAX = 8;
/** What places an event, and says nothing of what was done. */
const PLACING = new Set(['layer', 'name', 'run', 'seq', 'atUs', 'state', 'replica']);

export interface RecordedWalk {
  readonly walk: readonly WalkStep[];
  /** The event that it is about, in the walk; null: it is not in it. */
  readonly at: number | null;
}

export interface WalkSubject {
  /** Of these events only. */
  readonly layer: TraceEvent['layer'];
  /** Null: the last one. */
  readonly about: Pick<TraceEvent, 'run' | 'seq'> | null;
}

/** Whose actions the events are, by the module that says what these mean. */
export function layerOf(module: string): TraceEvent['layer'] {
  if (module === 'OrderedApply') return 'apply';
  if (module === 'Lease') return 'lease';
  return module === 'Paxos' || module === 'PrimaryCopies' ? 'protocol' : 'consensus';
}

export function recordedWalk(
  events: readonly TraceEvent[],
  { layer, about }: WalkSubject,
  text: ModelText,
): RecordedWalk {
  const all = events
    .filter((event) => event.layer === layer)
    .sort((a, b) => a.atUs - b.atUs || a.seq - b.seq);
  const found =
    about === null ? all.length - 1 : all.findIndex(({ run, seq }) => run === about.run && seq === about.seq);
  const center = found === -1 ? all.length - 1 : found;
  const first = Math.max(0, center - BEFORE_MAX);
  const states = new Map<string, Value>();
  for (const event of all.slice(0, first)) noteState(states, event);
  const walk: WalkStep[] = [];
  for (const [number, event] of all.slice(first, center + 1 + BEHIND_MAX).entries()) {
    noteState(states, event);
    const values = valuesOf(event, states);
    const { name } = stepOf(event);
    const definition = text.definitions.get(name);
    walk.push({
      number,
      title: name,
      operands: event.replica,
      place:
        definition === undefined
          ? null
          : { module: definition.module, first: definition.first, last: definition.last },
      values,
      changed: changedBetween(walk.at(-1)?.values, values),
    });
  }
  return { walk, at: about === null || found === -1 ? null : center - first };
}

/** What an event says: of another protocol its step does. */
function stepOf(event: TraceEvent): { readonly name: string; readonly state?: unknown } {
  return event.layer === 'protocol' ? event.step : event;
}

function noteState(states: Map<string, Value>, event: TraceEvent): void {
  const { state } = stepOf(event);
  if (state !== undefined) states.set(event.replica, valueOf(state));
}

function valuesOf(event: TraceEvent, states: ReadonlyMap<string, Value>): ReadonlyMap<string, Value> {
  const fields = Object.entries(stepOf(event)).filter(
    ([name, value]) => !PLACING.has(name) && value !== undefined,
  );
  const values = new Map<string, Value>([['replica', event.replica]]);
  for (const [name, value] of fields) values.set(name, valueOf(value));
  const replicas = [...states.keys()].sort();
  if (replicas.length > 0)
    values.set(
      'state',
      functionOn(ListedSet.of(replicas), (id) => states.get(id as string)!),
    );
  return values;
}

/** What JSON can say, as a value. */
export function valueOf(json: unknown): Value {
  if (typeof json === 'number' || typeof json === 'string' || typeof json === 'boolean') return json;
  if (Array.isArray(json)) return new Sequence(json.map(valueOf));
  if (typeof json !== 'object' || json === null) return 'none';
  const fields = Object.entries(json).filter(([, value]) => value !== undefined);
  return recordOf(fields.map(([name, value]) => [name, valueOf(value)]));
}
