/**
 * Functions that execute SQL which a string holds: the string has to be a literal, and passes the rules as a statement of its own.
 *
 * Responsible for: which arguments are SQL, and which are names that become a part of it. The rules come as `inspect`.
 */
import { parseText, type ParsedStatement, type TreeNode } from '../parser.ts';
import type { Refusal } from '../rewriting.ts';
import { constantOf } from '../tree.ts';
import { namedInText } from './bodies.ts';

type Why = Omit<Refusal, 'kind' | 'sqlstate'>;

/** Undefined: it may be executed. */
type Inspect = (statement: ParsedStatement, text: string) => { readonly message: string } | undefined;

const rule = 'SQL in a string';

/** Without the name that it is given by. */
const unnamed = (argument: TreeNode): TreeNode =>
  ((argument.NamedArgExpr as TreeNode | undefined)?.arg as TreeNode | undefined) ?? argument;

const isNumber = (argument: TreeNode): boolean =>
  (argument.A_Const as TreeNode | undefined)?.ival !== undefined;

/** Of `connectby`: a relation and its columns. What begins the tree is quoted; of six arguments nobody knows whether the fourth does. */
function namesOf(args: readonly TreeNode[]): readonly TreeNode[] {
  return args.slice(0, args.length > 5 ? 4 : 3);
}

/** `name`: one of `takesSql`. */
export function stringRefusal(name: string, args: readonly TreeNode[], inspect: Inspect): Why | undefined {
  const isTree = name === 'connectby';
  // With three, they are queries of a text search.
  if (name === 'ts_rewrite' && args.length !== 2) return undefined;
  const executed = isTree ? namesOf(args) : name === 'ts_rewrite' ? args.slice(1) : args;
  for (const argument of executed.map(unnamed)) {
    if (isNumber(argument)) continue;
    const text = constantOf(argument);
    if (text === undefined)
      return {
        message: `${name} executes SQL that is not a literal`,
        hint: 'Write the SQL as one string constant.',
        rule,
      };
    const differs = isTree ? namedInText(text) : differsIn(text, inspect);
    if (differs !== undefined)
      return {
        message: `${name} executes SQL that would differ between replicas: ${differs}`,
        hint: 'Call functions of barista_fn in it.',
        rule,
      };
  }
  return undefined;
}

function differsIn(text: string, inspect: Inspect): string | undefined {
  const parsed = parseText(text);
  // It may be right in a newer PostgreSQL than the parser's.
  if (parsed.kind === 'wrong') return parsed.message;
  for (const statement of parsed.statements) {
    const found = inspect(statement, text);
    if (found !== undefined) return found.message;
  }
  return undefined;
}
