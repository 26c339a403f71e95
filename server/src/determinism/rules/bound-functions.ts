/**
 * Functions that a definition binds to something else (an operator, an aggregate, a cast, a trigger, a type): they are called without their names from then on, so they must be such as may be called.
 */
import type { ParsedStatement, TreeNode } from '../parser.ts';
import type { Refusal } from '../rewriting.ts';
import { nodesOf, strings, walk, word } from '../tree.ts';
import { mayBeBuiltIn, ofOneReplica, refusedFunctions, replaced } from './functions.ts';

/** Options of a definition (`CREATE OPERATOR`, `AGGREGATE`, `TYPE`, ...) whose value is a function. */
const functionOptions = new Set(
  'function procedure restrict join sfunc finalfunc combinefunc serialfunc deserialfunc msfunc minvfunc mfinalfunc input output receive send typmod_in typmod_out analyze subscript canonical subtype_diff start gettoken end headline lextypes init lexize'.split(
    ' ',
  ),
);
const definitions = new Set(['DefineStmt', 'AlterOperatorStmt', 'AlterTypeStmt', 'CreateRangeStmt']);
/** What they name as a list, by the key under which it stands. */
const functionLists = new Map([
  ['CreateTrigStmt', 'funcname'],
  ['CreateEventTrigStmt', 'funcname'],
  ['CreateConversionStmt', 'func_name'],
]);
/** What they name by `ObjectWithArgs`, wherever that stands. */
const byObjects = new Set([
  'CreateCastStmt',
  'CreateOpClassStmt',
  'AlterOpFamilyStmt',
  'CreateTransformStmt',
]);

function* namesBound({ kind, node }: ParsedStatement): Generator<readonly string[]> {
  const list = functionLists.get(kind);
  if (list !== undefined) yield strings(node[list]);
  if (definitions.has(kind))
    for (const option of nodesOf(node.definition ?? node.options ?? node.params, 'DefElem')) {
      if (!functionOptions.has(word(option, 'defname').toLowerCase())) continue;
      const value = option.arg as TreeNode | undefined;
      const listed = value?.List as TreeNode | undefined;
      yield strings((value?.TypeName as TreeNode | undefined)?.names ?? listed?.items);
    }
  if (byObjects.has(kind)) {
    const found: (readonly string[])[] = [];
    walk(kind, node, (visited) => {
      const { objname } = visited.node;
      if (objname !== undefined) found.push(strings(objname));
      return true;
    });
    yield* found;
  }
}

/** What may not be called by its name may not be bound, and what is replaced where it is called would not be. */
export function bindingRefusal(statement: ParsedStatement): Refusal | undefined {
  for (const parts of namesBound(statement)) {
    const name = parts.at(-1) ?? '';
    const differs =
      refusedFunctions.has(name) || replaced.has(name) || ofOneReplica.test(name) || name === 'set_config';
    if (!differs || !mayBeBuiltIn(parts)) continue;
    return {
      kind: 'refused',
      sqlstate: '0A000',
      message: `${name} would give different results at each replica`,
      hint: 'Use a function of your own that calls functions of barista_fn.',
      rule: 'bound functions',
    };
  }
  return undefined;
}
