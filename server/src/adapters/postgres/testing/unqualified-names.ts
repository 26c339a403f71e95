/**
 * Which names of a statement PostgreSQL looks up by the search path: found by PostgreSQL's own parser.
 *
 * Operators are among them: also those that a statement does not write down (IN, BETWEEN, LIKE, IS DISTINCT FROM, NULLIF, CASE with a value).
 */
import { loadParser, parseText, type TreeNode, type TreeValue } from '../../../determinism/parser.ts';

const isNode = (value: TreeValue | undefined): value is TreeNode =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textOf = (value: TreeValue | undefined): string => (typeof value === 'string' ? value : '');

const namesOf = (value: TreeValue | undefined): string[] =>
  (Array.isArray(value) ? (value as readonly TreeNode[]) : []).map((part) =>
    textOf((part['String'] as TreeNode | undefined)?.['sval']),
  );

/** Looked up in no schema: names of settings, of languages, of what is about to be made with a schema of its own. */
function unqualified(kind: string, node: TreeNode, ctes: ReadonlySet<string>): string | null {
  if (kind === 'FuncCall' || kind === 'typeName' || kind === 'TypeName' || kind === 'argType') {
    const names = namesOf(node['funcname'] ?? node['names']);
    return names.length === 1 ? `${kind === 'FuncCall' ? 'function' : 'type'} ${names[0]}` : null;
  }
  if (kind === 'returnType') return unqualified('TypeName', node, ctes);
  if (kind === 'RangeVar' || kind === 'relation') {
    const name = node['relname'];
    if (typeof name !== 'string' || node['schemaname'] !== undefined || ctes.has(name)) return null;
    return `relation ${name}`;
  }
  if (kind === 'A_Expr') {
    const names = namesOf(node['name']);
    return names.length === 1 ? `operator ${names[0]} (${textOf(node['kind'])})` : null;
  }
  if (kind === 'SubLink' && node['subLinkType'] === 'ANY_SUBLINK' && namesOf(node['operName']).length < 2)
    return 'operator = (IN)';
  return kind === 'CaseExpr' && node['arg'] !== undefined ? 'operator = (CASE)' : null;
}

function ctesIn(value: TreeValue | undefined, found: Set<string>): Set<string> {
  if (Array.isArray(value)) for (const item of value as readonly TreeValue[]) ctesIn(item, found);
  else if (isNode(value))
    for (const [key, inner] of Object.entries(value)) {
      if (key === 'ctename') found.add(textOf(inner));
      ctesIn(inner, found);
    }
  return found;
}

/** Empty: all are qualified. @throws Error if it is no statement */
export async function unqualifiedNames(statement: string): Promise<readonly string[]> {
  await loadParser();
  const parsed = parseText(Buffer.from(statement, 'utf8').toString('latin1'));
  if (parsed.kind === 'wrong') throw new Error(`${parsed.message}: ${statement}`);
  const found: string[] = [];
  for (const { kind, node } of parsed.statements) {
    const ctes = ctesIn(node, new Set());
    const walk = (key: string, value: TreeValue | undefined): void => {
      if (Array.isArray(value)) for (const item of value as readonly TreeValue[]) walk('', item);
      else if (isNode(value)) {
        const name = unqualified(key, value, ctes);
        if (name !== null) found.push(name);
        for (const [inner, of] of Object.entries(value)) walk(inner, of);
      }
    };
    walk(kind, node);
  }
  return found;
}
