/**
 * One order of all values: which element of a set CHOOSE takes, and in which order the elements of a set are looked at.
 *
 * It is TLC's for what specifications compare: numbers, strings, booleans, tuples, records, and sets of those. Model values come in the order of their names; in TLC, in that in which it met them.
 */
import { isSet, type Mapping, type ModelValue, type Record, type Sequence, type Value } from './value.ts';

/** Values that TLC does not compare come in this order. */
const kinds = ['boolean', 'number', 'string', 'model', 'sequence', 'record', 'mapping', 'set'] as const;

const rank = (value: Value): number =>
  kinds.indexOf(typeof value === 'object' ? value.kind : (typeof value as 'number'));

export function compare(a: Value, b: Value): number {
  if (a === b) return 0;
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : 1;
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (typeof a !== 'object' || typeof b !== 'object') return Number(a) - Number(b);
  if (isSet(a)) return isSet(b) ? compareItems(a.sorted(), b.sorted()) : 1;
  switch (a.kind) {
    case 'model':
      return a.name < (b as ModelValue).name ? -1 : 1;
    case 'sequence': {
      const { first, items } = b as Sequence;
      return a.items.length - items.length || a.first - first || compareItems(a.items, items);
    }
    case 'record': {
      const { shape, values } = b as Record;
      const byNames = a.shape.names.length - shape.names.length || compareItems(a.shape.names, shape.names);
      return byNames || compareItems(a.values, values);
    }
    case 'mapping':
      return compareMappings(a, b as Mapping);
    default:
      return a satisfies never;
  }
}

function compareItems(a: readonly Value[], b: readonly Value[]): number {
  if (a.length !== b.length) return a.length - b.length;
  for (let i = 0; i < a.length; i++) {
    const order = compare(a[i]!, b[i]!);
    if (order !== 0) return order;
  }
  return 0;
}

function compareMappings(a: Mapping, b: Mapping): number {
  const [as, bs] = [a.domain.sorted(), b.domain.sorted()];
  const byDomain = compareItems(as, bs);
  if (byDomain !== 0) return byDomain;
  return compareItems(
    as.map((at) => a.valueAt(at)!),
    bs.map((at) => b.valueAt(at)!),
  );
}
