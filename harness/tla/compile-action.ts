/**
 * Compiles actions, and initial predicates, to what goes through the states that satisfy them, as TLC does: conjuncts from left to right, disjuncts and the elements of sets one after the other; the first equation for a
 * variable says what it is, and whatever comes behind is a condition.
 */
import { newRoutine } from './compile-apply.ts';
import { compileBounds, type CompiledBound } from './compile-bound.ts';
import { asSet, compile, compileCondition } from './compile.ts';
import { letScope } from './compile-let.ts';
import { equal } from './equality.ts';
import { levelOf } from './level.ts';
import { newFrame, type Evaluate, type Frame, type Machine, type State } from './machine.ts';
import { newSlot, type Binding, type Level, type Scope } from './scope.ts';
import type { Definition, Expression } from './syntax.ts';
import { TlaError } from './tla-error.ts';
import { following, type Trail } from './trail.ts';
import type { Value } from './value.ts';

/** Calls `then` with each way to satisfy it, the variables being what that says. */
export type Act = (frame: Frame, then: () => void) => void;

/** What is made: the first states, or those that may come next. */
export interface Making {
  /** Below it an expression says nothing of what is made. */
  readonly level: Level;
  /** The variable that an expression stands for, if that is made. */
  readonly variableOf: (expression: Expression, scope: Scope) => number | null;
  readonly made: (machine: Machine) => State;
  readonly acts: Map<Definition, Map<string, { act: Act; size: () => number }>>;
  /** The actions that are being taken, if somebody wants to know. */
  readonly trail: Trail | null;
}

function variableOf(expression: Expression, scope: Scope): number | null {
  if (expression.kind !== 'apply' || scope.names.has(expression.name)) return null;
  return scope.compilation.variables.get(expression.name) ?? null;
}

export const makingNext = (trail: Trail | null = null): Making => ({
  trail,
  level: 2,
  variableOf: (expression, scope) =>
    expression.kind === 'primed' ? variableOf(expression.operand, scope) : null,
  made: ({ next }) => next,
  acts: new Map(),
});

export const makingFirst = (): Making => ({
  trail: null,
  level: 1,
  variableOf,
  made: ({ state }) => state,
  acts: new Map(),
});

export function compileAction(expression: Expression, scope: Scope, making: Making): Act {
  const of = (one: Expression): Act => compileAction(one, scope, making);
  if (levelOf(expression, scope) < making.level) return condition(expression, scope);
  switch (expression.kind) {
    case 'list': {
      const items = expression.items.map(of);
      return expression.operator === '/\\' ? inTurn(items) : eitherOf(items);
    }
    case 'infix':
      return compileInfixAction(expression, scope, making);
    case 'if': {
      const holds = compileCondition(expression.condition, scope);
      const then = of(expression.thenValue);
      const otherwise = of(expression.otherwise);
      return (frame, go) => (holds(frame) ? then : otherwise)(frame, go);
    }
    case 'case': {
      const arms = expression.arms.map((arm) => ({
        holds: compileCondition(arm.condition, scope),
        act: of(arm.value),
      }));
      const otherwise = expression.otherwise === null ? null : of(expression.otherwise);
      return (frame, go) => {
        const act = arms.find(({ holds }) => holds(frame))?.act ?? otherwise;
        if (act === null) throw new TlaError('no case is true', expression.place);
        act(frame, go);
      };
    }
    case 'let': {
      const { scope: inner, forget } = letScope(expression, scope);
      const body = compileAction(expression.body, inner, making);
      return (frame, go) => {
        forget(frame);
        body(frame, go);
      };
    }
    case 'quantified': {
      if (expression.quantifier === '\\A') return condition(expression, scope);
      const compiled = compileBounds(expression.bounds, scope);
      return compiled.bounds.reduceRight<Act>(anyOf, compileAction(expression.body, compiled.scope, making));
    }
    case 'apply':
      return compileUse(expression, scope, making);
    case 'prefix':
      return expression.operator === 'UNCHANGED'
        ? unchanged(expression.operand, scope)
        : condition(expression, scope);
    case 'number':
    case 'string':
    case 'boolean':
    case 'current':
    case 'ofInstance':
    case 'primed':
    case 'field':
    case 'at':
    case 'choose':
    case 'set':
    case 'filter':
    case 'map':
    case 'tuple':
    case 'record':
    case 'records':
    case 'function':
    case 'functions':
    case 'except':
    case 'temporal':
      return condition(expression, scope);
    default:
      return expression satisfies never;
  }
}

function condition(expression: Expression, scope: Scope): Act {
  const holds = compileCondition(expression, scope);
  return (frame, go) => {
    if (holds(frame)) go();
  };
}

function inTurn(items: readonly Act[]): Act {
  return items.reduceRight((rest, first) => (frame, go) => first(frame, () => rest(frame, go)));
}

function eitherOf(items: readonly Act[]): Act {
  return (frame, go) => {
    for (const item of items) item(frame, go);
  };
}

/** `\E x \in S : inner` */
function anyOf(inner: Act, { set, bind }: CompiledBound): Act {
  return (frame, go) => {
    for (const item of set(frame).sorted()) {
      bind(frame, item);
      inner(frame, go);
    }
  };
}

function compileInfixAction(expression: Expression & { kind: 'infix' }, scope: Scope, making: Making): Act {
  const { operator, left, right } = expression;
  const both = (): readonly Act[] => [left, right].map((one) => compileAction(one, scope, making));
  if (operator === '/\\') return inTurn(both());
  if (operator === '\\/') return eitherOf(both());
  const variable = operator === '=' || operator === '\\in' ? making.variableOf(left, scope) : null;
  if (variable === null) return condition(expression, scope);
  const { machine } = scope.compilation;
  const value = compile(right, scope);
  const assign = assigning(variable, making, machine);
  if (operator === '=') return (frame, go) => assign(value(frame), go);
  return (frame, go) => {
    const set = asSet(value(frame), right.place);
    for (const item of set.sorted()) assign(item, go);
  };
}

