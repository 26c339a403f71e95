/**
 * What a place in an event of the layer `apply` is altered to: values that could stand there, so that only what they say gives them away.
 *
 * A position becomes the next one that the trace mentions, too; a label the next one of the trace; a word each other word that the field has.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { applyForms } from '../../conformance/trace/apply-form.ts';
import type { ApplyEvent } from '../../conformance/trace/apply-event.ts';
import { byOne, type Change, type Leaves, type Path } from './json-changes.ts';

type Leaf = Omit<Change, 'path'>;

const positionNames: ReadonlySet<string> = new Set([
  'start',
  'end',
  'fork',
  'position',
  'flushed',
  'replayed',
]);

export function applyLeaves(
  events: readonly TraceEvent[],
  owners: readonly string[],
): (event: ApplyEvent) => Leaves {
  const positions = sorted(events.flatMap(positionsOf), (a, b) => a - b);
  const labels = sorted(events.flatMap(labelsOf), (a, b) => (a < b ? -1 : 1));
  return (event) => ({
    text: (text, path) => textsFor(event, text, path, { owners, labels }),
    number: (value, path) => [
      ...byOne(value),
      ...(positionNames.has(String(path[0])) ? neighboursOf(positions, value) : []),
    ],
    notNull: '',
  });
}

function sorted<T>(values: readonly T[], compare: (a: T, b: T) => number): readonly T[] {
  return [...new Set(values)].sort(compare);
}

function positionsOf(event: TraceEvent): number[] {
  if (event.layer !== 'apply') return [];
  return Object.entries(event).flatMap(([key, value]) =>
    positionNames.has(key) && typeof value === 'number' ? [value] : [],
  );
}

function labelsOf(event: TraceEvent): string[] {
  return event.layer === 'apply' && 'label' in event ? [event.label] : [];
}

function neighboursOf(positions: readonly number[], value: number): Leaf[] {
  const at = positions.indexOf(value);
  const [before, next] = [positions[at - 1], positions[at + 1]];
  return [
    ...(next === undefined ? [] : [{ how: 'the next place', value: next }]),
    ...(before === undefined ? [] : [{ how: 'the place before', value: before }]),
  ];
}

/** The one behind it, or the first. */
function another(values: readonly string[], value: string): string {
  return values[(values.indexOf(value) + 1) % values.length] ?? `${value}x`;
}

function textsFor(
  event: ApplyEvent,
  text: string,
  path: Path,
  { owners, labels }: { readonly owners: readonly string[]; readonly labels: readonly string[] },
): Leaf[] {
  const [first] = path;
  const field = applyForms[event.name][String(first)];
  // People alone read it: any other words would do, as long as there are some.
  if (field === 'text') return [];
  if (Array.isArray(field))
    return field.filter((word) => word !== text).map((word) => ({ how: `${word} for ${text}`, value: word }));
  if (field === 'xid' || field === 'xids') {
    const id = BigInt(text);
    return [
      { how: 'one more', value: String(id + 1n) },
      { how: 'one less', value: String(id - 1n) },
    ];
  }
  if (field === 'label') return [{ how: 'another', value: another(labels, text) }];
  if (field === 'ballot' || field === 'replica' || first === 'replica')
    return [{ how: 'another', value: another(owners, text) }];
  return [{ how: 'another', value: `${text}x` }];
}
