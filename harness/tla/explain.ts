/**
 * Why a claim is false in a state: from the whole of it down to the smallest part that is false, with what its names stand for on the way.
 *
 * Of a conjunction it is the first conjunct that is false; of `\A x \in S : P` the first x of which P is; of what only names something, that.
 */
import { compileBounds } from './compile-bound.ts';
import { compile, compileCondition } from './compile.ts';
import { letScope } from './compile-let.ts';
import { levelOf } from './level.ts';
import type { Frame } from './machine.ts';
import { newSlot, type Binding, type Scope } from './scope.ts';
import type { Expression } from './syntax.ts';
import type { Place } from './tla-error.ts';
import type { Value } from './value.ts';

export interface FalsePart {
  /** Where it begins. */
  readonly place: Place;
  /** Where what comes behind it begins, if it is one of several conjuncts; null: it goes on to the end of what it is a part of. */
  readonly until: Place | null;
  /** The definition that it is the body of; null: it is a part of one. */
  readonly name: string | null;
  /** What was bound since the part above: elements for which it is false, and operands. */
  readonly bound: readonly { readonly name: string; readonly value: Value }[];
}

/** `frame` is of the scope's routine. */
export function explain(
  name: string,
  expression: Expression,
  scope: Scope,
  frame: Frame,
): readonly FalsePart[] {
  const parts: FalsePart[] = [{ place: expression.place, until: null, name, bound: [] }];
  let next = below(expression, scope, frame);
  while (next !== null) {
    parts.push(next.part);
    next = below(next.expression, next.scope, frame);
  }
  return parts;
}

interface Below {
  readonly part: FalsePart;
  readonly expression: Expression;
  readonly scope: Scope;
}

function step(expression: Expression, scope: Scope, part: Partial<FalsePart> = {}): Below {
  return {
    expression,
    scope,
    part: { place: expression.place, until: null, name: null, bound: [], ...part },
  };
}

const holds = (expression: Expression, scope: Scope, frame: Frame): boolean =>
  compileCondition(expression, scope)(frame);

function below(expression: Expression, scope: Scope, frame: Frame): Below | null {
  const { kind } = expression;
  if (kind === 'list' && expression.operator === '/\\') return firstFalse(expression.items, scope, frame);
  if (kind === 'infix') {
    if (expression.operator === '/\\') return firstFalse([expression.left, expression.right], scope, frame);
    return expression.operator === '=>' ? step(expression.right, scope) : null;
  }
  if (kind === 'if') {
    const { condition, thenValue, otherwise } = expression;
    return step(holds(condition, scope, frame) ? thenValue : otherwise, scope);
  }
  if (kind === 'let') {
    const { scope: inner, forget } = letScope(expression, scope);
    forget(frame);
    return step(expression.body, inner);
  }
  if (kind === 'quantified' && expression.quantifier === '\\A') return elementOf(expression, scope, frame);
  return kind === 'apply' ? bodyOf(expression, scope, frame) : null;
}

function firstFalse(items: readonly Expression[], scope: Scope, frame: Frame): Below | null {
  const at = items.findIndex((item) => !holds(item, scope, frame));
  return at === -1 ? null : step(items[at]!, scope, { until: items[at + 1]?.place ?? null });
}

function elementOf(
  expression: Expression & { kind: 'quantified' },
  scope: Scope,
  frame: Frame,
): Below | null {
  const compiled = compileBounds(expression.bounds, scope);
  const body = compileCondition(expression.body, compiled.scope);
  const find = (at: number): boolean => {
    const bound = compiled.bounds[at];
    if (bound === undefined) return !body(frame);
    return bound
      .set(frame)
      .sorted()
      .some((item) => {
        bound.bind(frame, item);
        return find(at + 1);
      });
  };
  if (!find(0)) return null;
  const names = expression.bounds.flatMap((bound) => bound.names);
  const bound = names.map((name) => {
    const place = expression.place;
    return { name, value: compile({ kind: 'apply', name, operands: [], place }, compiled.scope)(frame) };
  });
  return step(expression.body, compiled.scope, { bound });
}

/** Of a definition that is used: its parameters stand for what the operands are here. */
function bodyOf(expression: Expression & { kind: 'apply' }, scope: Scope, frame: Frame): Below | null {
  const { name, operands } = expression;
  const definition = scope.names.has(name) ? undefined : scope.compilation.program.definitions.get(name);
  if (definition === undefined || operands.length !== definition.parameters.length) return null;
  const names = new Map<string, Binding>();
  const bound = definition.parameters.map((parameter, index) => {
    const operand = operands[index]!;
    const slot = newSlot(scope);
    const value = compile(operand, scope)(frame);
    frame[slot] = value;
    names.set(parameter, {
      kind: 'value',
      routine: scope.routine,
      slot,
      isOfState: levelOf(operand, scope) > 0,
    });
    return { name: parameter, value };
  });
  return step(definition.body, { ...scope, names, current: null }, { name, bound });
}
