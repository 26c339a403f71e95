/**
 * A model to be walked through by hand: its first states, what may come next and by which action, and which invariants hold.
 *
 * A step that the constraints do not allow is left out, but one into a state that breaks an invariant is there all the same: TLC holds states to the invariants before it lets go of what lies outside, and a counterexample may end there.
 *
 * Nothing is kept between two questions. Temporal properties are not looked at, and neither is what a specification says of fairness: it takes no step away.
 */
import { compileAction, makingFirst, makingNext } from './compile-action.ts';
import { compileCondition } from './compile.ts';
import { explain, type FalsePart } from './explain.ts';
import { bodyOf, topScope } from './explore.ts';
import { newFrame, type Frame, type Machine, type State } from './machine.ts';
import { isChoice } from './choices.ts';
import { levelOf } from './level.ts';
import { programOf, type ProgramSource } from './program.ts';
import { equal } from './equality.ts';
import type { Scope } from './scope.ts';
import type { Expression } from './syntax.ts';
import { TlaError } from './tla-error.ts';
import { actionOf, newTrail } from './trail.ts';
import type { Value } from './value.ts';

/** More of them are a mistake of whoever chose the model. */
const STATES_MAX = 10_000;

export interface ActionUse {
  readonly name: string;
  /** By the names of the definition's parameters. */
  readonly operands: readonly { readonly name: string; readonly value: Value }[];
}

export interface NextState {
  readonly values: readonly Value[];
  /** Null: the step has no name. */
  readonly action: ActionUse | null;
}

export interface OpenModel {
  /** In the order of a state's values. */
  readonly variables: readonly string[];
  readonly invariants: readonly string[];
  /** @throws TlaError if something cannot be evaluated */
  firstStates(): readonly (readonly Value[])[];
  /** Every way to get to each: two actions may lead to one state. */
  nextStates(state: readonly Value[]): readonly NextState[];
  /** The names of those that do not hold. */
  broken(state: readonly Value[]): readonly string[];
  /** Why an invariant does not hold: from the whole of it to the smallest part that is false. */
  whyBroken(invariant: string, state: readonly Value[]): readonly FalsePart[];
}

/** @throws TlaError at what cannot be read or is not evaluated here */
export function openModel(source: ProgramSource): OpenModel {
  const program = programOf(source);
  const { config } = source;
  const machine: Machine = {
    state: [],
    next: [],
    epoch: 0,
    registers: new Map(),
    data: new Map(),
    run: 1,
    print: () => undefined,
  };
  const scope = topScope(program, machine);
  const trail = newTrail();
  const { first, next } = stepsOf(bodyOf(config.specification, program), scope);
  const makeFirst = compileAction(first, scope, makingFirst());
  const makeNext = compileAction(next, scope, makingNext(trail));
  const condition = (name: string) => compileCondition(bodyOf(name, program), scope);
  const named = (names: readonly string[]) => names.map((name) => ({ name, holds: condition(name) }));
  const invariants = named(config.invariants);
  const constraints = named(config.constraints);
  const actionConstraints = named(config.actionConstraints);
  const count = program.variables.length;
  const topFrame = (): Frame => newFrame(scope.routine.size);
  const look = (state: State, to: State = newFrame(count) as State): void => {
    machine.state = state;
    machine.next = to;
    machine.epoch++;
  };
  const complete = (state: State): Value[] => {
    for (const [variable, name] of program.variables.entries())
      if (state[variable] === undefined) throw new TlaError(`nothing is said of ${name}`);
    return [...state] as Value[];
  };
  const assumptions = program.assumptions.map((assumption) => compileCondition(assumption, scope));
  const assume = (): void => {
    for (const [index, holds] of assumptions.entries())
      if (!holds(topFrame()))
        throw new TlaError('what is assumed is not so', program.assumptions[index]!.place);
  };
  assume();
  const isKept = (from: readonly Value[], to: readonly Value[]): boolean => {
    look([...from], [...to]);
    if (!actionConstraints.every(({ holds }) => holds(topFrame()))) return false;
    look([...to]);
    return constraints.every(({ holds }) => holds(topFrame()));
  };
  const broken = (state: readonly Value[]): readonly string[] => {
    look([...state]);
    return invariants.filter(({ holds }) => !holds(topFrame())).map(({ name }) => name);
  };
  return {
    variables: program.variables,
    invariants: config.invariants,
    firstStates() {
      look(newFrame(count) as State);
      const found: Value[][] = [];
      makeFirst(topFrame(), () => {
        found.push(complete(machine.state));
        if (found.length > STATES_MAX) throw new TlaError(`there are more than ${STATES_MAX} first states`);
      });
      return distinct(found.map((values) => ({ values, action: null }))).map(({ values }) => values);
    },
    nextStates(state) {
      look([...state]);
      const found: NextState[] = [];
      makeNext(topFrame(), () => {
        const use = actionOf(trail, (definition) => isChoice(definition, scope));
        const operands = use?.definition.parameters.map((name, index) => ({
          name,
          value: use.operands[index]!,
        }));
        const action = use === null ? null : { name: use.definition.name, operands: operands ?? [] };
        found.push({ values: complete(machine.next), action });
        if (found.length > STATES_MAX)
          throw new TlaError(`there are more than ${STATES_MAX} states after one`);
      });
      return distinct(found).filter(({ values }) => isKept(state, values) || broken(values).length > 0);
    },
    broken,
    whyBroken(invariant, state) {
      look([...state]);
      return explain(invariant, bodyOf(invariant, program), scope, topFrame());
    },
  };
}

