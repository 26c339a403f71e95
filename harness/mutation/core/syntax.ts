/**
 * The syntax tree of a module, as far as the mutator looks at it.
 *
 * Responsible for: parsing TypeScript as it stands, and walking the tree with the nodes above at hand. Positions count UTF-16 units of the text.
 */
import { parseSync } from 'vite';

/** Any node: the mutator asks for the fields that its `type` has. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** @throws Error if the text is no module */
export function parseModule(file: string, text: string): SyntaxNode {
  const { program, errors } = parseSync(file, text, { lang: 'ts' });
  const [first] = errors;
  if (first !== undefined) throw new Error(`${file}: ${first.message}`);
  return program as unknown as SyntaxNode;
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && typeof (value as SyntaxNode).type === 'string';
}

export function child(node: SyntaxNode, field: string): SyntaxNode | null {
  const value = node[field];
  return isNode(value) ? value : null;
}

/** `above`: the nodes around, the nearest last. `enter` returns false to leave out what is below. */
export function walk(
  node: SyntaxNode,
  enter: (node: SyntaxNode, above: readonly SyntaxNode[]) => boolean,
  above: readonly SyntaxNode[] = [],
): void {
  if (!enter(node, above)) return;
  const around = [...above, node];
  for (const value of Object.values(node)) {
    for (const one of Array.isArray(value) ? value : [value]) if (isNode(one)) walk(one, enter, around);
  }
}

/** Without parentheses and without what only the compiler sees. */
export function bare(node: SyntaxNode): SyntaxNode {
  const wrappers = [
    'ParenthesizedExpression',
    'TSAsExpression',
    'TSNonNullExpression',
    'TSSatisfiesExpression',
  ];
  const inner = wrappers.includes(node.type) ? child(node, 'expression') : null;
  return inner === null ? node : bare(inner);
}

/** The name of the innermost function that has one. */
export function functionAround(above: readonly SyntaxNode[]): string {
  for (const node of above.toReversed()) {
    if (node.type === 'FunctionDeclaration') return String(child(node, 'id')?.name);
    if (node.type === 'MethodDefinition') return String(child(node, 'key')?.name);
  }
  return 'module';
}
