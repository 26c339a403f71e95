/**
 * Sets: of elements that are listed, and those that are known without listing them.
 *
 * A listed set that grows shares its list, and the index to it, with the set that it grew from: what was sent before a step, and after it.
 */
import { equal, hashOf } from './equality.ts';
import type { FunctionSet } from './function-sets.ts';
import { compare } from './order.ts';
import { isSet, Sequence, type Value } from './value.ts';

export type SetValue = ListedSet | Interval | PowerSet | Product | FunctionSet;

/** More cannot be listed. */
const ELEMENTS_MAX = 1_000_000;
/** Of fewer no index is made. */
const INDEXED_FROM = 9;

interface List {
  readonly items: Value[];
  /** Places of the elements by their hashes; null: not made yet. */
  index: Map<number, number | number[]> | null;
}

/** No element is listed twice. */
export class ListedSet {
  readonly kind = 'set';
  readonly size: number;
  readonly #list: List;
  #sorted: readonly Value[] | null = null;
  hash = 0;

  private constructor(list: List, size: number) {
    this.#list = list;
    this.size = size;
  }

  /** `items` may hold one twice, and is not to be changed any more. */
  static of(items: readonly Value[]): ListedSet {
    if (items.length === 0) return emptySet;
    const list: List = { items: [], index: null };
    for (const item of items) addTo(list, item);
    return new ListedSet(list, list.items.length);
  }

  /** None of `items` is there twice. */
  static ofDistinct(items: Value[]): ListedSet {
    return items.length === 0 ? emptySet : new ListedSet({ items, index: null }, items.length);
  }

  has(value: Value): boolean {
    return placeIn(this.#list, value, this.size) !== -1;
  }

  /** Whether it holds for every element. */
  every(holds: (item: Value) => boolean): boolean {
    const { items } = this.#list;
    for (let i = 0; i < this.size; i++) if (!holds(items[i]!)) return false;
    return true;
  }

  /** In the order of values. */
  sorted(): readonly Value[] {
    if (this.size === 1) return this.#list.items.slice(0, 1);
    this.#sorted ??= this.#list.items.slice(0, this.size).sort(compare);
    return this.#sorted;
  }

  items(): Value[] {
    return this.#list.items.slice(0, this.size);
  }

  union(other: SetValue): ListedSet {
    if (this.size === 0) return ListedSet.ofDistinct(other.items());
    const added: Value[] = [];
    other.every((item) => {
      if (!this.has(item)) added.push(item);
      return true;
    });
    if (added.length === 0) return this;
    const isNewest = this.#list.items.length === this.size;
    const list: List = isNewest ? this.#list : { items: this.items(), index: null };
    for (const item of added) addTo(list, item);
    return new ListedSet(list, list.items.length);
  }

  static readonly empty = new ListedSet({ items: [], index: null }, 0);
}

export const emptySet: ListedSet = ListedSet.empty;

function placeIn({ items, index }: List, value: Value, size: number): number {
  if (index === null) {
    for (let i = 0; i < size; i++) if (equal(items[i]!, value)) return i;
    return -1;
  }
  const found = index.get(hashOf(value));
  if (found === undefined) return -1;
  if (typeof found === 'number') return found < size && equal(items[found]!, value) ? found : -1;
  return found.find((place) => place < size && equal(items[place]!, value)) ?? -1;
}

function addTo(list: List, value: Value): void {
  const { items } = list;
  if (placeIn(list, value, items.length) !== -1) return;
  items.push(value);
  if (list.index !== null) addToIndex(list.index, value, items.length - 1);
  else if (items.length >= INDEXED_FROM) {
    list.index = new Map();
    for (let i = 0; i < items.length; i++) addToIndex(list.index, items[i]!, i);
  }
}

function addToIndex(index: Map<number, number | number[]>, value: Value, place: number): void {
  const hash = hashOf(value);
  const there = index.get(hash);
  if (there === undefined) index.set(hash, place);
  else if (typeof there === 'number') index.set(hash, [there, place]);
  else there.push(place);
}

export abstract class ComputedSet {
  readonly kind = 'set';
  abstract readonly size: number;
  hash = 0;

  protected abstract list(): Value[];
  abstract has(value: Value): boolean;

  items(): Value[] {
    if (this.size > ELEMENTS_MAX)
      throw new RangeError(`a set of ${this.size} elements is too large to be listed`);
    return this.list();
  }

  every(holds: (item: Value) => boolean): boolean {
    return this.items().every(holds);
  }

  sorted(): readonly Value[] {
    return this.items().sort(compare);
  }

  union(other: SetValue): ListedSet {
    return ListedSet.ofDistinct(this.items()).union(other);
  }
}

/** The whole numbers from `low` to `high`. */
export class Interval extends ComputedSet {
  readonly low: number;
  readonly high: number;
  readonly size: number;

  constructor(low: number, high: number) {
    super();
    this.low = low;
    this.high = high;
    this.size = Math.max(0, high - low + 1);
  }

  has(value: Value): boolean {
    return typeof value === 'number' && value >= this.low && value <= this.high;
  }

  protected list(): Value[] {
    return Array.from({ length: this.size }, (_, i) => this.low + i);
  }

  override every(holds: (item: Value) => boolean): boolean {
    for (let i = this.low; i <= this.high; i++) if (!holds(i)) return false;
    return true;
  }

  override sorted(): readonly Value[] {
    return this.items();
  }
}

/** The subsets of a set. */
export class PowerSet extends ComputedSet {
  readonly #of: SetValue;
  readonly size: number;

  constructor(of: SetValue) {
    super();
    this.#of = of;
    this.size = 2 ** of.size;
  }

  has(value: Value): boolean {
    return isSet(value) && value.every((item) => this.#of.has(item));
  }

  protected list(): Value[] {
    let subsets: Value[][] = [[]];
    for (const item of this.#of.sorted()) subsets = subsets.flatMap((subset) => [subset, [...subset, item]]);
    return subsets.map((subset) => ListedSet.ofDistinct(subset));
  }
}

/** The pairs of two sets' elements. */
export class Product extends ComputedSet {
  readonly #left: SetValue;
  readonly #right: SetValue;
  readonly size: number;

  constructor(left: SetValue, right: SetValue) {
    super();
    this.#left = left;
    this.#right = right;
    this.size = left.size * right.size;
  }

  has(value: Value): boolean {
    if (!(value instanceof Sequence) || value.first !== 1 || value.items.length !== 2) return false;
    return this.#left.has(value.items[0]!) && this.#right.has(value.items[1]!);
  }

  protected list(): Value[] {
    const rights = this.#right.sorted();
    return this.#left.sorted().flatMap((left) => rights.map((right) => new Sequence([left, right])));
  }
}