/** Without those that are there already, by the same action. */
function distinct(all: readonly NextState[]): NextState[] {
  const kept: NextState[] = [];
  for (const one of all) if (!kept.some((other) => isSameStep(one, other))) kept.push(one);
  return kept;
}

function isSameStep(one: NextState, other: NextState): boolean {
  if (one.action?.name !== other.action?.name) return false;
  const operands = other.action?.operands ?? [];
  return (
    (one.action?.operands ?? []).every(({ value }, index) => equal(value, operands[index]!.value)) &&
    one.values.every((value, index) => equal(value, other.values[index]!))
  );
}

/** `Init /\\ [][Next]_vars`: what is first may be said in several parts, and behind it there may be what comes about in the end. */
function stepsOf(body: Expression, scope: Scope): { first: Expression; next: Expression } {
  const parts = conjuncts(body, scope.compilation.program);
  const always = parts.flatMap((part) =>
    part.kind === 'prefix' && part.operator === '[]' && part.operand.kind === 'temporal'
      ? [part.operand.action]
      : [],
  );
  const first = parts.filter((part) => levelOf(part, scope) < 2);
  const [next, ...more] = always;
  if (first.length === 0 || next === undefined || more.length > 0)
    throw new TlaError(
      'a specification is Init /\\ [][Next]_vars here, and what it says of fairness',
      body.place,
    );
  return { first: { kind: 'list', operator: '/\\', items: first, place: first[0]!.place }, next };
}

function conjuncts(expression: Expression, program: ReturnType<typeof programOf>): Expression[] {
  if (expression.kind === 'list' && expression.operator === '/\\')
    return expression.items.flatMap((item) => conjuncts(item, program));
  if (expression.kind === 'infix' && expression.operator === '/\\')
    return [expression.left, expression.right].flatMap((part) => conjuncts(part, program));
  if (expression.kind !== 'apply' || expression.operands.length > 0) return [expression];
  const definition = program.definitions.get(expression.name);
  const inner = definition === undefined ? [] : conjuncts(definition.body, program);
  // A specification by its name; of what is none the name stays.
  return inner.some((part) => part.kind === 'prefix' && part.operator === '[]') ? inner : [expression];
}
