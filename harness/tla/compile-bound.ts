/** Compiles what binds names to the elements of sets: quantifiers, CHOOSE, sets by a condition or an expression, functions. */
import { asSet, compile, compileCondition } from './compile.ts';
import { functionOn } from './functions.ts';
import type { Evaluate, Frame } from './machine.ts';
import { withNames, type Scope } from './scope.ts';
import { ListedSet, type SetValue } from './set-value.ts';
import type { Bound, Expression } from './syntax.ts';
import { TlaError, type Place } from './tla-error.ts';
import { Sequence, type Value } from './value.ts';

/** How the elements of one set become the values of its names. */
export interface CompiledBound {
  readonly set: (frame: Frame) => SetValue;
  readonly bind: (frame: Frame, item: Value) => void;
}

/** Each with the names of those before it; their sets are outside of all. */
export function compileBounds(
  bounds: readonly Bound[],
  scope: Scope,
): { readonly scope: Scope; readonly bounds: readonly CompiledBound[] } {
  const sets = bounds.map(({ set }) => compile(set, scope));
  let inner = scope;
  const compiled = bounds.map(({ names, isTuple, set: { place } }, index): CompiledBound => {
    const named = withNames(inner, names);
    inner = named.scope;
    const set = sets[index]!;
    return { set: (frame) => asSet(set(frame), place), bind: binder(named.slots, isTuple, place) };
  });
  return { scope: inner, bounds: compiled };
}

function binder(slots: readonly number[], isTuple: boolean, place: Place): CompiledBound['bind'] {
  const [slot] = slots;
  if (!isTuple && slot !== undefined)
    return (frame, item) => {
      frame[slot] = item;
    };
  return (frame, item) => {
    if (!(item instanceof Sequence) || item.items.length !== slots.length)
      throw new TlaError('an element is no such tuple', place);
    for (const [index, one] of slots.entries()) frame[one] = item.items[index]!;
  };
}

export function compileQuantified(expression: Expression & { kind: 'quantified' }, scope: Scope): Evaluate {
  const compiled = compileBounds(expression.bounds, scope);
  const body = compileCondition(expression.body, compiled.scope);
  const isForAll = expression.quantifier === '\\A';
  /** Whether the body is as it should be wherever it is looked at. */
  const all = compiled.bounds.reduceRight<(frame: Frame) => boolean>(
    (inner, { set, bind }) =>
      (frame) =>
        set(frame).every((item) => {
          bind(frame, item);
          return inner(frame);
        }),
    isForAll ? body : (frame) => !body(frame),
  );
  return isForAll ? all : (frame) => !all(frame);
}

export function compileChoose(expression: Expression & { kind: 'choose' }, scope: Scope): Evaluate {
  const compiled = compileBounds([expression.bound], scope);
  const { set, bind } = compiled.bounds[0]!;
  const body = compileCondition(expression.body, compiled.scope);
  return (frame) => {
    const found = set(frame)
      .sorted()
      .find((item) => {
        bind(frame, item);
        return body(frame);
      });
    if (found === undefined) throw new TlaError('CHOOSE finds nothing', expression.place);
    return found;
  };
}

export function compileFilter(expression: Expression & { kind: 'filter' }, scope: Scope): Evaluate {
  const compiled = compileBounds([expression.bound], scope);
  const { set, bind } = compiled.bounds[0]!;
  const body = compileCondition(expression.body, compiled.scope);
  return (frame) => {
    const kept: Value[] = [];
    set(frame).every((item) => {
      bind(frame, item);
      if (body(frame)) kept.push(item);
      return true;
    });
    return ListedSet.ofDistinct(kept);
  };
}

export function compileMap(expression: Expression & { kind: 'map' }, scope: Scope): Evaluate {
  const compiled = compileBounds(expression.bounds, scope);
  const body = compile(expression.body, compiled.scope);
  return (frame) => {
    const made: Value[] = [];
    const collect = compiled.bounds.reduceRight<() => void>(
      (inner, { set, bind }) =>
        () =>
          void set(frame).every((item) => {
            bind(frame, item);
            inner();
            return true;
          }),
      () => void made.push(body(frame)),
    );
    collect();
    return ListedSet.of(made);
  };
}

export function compileFunction(expression: Expression & { kind: 'function' }, scope: Scope): Evaluate {
  if (expression.bounds.length !== 1)
    throw new TlaError('functions of several arguments are not evaluated', expression.place);
  const compiled = compileBounds(expression.bounds, scope);
  const { set, bind } = compiled.bounds[0]!;
  const body = compile(expression.body, compiled.scope);
  return (frame) =>
    functionOn(set(frame), (item) => {
      bind(frame, item);
      return body(frame);
    });
}
