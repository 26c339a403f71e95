/**
 * The values of TLA+.
 *
 * Numbers, strings and booleans are those of JavaScript. A function is held in one of three forms, by its domain, so that equal functions have the same form: a run of whole numbers, strings (a record), or anything
 * else. The function of an empty domain is the empty sequence. Nothing here is ever changed once it is made.
 */
import type { SetValue } from './set-value.ts';

export type Value = number | string | boolean | ModelValue | Sequence | Record | Mapping | SetValue;

/** What a model's configuration names without saying what it is, as `Replicas = {r1, r2}` does: equal to itself, and to nothing else. There is one of each name. */
export class ModelValue {
  readonly kind = 'model';
  readonly name: string;
  hash = 0;

  private constructor(name: string) {
    this.name = name;
  }

  static of(name: string): ModelValue {
    const known = modelValues.get(name) ?? new ModelValue(name);
    modelValues.set(name, known);
    return known;
  }
}

/** As many as the models that are looked at name. */
const modelValues = new Map<string, ModelValue>();

/** A function on `first..first + items.length - 1`; a sequence if `first` is 1. */
export class Sequence {
  readonly kind = 'sequence';
  readonly first: number;
  readonly items: readonly Value[];
  hash = 0;

  constructor(items: readonly Value[], first = 1) {
    this.items = items;
    this.first = items.length === 0 ? 1 : first;
  }
}

/** The names of a record's fields, in their order; there is one shape for each set of names. */
export interface Shape {
  readonly names: readonly string[];
  readonly places: ReadonlyMap<string, number>;
}

export class Record {
  readonly kind = 'record';
  readonly shape: Shape;
  readonly values: readonly Value[];
  hash = 0;

  /** `values` are in the order of the shape's names; there is at least one. */
  constructor(shape: Shape, values: readonly Value[]) {
    this.shape = shape;
    this.values = values;
  }
}

/** Any other function, as what it is at each element of its domain. */
export class Mapping {
  readonly kind = 'mapping';
  readonly domain: SetValue;
  readonly valueAt: (argument: Value) => Value | undefined;
  hash = 0;

  constructor(domain: SetValue, valueAt: (argument: Value) => Value | undefined) {
    this.domain = domain;
    this.valueAt = valueAt;
  }
}

export function isSet(value: Value): value is SetValue {
  return typeof value === 'object' && value.kind === 'set';
}

export const emptySequence = new Sequence([]);

/** As many as there are records of different fields in the texts that are read. */
const shapes = new Map<string, Shape>();

/** `names` are in ascending order. */
export function shapeOf(names: readonly string[]): Shape {
  const key = names.join(' ');
  const known = shapes.get(key);
  if (known !== undefined) return known;
  const shape: Shape = { names, places: new Map(names.map((name, index) => [name, index])) };
  shapes.set(key, shape);
  return shape;
}

export function recordOf(fields: readonly (readonly [name: string, value: Value])[]): Value {
  if (fields.length === 0) return emptySequence;
  const sorted = fields.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return new Record(
    shapeOf(sorted.map(([name]) => name)),
    sorted.map(([, value]) => value),
  );
}
