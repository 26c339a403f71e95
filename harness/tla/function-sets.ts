/** Sets of functions, `[S -> T]`, and of records, `[a : S, b : T]`: known without listing them, and listed where they are few. */
import { domainOf, functionOn } from './functions.ts';
import { ComputedSet, type SetValue } from './set-value.ts';
import { isSet, recordOf, type Value } from './value.ts';

/** From a domain to a range; of a record the range is another one for each field. */
export class FunctionSet extends ComputedSet {
  readonly #domain: SetValue;
  readonly #rangeAt: (argument: Value) => SetValue;
  readonly #isOfRecords: boolean;
  readonly size: number;

  constructor(domain: SetValue, rangeAt: (argument: Value) => SetValue, isOfRecords: boolean) {
    super();
    this.#domain = domain;
    this.#rangeAt = rangeAt;
    this.#isOfRecords = isOfRecords;
    this.size = domain.items().reduce<number>((product, at) => product * rangeAt(at).size, 1);
  }

  has(value: Value): boolean {
    if (typeof value !== 'object' || isSet(value) || value.kind === 'model') return false;
    const domain = domainOf(value);
    if (domain.size !== this.#domain.size || !domain.every((at) => this.#domain.has(at))) return false;
    return domain.every((at) => this.#rangeAt(at).has(valueAt(value, at)));
  }

  protected list(): Value[] {
    let all: Map<Value, Value>[] = [new Map()];
    for (const at of this.#domain.sorted())
      all = this.#rangeAt(at)
        .sorted()
        .flatMap((value) => all.map((known) => new Map(known).set(at, value)));
    return all.map((known) =>
      this.#isOfRecords
        ? recordOf([...known] as [string, Value][])
        : functionOn(this.#domain, (at) => [...known].find(([one]) => one === at)?.[1] ?? known.get(at)!),
    );
  }
}

function valueAt(value: Exclude<Value, number | string | boolean | SetValue>, at: Value): Value {
  if (value.kind === 'sequence') return value.items[(at as number) - value.first]!;
  if (value.kind === 'record') return value.values[value.shape.places.get(at as string)!]!;
  if (value.kind === 'mapping') return value.valueAt(at)!;
  throw new Error('a model value is no function');
}
