/**
 * Settings that end a statement, a transaction or a session by the clock: at one replica, and not at another. Whatever value a text gives them, they are 0.
 *
 * Invariant: a value that is not one literal is refused, as one may be that is met within the request which sets it.
 */
import type { Edit } from '../edits.ts';
import type { TreeNode } from '../parser.ts';
import type { Refusal } from '../rewriting.ts';
import { word } from '../tree.ts';

type Why = Omit<Refusal, 'kind' | 'sqlstate'>;

export const clockNames = [
  'statement_timeout',
  'lock_timeout',
  'transaction_timeout',
  'idle_in_transaction_session_timeout',
  'idle_session_timeout',
] as const;
const clocks: ReadonlySet<string> = new Set(clockNames);

/** A number, or a string without escapes: the whole of it gives way. */
const literal = /(?:\+|-)?\s{0,9}[\d.][\w.]{0,63}(?![\w.])|'[^'\\]{0,200}'(?!['\w])/y;

/** Of a SET, by itself or in the definition of a function. Undefined: it sets no clock, or sets it back to its default, which is 0. */
export function clockSet(node: TreeNode, text: string): Edit | Why | undefined {
  if (node.kind !== 'VAR_SET_VALUE' || !clocks.has(word(node, 'name').toLowerCase())) return undefined;
  const args = Array.isArray(node.args) ? (node.args as readonly TreeNode[]) : [];
  return args.length === 1 ? zero(word(node, 'name'), args[0], text, '0') : undefined;
}

/** Of a call of set_config whose first argument is a literal. */
export function clockConfig(name: string, value: TreeNode | undefined, text: string): Edit | Why | undefined {
  return clocks.has(name.toLowerCase()) ? zero(name, value, text, "'0'") : undefined;
}

function zero(name: string, value: TreeNode | undefined, text: string, inserted: string): Edit | Why {
  const at = Number((value?.A_Const as TreeNode | undefined)?.location ?? -1);
  literal.lastIndex = Math.max(0, at);
  const found = at < 0 ? null : literal.exec(text);
  if (found !== null) return { at, removed: found[0].length, inserted };
  return {
    message: `${name} must be set to a literal`,
    hint: 'Leave it out: no statement, transaction or session ends by the clock of a replica.',
    rule: 'clocks that end something',
  };
}
