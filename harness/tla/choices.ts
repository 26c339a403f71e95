/**
 * Which definitions only choose among actions, as a Next does, and are no action themselves. It decides how a step is called.
 *
 * One that says itself what a variable becomes is an action. So is one that adds conditions to another action.
 */
import { levelOf } from './level.ts';
import type { Scope } from './scope.ts';
import type { Definition, Expression } from './syntax.ts';

const known = new WeakMap<Definition, boolean>();

export function isChoice(definition: Definition, scope: Scope): boolean {
  const there = known.get(definition);
  if (there !== undefined) return there;
  const found = !saysWhatBecomes(definition.body) && chooses(definition.body, definition, scope);
  known.set(definition, found);
  return found;
}

/** Each expression right below it, of those that an action is put together with. */
function partsOf(expression: Expression): readonly Expression[] {
  const { kind } = expression;
  if (kind === 'list') return expression.items;
  if (kind === 'infix') return [expression.left, expression.right];
  if (kind === 'if') return [expression.condition, expression.thenValue, expression.otherwise];
  if (kind === 'let') return [expression.body, ...expression.definitions.map(({ body }) => body)];
  if (kind === 'quantified') return [expression.body];
  if (kind === 'apply') return expression.operands;
  if (kind !== 'case') return [];
  const { arms, otherwise } = expression;
  return [
    ...arms.flatMap(({ condition, value }) => [condition, value]),
    ...(otherwise === null ? [] : [otherwise]),
  ];
}

function saysWhatBecomes(expression: Expression): boolean {
  if (expression.kind === 'primed') return true;
  if (expression.kind === 'prefix' && expression.operator === 'UNCHANGED') return true;
  return partsOf(expression).some(saysWhatBecomes);
}

/** Whether somewhere on the way to its actions there is a choice; a definition without parameters that only names another is one, too. */
function chooses(expression: Expression, definition: Definition, scope: Scope): boolean {
  const { kind } = expression;
  if (kind === 'apply') {
    if (expression.operands.some((operand) => chooses(operand, definition, scope))) return true;
    const used = scope.names.has(expression.name)
      ? undefined
      : scope.compilation.program.definitions.get(expression.name);
    if (used === undefined || used === definition || levelOf(used.body, scope) < 2) return false;
    return isChoice(used, scope) || definition.parameters.length === 0;
  }
  if (kind === 'quantified')
    return expression.body.kind === 'apply' || chooses(expression.body, definition, scope);
  if ((kind === 'list' || kind === 'infix') && expression.operator === '\\/') return true;
  return partsOf(expression).some((part) => chooses(part, definition, scope));
}
