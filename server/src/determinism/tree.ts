/**
 * Walks over a parsed tree without recursion: a text of a client may nest as deep as the parser takes.
 */
import type { TreeNode, TreeValue } from './parser.ts';

export interface Visited {
  /** `FuncCall`, `A_Const`, ...; or the key under which a node stands that has no kind of its own. */
  readonly kind: string;
  readonly node: TreeNode;
  /** The node around it, nearest first, by `parent`. */
  readonly parent: Visited | undefined;
  /** The key of the parent under which it stands. */
  readonly key: string;
}

const isKind = (key: string): boolean => /^[A-Z]/.test(key);

interface Open {
  readonly value: TreeValue;
  readonly key: string;
  readonly parent: Visited | undefined;
}

/** Every node from `root` down, each before those in it. `visit` says false to leave out what is in it. */
export function walk(kind: string, root: TreeNode, visit: (visited: Visited) => boolean | void): void {
  const open: Open[] = [{ value: { [kind]: root }, key: '', parent: undefined }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, key, parent } = next;
    if (Array.isArray(value)) {
      for (const item of (value as readonly TreeValue[]).toReversed())
        open.push({ value: item, key, parent });
      continue;
    }
    if (typeof value !== 'object' || value === null) continue;
    const entries = Object.entries(value as TreeNode);
    const only = entries.length === 1 ? entries[0] : undefined;
    const wrapped = only !== undefined && isKind(only[0]) && typeof only[1] === 'object';
    const node = (wrapped ? only[1] : value) as TreeNode;
    const visited: Visited = { kind: wrapped ? only[0] : key, node, parent, key };
    if (visit(visited) === false) continue;
    for (const [innerKey, inner] of Object.entries(node).toReversed())
      if (typeof inner === 'object' && inner !== null)
        open.push({ value: inner, key: innerKey, parent: visited });
  }
}

export function hasNode(root: TreeNode, kinds: readonly string[]): boolean {
  let found = false;
  walk('', root, ({ kind }) => {
    found ||= kinds.includes(kind);
    return !found;
  });
  return found;
}

/** The nodes of a kind directly in a list. */
export function nodesOf(list: TreeValue | undefined, kind: string): TreeNode[] {
  const found: TreeNode[] = [];
  if (!Array.isArray(list)) return found;
  for (const item of list as readonly TreeNode[]) {
    const node = item[kind] as TreeNode | undefined;
    if (node !== undefined) found.push(node);
  }
  return found;
}

/** The texts of a list of String nodes, as a name in parts is one. */
export function strings(list: TreeValue | undefined): string[] {
  return nodesOf(list, 'String').map((node) => word(node, 'sval'));
}

/** A text that a node holds; empty: it does not. */
export function word(node: TreeNode, key: string): string {
  const value = node[key];
  return typeof value === 'string' ? value : '';
}

/** So that a row of casts is not walked again from each of them. */
const castsMax = 8;

/** The text of a literal, also with casts around it; undefined: it is none. */
export function constantOf(value: TreeNode | undefined): string | undefined {
  let node = value;
  for (let casts = 0; node?.TypeCast !== undefined && casts < castsMax; casts += 1)
    node = (node.TypeCast as TreeNode).arg as TreeNode | undefined;
  const text = ((node?.A_Const as TreeNode | undefined)?.sval as TreeNode | undefined)?.sval;
  return typeof text === 'string' ? text : undefined;
}
