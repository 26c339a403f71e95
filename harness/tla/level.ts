/** What an expression depends on: nothing that changes (0), the state (1), or the next state as well (2). */
import type { Binding, Level, Scope } from './scope.ts';
import type { Bound, Definition, Expression } from './syntax.ts';
import { TlaError } from './tla-error.ts';

const max = (...levels: readonly Level[]): Level => (levels.includes(2) ? 2 : levels.includes(1) ? 1 : 0);

export function levelOf(expression: Expression, scope: Scope): Level {
  const of = (one: Expression): Level => levelOf(one, scope);
  switch (expression.kind) {
    case 'number':
    case 'string':
    case 'boolean':
      return 0;
    // What it stands for is counted where the function is that is altered.
    case 'current':
      return 0;
    case 'apply':
      return max(ofName(expression.name, scope), ...expression.operands.map(of));
    case 'prefix':
      if (expression.operator === 'ENABLED') return 1;
      return expression.operator === 'UNCHANGED' ? 2 : of(expression.operand);
    case 'primed':
      return of(expression.operand) === 0 ? 0 : 2;
    case 'infix':
      return max(of(expression.left), of(expression.right));
    case 'list':
    case 'set':
    case 'tuple':
      return max(...expression.items.map(of));
    case 'field':
      return of(expression.operand);
    case 'at':
      return max(of(expression.operand), of(expression.argument));
    case 'if':
      return max(of(expression.condition), of(expression.thenValue), of(expression.otherwise));
    case 'case': {
      const { arms, otherwise } = expression;
      const all = arms.flatMap(({ condition, value }) => [of(condition), of(value)]);
      return max(...all, otherwise === null ? 0 : of(otherwise));
    }
    case 'let': {
      const inner = hiding(
        scope,
        expression.definitions.map(({ name }) => name),
      );
      return max(
        levelOf(expression.body, inner),
        ...expression.definitions.map(({ parameters, body }) => levelOf(body, hiding(inner, parameters))),
      );
    }
    case 'quantified':
    case 'function':
    case 'map':
      return withBounds(expression.bounds, expression.body, scope);
    case 'choose':
    case 'filter':
      return withBounds([expression.bound], expression.body, scope);
    case 'record':
    case 'records':
      return max(...expression.fields.map(({ value }) => of(value)));
    case 'functions':
      return max(of(expression.domain), of(expression.range));
    case 'except': {
      const changes = expression.changes.flatMap(({ path, value }) => [...path, value]);
      return max(of(expression.operand), ...changes.map(of));
    }
    case 'temporal':
    case 'ofInstance':
      return 2;
    default:
      return expression satisfies never;
  }
}

function withBounds(bounds: readonly Bound[], body: Expression, scope: Scope): Level {
  const inner = hiding(
    scope,
    bounds.flatMap(({ names }) => names),
  );
  return max(levelOf(body, inner), ...bounds.map(({ set }) => levelOf(set, scope)));
}

/** The names stand for what is bound further in. */
function hiding(scope: Scope, names: readonly string[]): Scope {
  const all = new Map<string, Binding>(scope.names);
  for (const name of names)
    all.set(name, { kind: 'value', routine: scope.routine, slot: 0, isOfState: false });
  return { ...scope, names: all };
}

function ofName(name: string, scope: Scope): Level {
  const { program, variables } = scope.compilation;
  const ofState: Level = scope.isPrimed ? 2 : 1;
  const binding = scope.names.get(name);
  if (binding?.kind === 'value') return binding.isOfState ? ofState : 0;
  if (binding?.kind === 'let') {
    const { parameters, body } = binding.definition;
    const level = levelOf(body, hiding(binding.scope(), parameters));
    return level === 1 ? ofState : level;
  }
  if (variables.has(name)) return ofState;
  const definition = program.definitions.get(name);
  if (definition !== undefined) {
    const level = levelOfDefinition(definition, scope);
    return level === 1 ? ofState : level;
  }
  const builtin = program.builtins.get(name);
  if (builtin?.kind === 'effect') return 2;
  return builtin?.kind === 'memory' ? 1 : 0;
}

export function levelOfDefinition(definition: Definition, scope: Scope): Level {
  const { levels, levelling } = scope.compilation;
  const known = levels.get(definition);
  if (known !== undefined) return known;
  // One that uses itself depends on what the rest of it does.
  if (levelling.at(-1) === definition) return 0;
  if (levelling.includes(definition))
    throw new TlaError(`${definition.name} uses itself by way of another operator`, definition.place);
  levelling.push(definition);
  const inner = hiding({ ...scope, names: new Map(), isPrimed: false }, definition.parameters);
  const level = levelOf(definition.body, inner);
  levelling.pop();
  levels.set(definition, level);
  return level;
}
