/**
 * Goes through the states of a model as TLC does: first states, next states, invariants; a state that cannot be told from one that was seen is left out.
 *
 * Responsible for: what PrintT prints on the way, which is all that the models of recorded runs say. Pure: it runs wherever JavaScript does.
 */
import { compileAction, makingFirst, makingNext } from './compile-action.ts';
import { compile, compileCondition } from './compile.ts';
import { newFrame, type Frame, type Machine, type State } from './machine.ts';
import { programOf, type Program, type ProgramSource } from './program.ts';
import type { Compilation, Scope } from './scope.ts';
import { ListedSet } from './set-value.ts';
import type { Expression } from './syntax.ts';
import { TlaError } from './tla-error.ts';
import { Sequence, type Value } from './value.ts';

/** More states after one, or in all, are a mistake of whoever wrote the model. */
const SUCCESSORS_MAX = 10_000;
const STATES_MAX = 1_000_000;

export interface CompiledModel {
  /** `data`: the bodies of the definitions that have none. @returns what was printed. @throws TlaError if something cannot be evaluated, or an invariant is broken */
  run(data: ReadonlyMap<string, Value>): readonly Value[];
}

/** Compiling takes longer than running a small model: one that is run with other data each time is compiled once. @throws TlaError if something cannot be evaluated */
export function compileModel(source: ProgramSource): CompiledModel {
  const { properties, constraints, actionConstraints } = source.config;
  const [unread] = [...properties, ...constraints, ...actionConstraints];
  if (unread !== undefined) throw new TlaError(`${unread}: properties and constraints are not looked at`);
  let printed: Value[] = [];
  const program = programOf(source);
  const machine: Machine = {
    state: [],
    next: [],
    epoch: 0,
    registers: new Map(),
    data: new Map(),
    run: 0,
    print: (value) => void printed.push(value),
  };
  const model = modelOf(program, source, machine);
  return {
    run(data) {
      printed = [];
      for (const name of source.data)
        if (!data.has(name)) throw new TlaError(`the data say nothing of ${name}`);
      Object.assign(machine, { state: [], next: [], epoch: machine.epoch + 1, data, run: machine.run + 1 });
      machine.registers.clear();
      explore(model);
      return printed;
    },
  };
}

function explore(model: Model): void {
  const seen = new SeenStates();
  const queue: State[] = [];
  const visit = (state: State): void => {
    if (!seen.add(model.viewOf(state))) return;
    if (seen.size > STATES_MAX) throw new TlaError(`there are more than ${STATES_MAX} states`);
    model.check(state);
    queue.push(state);
  };
  model.assume();
  model.firstStates(visit);
  for (let state = queue.shift(); state !== undefined; state = queue.shift()) model.nextStates(state, visit);
}

interface Model {
  /** @throws TlaError if what is assumed is not so */
  assume(): void;
  firstStates(visit: (state: State) => void): void;
  nextStates(state: State, visit: (state: State) => void): void;
  viewOf(state: State): Value;
  /** @throws TlaError naming the invariant that is broken */
  check(state: State): void;
}

function modelOf(program: Program, { config }: ProgramSource, machine: Machine): Model {
  const scope = topScope(program, machine);
  const { first, next } = readSpecification(bodyOf(config.specification, program));
  const makeFirst = compileAction(first, scope, makingFirst());
  const makeNext = compileAction(next, scope, makingNext());
  const view = config.view === null ? null : compile(bodyOf(config.view, program), scope);
  const invariants = config.invariants.map((name) => ({
    name,
    holds: compileCondition(bodyOf(name, program), scope),
  }));
  const count = program.variables.length;
  const look = (state: State): void => {
    machine.state = state;
    machine.next = newFrame(count) as State;
    machine.epoch++;
  };
  const topFrame = (): Frame => newFrame(scope.routine.size);
  const complete = (state: State): State => {
    for (const [variable, name] of program.variables.entries())
      if (state[variable] === undefined) throw new TlaError(`nothing is said of ${name}`);
    return [...state];
  };
  const assumptions = program.assumptions.map((assumption) => ({
    holds: compileCondition(assumption, scope),
    place: assumption.place,
  }));
  return {
    assume() {
      for (const { holds, place } of assumptions)
        if (!holds(topFrame())) throw new TlaError('what is assumed is not so', place);
    },
    firstStates(visit) {
      look(newFrame(count) as State);
      const found: State[] = [];
      makeFirst(topFrame(), () => void found.push(complete(machine.state)));
      for (const state of found) visit(state);
    },
    nextStates(state, visit) {
      look(state);
      const found: State[] = [];
      makeNext(topFrame(), () => {
        found.push(complete(machine.next));
        if (found.length > SUCCESSORS_MAX)
          throw new TlaError(`there are more than ${SUCCESSORS_MAX} states after one`);
      });
      for (const one of found) visit(one);
    },
    viewOf(state) {
      look(state);
      return view === null ? new Sequence(state as Value[]) : view(topFrame());
    },
    check(state) {
      look(state);
      for (const { name, holds } of invariants)
        if (!holds(topFrame())) throw new TlaError(`the invariant ${name} is broken`);
    },
  };
}

export function topScope(program: Program, machine: Machine): Scope {
  const compilation: Compilation = {
    program,
    machine,
    variables: new Map(program.variables.map((name, index) => [name, index])),
    routines: new Map(),
    levels: new Map(),
    levelling: [],
  };
  return { compilation, routine: { depth: 0, size: 1 }, names: new Map(), isPrimed: false, current: null };
}

export function bodyOf(name: string, program: Program): Expression {
  const definition = program.definitions.get(name);
  if (definition === undefined) throw new TlaError(`the configuration names ${name}, which is not defined`);
  if (definition.parameters.length > 0) throw new TlaError(`${name} has parameters`, definition.place);
  return definition.body;
}

/** `Init /\ [][Next]_vars`, and nothing else. */
export function readSpecification(body: Expression): { first: Expression; next: Expression } {
  const parts = body.kind === 'list' ? body.items : body.kind === 'infix' ? [body.left, body.right] : [];
  const [first, always, ...more] = parts;
  const isAnd = (body.kind === 'list' || body.kind === 'infix') && body.operator === '/\\';
  if (!isAnd || first === undefined || always === undefined || more.length > 0)
    throw new TlaError('a specification is Init /\\ [][Next]_vars here', body.place);
  if (always.kind !== 'prefix' || always.operator !== '[]' || always.operand.kind !== 'temporal')
    throw new TlaError('[][Next]_vars is expected', always.place);
  return { first, next: always.operand.action };
}

/** States by what tells them apart. */
class SeenStates {
  #seen = ListedSet.of([]);

  get size(): number {
    return this.#seen.size;
  }

  /** Whether it is new. */
  add(view: Value): boolean {
    const before = this.#seen.size;
    this.#seen = this.#seen.union(ListedSet.of([view]));
    return this.#seen.size > before;
  }
}
