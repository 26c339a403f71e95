/** Compiles names: bound ones, variables, values, operators with their operands. */
import { compile, compileCondition, placed } from './compile.ts';
import { asSequence } from './functions.ts';
import { levelOf, levelOfDefinition } from './level.ts';
import { newFrame, type Evaluate, type Frame } from './machine.ts';
import {
  newSlot,
  outerFrame,
  readSlot,
  type Binding,
  type CompiledRoutine,
  type LetBinding,
  type Routine,
  type Scope,
} from './scope.ts';
import type { Builtin } from './standard-modules.ts';
import type { Definition, Expression } from './syntax.ts';
import { TlaError, type Place } from './tla-error.ts';
import { Sequence, type Value } from './value.ts';

type Apply = Expression & { kind: 'apply' };

export function compileApply(expression: Apply, scope: Scope): Evaluate {
  const { name, operands, place } = expression;
  const { program, variables, machine } = scope.compilation;
  const binding = scope.names.get(name);
  if (binding?.kind === 'let') return compileLetName(binding, expression, scope);
  if (binding !== undefined) {
    expectOperands(expression, 0);
    if (scope.isPrimed && binding.isOfState)
      throw new TlaError(`${name}, which was made from variables, is primed`, place);
    return readSlot(scope, binding);
  }
  const variable = variables.get(name);
  if (variable !== undefined) {
    expectOperands(expression, 0);
    const { isPrimed } = scope;
    return () => {
      const value = (isPrimed ? machine.next : machine.state)[variable];
      if (value === undefined)
        throw new TlaError(`${name}${isPrimed ? "'" : ''} is read before it is known`, place);
      return value;
    };
  }
  const value = program.values.get(name);
  if (value !== undefined) {
    expectOperands(expression, 0);
    return () => value;
  }
  const datum = program.data.get(name);
  if (datum !== undefined) {
    expectOperands(expression, 0);
    return () => machine.data.get(datum)!;
  }
  const definition = program.definitions.get(name);
  if (definition !== undefined) return compileUse(definition, expression, scope);
  const builtin = program.builtins.get(name);
  if (builtin === undefined) throw new TlaError(`${name} stands for nothing`, place);
  return compileBuiltin(builtin, operands, scope, place);
}

function expectOperands({ name, operands, place }: Apply, count: number): void {
  if (operands.length !== count)
    throw new TlaError(`${name} has ${operands.length} operands in place of ${count}`, place);
}

/** The use of a definition of a module. */
function compileUse(definition: Definition, expression: Apply, scope: Scope): Evaluate {
  expectOperands(expression, definition.parameters.length);
  const operands = expression.operands.map((operand) => compile(operand, scope));
  const ofState = expression.operands.map((operand) => levelOf(operand, scope) > 0);
  const compiled = routineOf(definition, scope, ofState);
  if (operands.length > 0) return calling(compiled, operands, null);
  const evaluate: Evaluate = () => compiled.evaluate(newFrame(compiled.routine.size));
  const level = levelOfDefinition(definition, scope);
  if (level === 0) return oncePerRun(evaluate, scope);
  return level === 1 && !scope.isPrimed ? oncePerState(evaluate, scope) : evaluate;
}

/** It may follow from the data. */
function oncePerRun(evaluate: Evaluate, { compilation: { machine } }: Scope): Evaluate {
  let known: Value | undefined;
  let run = -1;
  return (frame) => {
    if (known === undefined || run !== machine.run) {
      known = evaluate(frame);
      ({ run } = machine);
    }
    return known;
  };
}

function oncePerState(evaluate: Evaluate, { compilation: { machine } }: Scope): Evaluate {
  let known: Value | undefined;
  let epoch = -1;
  return (frame) => {
    if (known === undefined || epoch !== machine.epoch) {
      known = evaluate(frame);
      ({ epoch } = machine);
    }
    return known;
  };
}

function calling(
  compiled: CompiledRoutine,
  operands: readonly Evaluate[],
  outer: ((frame: Frame) => Frame) | null,
): Evaluate {
  const { routine } = compiled;
  return (frame) => {
    const inner: Frame = newFrame(routine.size);
    if (outer !== null) inner[0] = outer(frame);
    for (let i = 0; i < operands.length; i++) inner[i + 1] = operands[i]!(frame);
    return compiled.evaluate(inner);
  };
}

