/** Compiles expressions to closures that evaluate them. */
import { compileEnabled } from './compile-action.ts';
import { compileApply } from './compile-apply.ts';
import {
  compileChoose,
  compileFilter,
  compileFunction,
  compileMap,
  compileQuantified,
} from './compile-bound.ts';
import { compileExcept } from './compile-except.ts';
import { compileInfix } from './compile-infix.ts';
import { compileLet } from './compile-let.ts';
import { FunctionSet } from './function-sets.ts';
import { applied, asFunction, domainOf } from './functions.ts';
import type { Evaluate } from './machine.ts';
import { readSlot, type Scope } from './scope.ts';
import { ListedSet, PowerSet } from './set-value.ts';
import type { Expression } from './syntax.ts';
import { TlaError, type Place } from './tla-error.ts';
import { isSet, Record, recordOf, Sequence, shapeOf, type Value } from './value.ts';

export type Condition = (frame: Parameters<Evaluate>[0]) => boolean;

/** @throws TlaError at what is not evaluated here */
export function compile(expression: Expression, scope: Scope): Evaluate {
  const of = (one: Expression): Evaluate => compile(one, scope);
  const { place } = expression;
  switch (expression.kind) {
    case 'number':
    case 'string':
    case 'boolean': {
      const { value } = expression;
      return () => value;
    }
    case 'apply':
      return compileApply(expression, scope);
    case 'current': {
      if (scope.current === null) throw new TlaError('@ stands for nothing here', place);
      return readSlot(scope, { routine: scope.routine, slot: scope.current });
    }
    case 'primed':
      if (scope.isPrimed) throw new TlaError('what is primed is primed again', place);
      return compile(expression.operand, { ...scope, isPrimed: true });
    case 'prefix':
      return compilePrefix(expression, scope);
    case 'infix':
      return compileInfix(expression, scope);
    case 'list':
      return compileList(expression, scope);
    case 'field':
      return compileField(of(expression.operand), expression.name, place);
    case 'at': {
      const operand = of(expression.operand);
      const argument = of(expression.argument);
      return (frame) => {
        const value = operand(frame);
        const at = argument(frame);
        if (value instanceof Sequence && typeof at === 'number') {
          const item = value.items[at - value.first];
          if (item !== undefined) return item;
        }
        return placed(place, () => applied(asFunction(value), at));
      };
    }
    case 'if': {
      const condition = compileCondition(expression.condition, scope);
      const then = of(expression.thenValue);
      const otherwise = of(expression.otherwise);
      return (frame) => (condition(frame) ? then(frame) : otherwise(frame));
    }
    case 'case': {
      const arms = expression.arms.map((arm) => ({
        condition: compileCondition(arm.condition, scope),
        value: of(arm.value),
      }));
      const otherwise = expression.otherwise === null ? null : of(expression.otherwise);
      return (frame) => {
        for (const { condition, value } of arms) if (condition(frame)) return value(frame);
        if (otherwise === null) throw new TlaError('no case is true', place);
        return otherwise(frame);
      };
    }
    case 'let':
      return compileLet(expression, scope, compile);
    case 'quantified':
      return compileQuantified(expression, scope);
    case 'choose':
      return compileChoose(expression, scope);
    case 'filter':
      return compileFilter(expression, scope);
    case 'map':
      return compileMap(expression, scope);
    case 'function':
      return compileFunction(expression, scope);
    case 'set': {
      const items = expression.items.map(of);
      return (frame) => ListedSet.of(items.map((item) => item(frame)));
    }
    case 'tuple': {
      const items = expression.items.map(of);
      return (frame) => new Sequence(items.map((item) => item(frame)));
    }
    case 'record':
      return compileRecord(expression.fields, scope, place);
    case 'except':
      return compileExcept(expression, scope);
    case 'records': {
      const fields = expression.fields.map(({ name, value }) => ({ name, set: of(value) }));
      return (frame) => {
        const ranges = new Map(fields.map(({ name, set }) => [name, asSet(set(frame), place)]));
        return new FunctionSet(ListedSet.of([...ranges.keys()]), (at) => ranges.get(at as string)!, true);
      };
    }
    case 'functions': {
      const domain = of(expression.domain);
      const range = of(expression.range);
      return (frame) => {
        const values = asSet(range(frame), place);
        return new FunctionSet(asSet(domain(frame), place), () => values, false);
      };
    }
    case 'temporal':
    case 'ofInstance':
      throw new TlaError('what is temporal, or of an instance, is not evaluated', place);
    default:
      return expression satisfies never;
  }
}

