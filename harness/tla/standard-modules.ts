/** The operators of the standard modules that our specifications use. */
import { asSequence, functionOn } from './functions.ts';
import type { Machine } from './machine.ts';
import { ListedSet } from './set-value.ts';
import { TlaError } from './tla-error.ts';
import { isSet, Sequence, type Value } from './value.ts';

/** An operator as what it makes of its operands. */
export type Builtin =
  | { readonly kind: 'pure'; readonly arity: number; readonly value: (operands: readonly Value[]) => Value }
  | {
      /** Evaluated each time: it does something. Memory: it tells what was done. */
      readonly kind: 'effect' | 'memory';
      readonly arity: number;
      readonly value: (operands: readonly Value[], machine: Machine) => Value;
    }
  /** SelectSeq: its second operand is the name of an operator. */
  | { readonly kind: 'select' };

const pure = (arity: number, value: (operands: readonly Value[]) => Value): Builtin => ({
  kind: 'pure',
  arity,
  value,
});

function asNumber(value: Value): number {
  if (typeof value === 'number') return value;
  throw new TlaError('what is no number is taken for one');
}

const sequences: Readonly<Record<string, Builtin>> = {
  Len: pure(1, ([s]) => asSequence(s!).items.length),
  Head: pure(1, ([s]) => {
    const [first] = asSequence(s!).items;
    if (first === undefined) throw new TlaError('Head of an empty sequence');
    return first;
  }),
  Tail: pure(1, ([s]) => {
    const { items } = asSequence(s!);
    if (items.length === 0) throw new TlaError('Tail of an empty sequence');
    return new Sequence(items.slice(1));
  }),
  Append: pure(2, ([s, item]) => new Sequence([...asSequence(s!).items, item!])),
  SubSeq: pure(3, ([s, from, to]) => {
    const { items } = asSequence(s!);
    const [first, last] = [asNumber(from!), asNumber(to!)];
    if (first > last) return new Sequence([]);
    if (first < 1 || last > items.length)
      throw new TlaError(`SubSeq from ${first} to ${last} of a sequence of ${items.length}`);
    return new Sequence(items.slice(first - 1, last));
  }),
  SelectSeq: { kind: 'select' },
};

const finiteSets: Readonly<Record<string, Builtin>> = {
  Cardinality: pure(1, ([set]) => {
    if (!isSet(set!)) throw new TlaError('Cardinality of what is no set');
    return set.size;
  }),
};

const tlc: Readonly<Record<string, Builtin>> = {
  PrintT: {
    kind: 'effect',
    arity: 1,
    value: ([value], { print }) => {
      print(value!);
      return true;
    },
  },
  TLCSet: {
    kind: 'effect',
    arity: 2,
    value: ([register, value], { registers }) => {
      registers.set(asNumber(register!), value!);
      return true;
    },
  },
  TLCGet: {
    kind: 'memory',
    arity: 1,
    value: ([register], { registers }) => {
      const value = registers.get(asNumber(register!));
      if (value === undefined) throw new TlaError('TLCGet of what was never set');
      return value;
    },
  },
};

export const standardModules: Readonly<Record<string, Readonly<Record<string, Builtin>>>> = {
  Naturals: {},
  Integers: {},
  Sequences: sequences,
  FiniteSets: finiteSets,
  TLC: tlc,
};

/** `d :> e` */
export function singleton(argument: Value, value: Value): Value {
  return functionOn(ListedSet.of([argument]), () => value);
}

/** `s \o t` */
export function concatenated(left: Value, right: Value): Value {
  return new Sequence([...asSequence(left).items, ...asSequence(right).items]);
}
