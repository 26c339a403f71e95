/** Values as TLC prints them. */
import { domainOf } from './functions.ts';
import { isSet, type Value } from './value.ts';

export function formatValue(value: Value): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return `"${value}"`;
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE';
  if (isSet(value)) return `{${value.sorted().map(formatValue).join(', ')}}`;
  switch (value.kind) {
    case 'model':
      return value.name;
    case 'record':
      return `[${value.shape.names.map((name, i) => `${name} |-> ${formatValue(value.values[i]!)}`).join(', ')}]`;
    case 'sequence':
      return value.first === 1
        ? `<<${value.items.map(formatValue).join(', ')}>>`
        : pairs(value.items.map((item, i) => [value.first + i, item]));
    case 'mapping':
      return pairs(
        domainOf(value)
          .sorted()
          .map((at) => [at, value.valueAt(at)!]),
      );
    default:
      return value satisfies never;
  }
}

function pairs(all: readonly (readonly [Value, Value])[]): string {
  return `(${all.map(([at, value]) => `${formatValue(at)} :> ${formatValue(value)}`).join(' @@ ')})`;
}