/** Says where, of an error that does not. */
export function placed<T>(place: Place, evaluate: () => T): T {
  try {
    return evaluate();
  } catch (error) {
    throw placedError(error, place);
  }
}

export function placedError(error: unknown, place: Place): unknown {
  return error instanceof TlaError && error.place === null ? new TlaError(error.message, place) : error;
}

export function compileCondition(expression: Expression, scope: Scope): Condition {
  const evaluate = compile(expression, scope);
  const { place } = expression;
  return (frame) => {
    const value = evaluate(frame);
    if (value === true || value === false) return value;
    throw new TlaError('what is neither TRUE nor FALSE is taken for a claim', place);
  };
}

export function asSet(
  value: Value,
  place: Place,
): Exclude<Value, number | string | boolean> & { kind: 'set' } {
  if (isSet(value)) return value;
  throw new TlaError('what is no set is taken for one', place);
}

function compileList(expression: Expression & { kind: 'list' }, scope: Scope): Evaluate {
  const items = expression.items.map((item) => compileCondition(item, scope));
  if (expression.operator === '/\\')
    return (frame) => {
      for (const item of items) if (!item(frame)) return false;
      return true;
    };
  return (frame) => {
    for (const item of items) if (item(frame)) return true;
    return false;
  };
}

function compileField(operand: Evaluate, name: string, place: Place): Evaluate {
  let shape: Record['shape'] | null = null;
  let at = 0;
  return (frame) => {
    const value = operand(frame);
    if (!(value instanceof Record)) throw new TlaError(`what is no record is asked for its ${name}`, place);
    if (value.shape !== shape) {
      const found = value.shape.places.get(name);
      if (found === undefined) throw new TlaError(`a record has no field ${name}`, place);
      shape = value.shape;
      at = found;
    }
    return value.values[at]!;
  };
}

function compileRecord(
  fields: (Expression & { kind: 'record' })['fields'],
  scope: Scope,
  place: Place,
): Evaluate {
  const sorted = fields.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const shape = shapeOf(sorted.map(({ name }) => name));
  if (shape.places.size !== sorted.length) throw new TlaError('a record has a field twice', place);
  const values = sorted.map(({ value }) => compile(value, scope));
  if (values.length === 0) return () => recordOf([]);
  return (frame) => {
    return new Record(
      shape,
      values.map((value) => value(frame)),
    );
  };
}

function compilePrefix(expression: Expression & { kind: 'prefix' }, scope: Scope): Evaluate {
  const { operator, operand, place } = expression;
  if (operator === '~') {
    const condition = compileCondition(operand, scope);
    return (frame) => !condition(frame);
  }
  if (operator === 'ENABLED') return compileEnabled(operand, scope);
  if (operator === 'UNCHANGED' || operator === '[]' || operator === '<>')
    throw new TlaError(`${operator} is not evaluated here`, place);
  const evaluate = compile(operand, scope);
  switch (operator) {
    case '-':
      return (frame) => {
        const value = evaluate(frame);
        if (typeof value !== 'number') throw new TlaError('what is no number has a sign', place);
        return value === 0 ? 0 : -value;
      };
    case 'SUBSET':
      return (frame) => new PowerSet(asSet(evaluate(frame), place));
    case 'UNION':
      return (frame) =>
        asSet(evaluate(frame), place)
          .items()
          .reduce<ReturnType<typeof asSet>>(
            (all, one) => (all.size === 0 ? asSet(one, place) : all.union(asSet(one, place))),
            ListedSet.of([]),
          );
    case 'DOMAIN':
      return (frame) => placed(place, () => domainOf(asFunction(evaluate(frame))));
    default:
      return operator satisfies never;
  }
}