/** Says what a variable is or, where that is known, goes on only if it is that. */
function assigning(
  variable: number,
  { made }: Making,
  machine: Machine,
): (value: Value, go: () => void) => void {
  return (value, go) => {
    const known = made(machine)[variable];
    if (known !== undefined) {
      if (equal(known, value)) go();
      return;
    }
    made(machine)[variable] = value;
    machine.epoch++;
    go();
    made(machine)[variable] = undefined;
    machine.epoch++;
  };
}

function unchanged(expression: Expression, scope: Scope): Act {
  const { machine } = scope.compilation;
  const assigns = variablesIn(expression, scope).map((variable) => ({
    variable,
    assign: assigning(variable, makingNext(), machine),
  }));
  return inTurn(
    assigns.map(
      ({ variable, assign }): Act =>
        (_, go) =>
          assign(machine.state[variable]!, go),
    ),
  );
}

/** Those that a tuple of variables, or its name, stands for. */
function variablesIn(expression: Expression, scope: Scope): number[] {
  if (expression.kind === 'tuple') return expression.items.flatMap((item) => variablesIn(item, scope));
  const variable = variableOf(expression, scope);
  if (variable !== null) return [variable];
  const definition =
    expression.kind === 'apply' && !scope.names.has(expression.name)
      ? scope.compilation.program.definitions.get(expression.name)
      : undefined;
  if (definition === undefined) throw new TlaError('UNCHANGED of what is no variable', expression.place);
  return variablesIn(definition.body, scope);
}

/** The use of an operator that is an action itself. */
function compileUse(expression: Expression & { kind: 'apply' }, scope: Scope, making: Making): Act {
  const { name, place } = expression;
  const binding = scope.names.get(name);
  if (binding?.kind === 'let' && binding.definition.parameters.length === 0)
    return compileAction(binding.definition.body, binding.scope(), making);
  const definition = scope.names.has(name) ? undefined : scope.compilation.program.definitions.get(name);
  if (definition === undefined) return condition(expression, scope);
  if (expression.operands.length !== definition.parameters.length)
    throw new TlaError(`${name} has ${expression.operands.length} operands`, place);
  if (expression.operands.some((operand) => levelOf(operand, scope) === 2))
    return compileInPlace(expression, definition, scope, making);
  const operands = expression.operands.map((operand) => compile(operand, scope));
  const ofState = expression.operands.map((operand) => levelOf(operand, scope) > 0);
  const used = actOf(definition, scope, ofState, making);
  return (frame, go) => {
    const inner: Frame = newFrame(used.size());
    for (let i = 0; i < operands.length; i++) inner[i + 1] = operands[i]!(frame);
    if (making.trail === null) used.act(inner, go);
    else
      following(
        making.trail,
        { definition, operands: inner.slice(1, operands.length + 1) as Value[] },
        go,
        (then) => used.act(inner, then),
      );
  };
}

/** An operator that is given an action: its body stands where it is used. */
function compileInPlace(
  expression: Expression & { kind: 'apply' },
  definition: Definition,
  scope: Scope,
  making: Making,
): Act {
  const names = new Map<string, Binding>();
  const values: { readonly slot: number; readonly value: (frame: Frame) => Value }[] = [];
  for (const [index, operand] of expression.operands.entries()) {
    const name = definition.parameters[index]!;
    const level = levelOf(operand, scope);
    if (level === 2) {
      const action: Definition = { name, parameters: [], body: operand, place: operand.place };
      names.set(name, {
        kind: 'let',
        definition: action,
        scope: () => scope,
        found: [],
        compiled: new Map(),
      });
    } else {
      const slot = newSlot(scope);
      names.set(name, { kind: 'value', routine: scope.routine, slot, isOfState: level > 0 });
      values.push({ slot, value: compile(operand, scope) });
    }
  }
  const body = compileAction(definition.body, { ...scope, names }, making);
  return (frame, go) => {
    for (const { slot, value } of values) frame[slot] = value(frame);
    body(frame, go);
  };
}

function actOf(
  definition: Definition,
  scope: Scope,
  ofState: readonly boolean[],
  making: Making,
): { act: Act; size: () => number } {
  const known = making.acts.get(definition) ?? new Map<string, { act: Act; size: () => number }>();
  making.acts.set(definition, known);
  const key = ofState.join(' ');
  const there = known.get(key);
  if (there !== undefined) return there;
  const made = newRoutine(definition, { ...scope, names: new Map() }, 0, ofState);
  const act: Act = () => {
    throw new TlaError(`${definition.name} is needed before it is compiled`);
  };
  const used = { act, size: () => made.compiled.routine.size };
  known.set(key, used);
  used.act = compileAction(definition.body, made.scope, making);
  return used;
}

/** Whether any state may come next by it. */
export function compileEnabled(expression: Expression, scope: Scope): Evaluate {
  if (scope.isPrimed) throw new TlaError('ENABLED of a next state is not evaluated', expression.place);
  const { machine } = scope.compilation;
  const act = compileAction(expression, scope, makingNext());
  return (frame) => {
    const { next } = machine;
    machine.next = newFrame(machine.state.length) as State;
    machine.epoch++;
    let isEnabled = false;
    act(frame, () => {
      isEnabled = true;
    });
    machine.next = next;
    machine.epoch++;
    return isEnabled;
  };
}
