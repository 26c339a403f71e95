/** Functions, records and sequences: made, applied, altered and joined. */
import { equal } from './equality.ts';
import { Interval, ListedSet, type SetValue } from './set-value.ts';
import { TlaError } from './tla-error.ts';
import { isSet, Mapping, ModelValue, Record, recordOf, Sequence, type Value } from './value.ts';

export type FunctionValue = Sequence | Record | Mapping;

/** @throws TlaError if it is none */
export function asFunction(value: Value): FunctionValue {
  if (typeof value === 'object' && !isSet(value) && !(value instanceof ModelValue)) return value;
  throw new TlaError(`${typeof value === 'object' ? 'a set' : JSON.stringify(value)} is no function`);
}

/** @throws TlaError if it is none */
export function asSequence(value: Value): Sequence {
  if (value instanceof Sequence && value.first === 1) return value;
  throw new TlaError('what is no sequence is taken for one');
}

export function functionOn(domain: SetValue, valueAt: (argument: Value) => Value): FunctionValue {
  if (domain instanceof Interval) {
    const values: Value[] = [];
    for (let i = domain.low; i <= domain.high; i++) values.push(valueAt(i));
    return new Sequence(values, domain.low);
  }
  const at = domain.sorted();
  const values = at.map(valueAt);
  const [first] = at;
  if (first === undefined) return new Sequence([]);
  if (at.every((argument, index) => typeof first === 'number' && argument === first + index))
    return new Sequence(values, first as number);
  if (at.every((argument) => typeof argument === 'string'))
    return asFunction(recordOf(at.map((name, index) => [name, values[index]!])));
  return new Mapping(ListedSet.ofDistinct([...at]), (argument) => {
    const place = at.findIndex((one) => equal(one, argument));
    return values[place];
  });
}

export function domainOf(value: FunctionValue): SetValue {
  switch (value.kind) {
    case 'sequence':
      return new Interval(value.first, value.first + value.items.length - 1);
    case 'record':
      return ListedSet.ofDistinct([...value.shape.names]);
    case 'mapping':
      return value.domain;
    default:
      return value satisfies never;
  }
}

/** @throws TlaError outside of its domain */
export function applied(value: FunctionValue, argument: Value): Value {
  const found = valueIn(value, argument);
  if (found === undefined)
    throw new TlaError(`a function is applied to ${describe(argument)}, which is not in its domain`);
  return found;
}

function valueIn(value: FunctionValue, argument: Value): Value | undefined {
  switch (value.kind) {
    case 'sequence':
      return typeof argument === 'number' ? value.items[argument - value.first] : undefined;
    case 'record':
      return typeof argument === 'string' ? fieldOf(value, argument) : undefined;
    case 'mapping':
      return value.valueAt(argument);
    default:
      return value satisfies never;
  }
}

function fieldOf({ shape, values }: Record, name: string): Value | undefined {
  const place = shape.places.get(name);
  return place === undefined ? undefined : values[place];
}

/** The same function but for what it is at `argument`. @throws TlaError outside of its domain */
export function altered(value: FunctionValue, argument: Value, to: Value): FunctionValue {
  if (valueIn(value, argument) === undefined)
    throw new TlaError(`a function is altered at ${describe(argument)}, which is not in its domain`);
  switch (value.kind) {
    case 'sequence':
      return new Sequence(value.items.with((argument as number) - value.first, to), value.first);
    case 'record':
      return new Record(value.shape, value.values.with(value.shape.places.get(argument as string)!, to));
    case 'mapping':
      return functionOn(value.domain, (at) => (equal(at, argument) ? to : value.valueAt(at)!));
    default:
      return value satisfies never;
  }
}

/** `f @@ g`: what f is where it is defined, and g elsewhere. */
export function joined(f: FunctionValue, g: FunctionValue): FunctionValue {
  const domain = domainOf(f).union(domainOf(g));
  return functionOn(domain, (argument) => valueIn(f, argument) ?? valueIn(g, argument)!);
}

function describe(argument: Value): string {
  return typeof argument === 'object' ? `a ${argument.kind}` : JSON.stringify(argument);
}