/** One for each way in which a definition is used: primed or not, with operands made from variables or not. */
export function routineOf(
  definition: Definition,
  scope: Scope,
  ofState: readonly boolean[],
): CompiledRoutine {
  const { routines } = scope.compilation;
  const key = `${scope.isPrimed} ${ofState.join(' ')}`;
  const known = routines.get(definition) ?? new Map<string, CompiledRoutine>();
  routines.set(definition, known);
  const there = known.get(key);
  if (there !== undefined) return there;
  const outer: Scope = { ...scope, names: new Map() };
  const compiled = newRoutine(definition, outer, 0, ofState);
  known.set(key, compiled.compiled);
  compiled.compiled.evaluate = compile(definition.body, compiled.scope);
  return compiled.compiled;
}

/** Its parameters lie in the first slots behind the frame around it. */
export function newRoutine(
  { name, parameters }: Definition,
  outer: Scope,
  depth: number,
  ofState: readonly boolean[],
): { readonly compiled: CompiledRoutine; readonly scope: Scope } {
  const routine: Routine = { depth, size: parameters.length + 1 };
  const names = new Map<string, Binding>(outer.names);
  for (const [index, parameter] of parameters.entries())
    names.set(parameter, {
      kind: 'value',
      routine,
      slot: index + 1,
      // In what is primed as a whole they are, too.
      isOfState: !outer.isPrimed && ofState[index] === true,
    });
  const evaluate: Evaluate = () => {
    throw new TlaError(`${name} is needed before it is compiled`);
  };
  return {
    compiled: { routine, evaluate },
    scope: { ...outer, routine, names, current: null },
  };
}

function compileLetName(binding: LetBinding, expression: Apply, scope: Scope): Evaluate {
  const { definition, compiled } = binding;
  expectOperands(expression, definition.parameters.length);
  const inner: Scope = { ...binding.scope(), isPrimed: scope.isPrimed };
  const outer = outerFrame(scope.routine, inner.routine);
  if (definition.parameters.length > 0) {
    const operands = expression.operands.map((operand) => compile(operand, scope));
    const ofState = expression.operands.map((operand) => levelOf(operand, scope) > 0);
    const made = newRoutine(definition, inner, inner.routine.depth + 1, ofState);
    made.compiled.evaluate = compile(definition.body, made.scope);
    return calling(made.compiled, operands, outer);
  }
  const key = String(scope.isPrimed);
  let evaluate = compiled.get(key);
  if (evaluate === undefined) {
    evaluate = keeping(compile(definition.body, inner), binding, inner);
    compiled.set(key, evaluate);
  }
  const there = evaluate;
  return scope.routine === inner.routine ? there : (frame) => there(outer(frame));
}

/** What depends on the next state may change while that is being made. */
function keeping(evaluate: Evaluate, { definition, found }: LetBinding, inner: Scope): Evaluate {
  if (levelOf(definition.body, inner) === 2) return evaluate;
  const slot = newSlot(inner);
  found.push(slot);
  return (frame) => (frame[slot] ??= evaluate(frame)) as Value;
}

function compileBuiltin(
  builtin: Builtin,
  operands: readonly Expression[],
  scope: Scope,
  place: Place,
): Evaluate {
  if (builtin.kind === 'select') return compileSelect(operands, scope, place);
  const { arity, value } = builtin;
  if (operands.length !== arity) throw new TlaError(`there are not ${arity} operands`, place);
  const { machine } = scope.compilation;
  const compiled = operands.map((operand) => compile(operand, scope));
  return (frame) => {
    const values = compiled.map((operand) => operand(frame));
    return placed(place, () => value(values, machine));
  };
}

/** SelectSeq(s, Test) */
function compileSelect(operands: readonly Expression[], scope: Scope, place: Place): Evaluate {
  const [sequence, test, ...more] = operands;
  if (sequence === undefined || test?.kind !== 'apply' || test.operands.length > 0 || more.length > 0)
    throw new TlaError('SelectSeq has a sequence and the name of an operator', place);
  const all = compile(sequence, scope);
  const slot = newSlot(scope);
  const names = new Map<string, Binding>(scope.names);
  names.set('item of SelectSeq', { kind: 'value', routine: scope.routine, slot, isOfState: false });
  const item: Expression = { kind: 'apply', name: 'item of SelectSeq', operands: [], place };
  const holds = compileCondition({ ...test, operands: [item] }, { ...scope, names });
  return (frame) => {
    const { items } = placed(place, () => asSequence(all(frame)));
    return new Sequence(
      items.filter((one) => {
        frame[slot] = one;
        return holds(frame);
      }),
    );
  };
}
