/** The one setting of the gateway that is served where statements are replicated: `barista.acknowledge`, in a SET or RESET of the session. Whether it may be set is for whoever knows the session. */
import type { ParsedStatement, TreeNode } from '../parser.ts';
import type { AcknowledgeChange } from '../rewriting.ts';
import { nodesOf, word } from '../tree.ts';

const acknowledgeName = 'barista.acknowledge';

/** Undefined: it changes nothing of the kind, or is not understood. */
export function acknowledgeOf({ kind, node }: ParsedStatement): AcknowledgeChange | undefined {
  if (kind === 'DiscardStmt' && node.target === 'DISCARD_ALL') return { value: null, isAll: true };
  if (kind !== 'VariableSetStmt') return undefined;
  if (node.kind === 'VAR_RESET_ALL') return { value: null, isAll: true };
  if (word(node, 'name').toLowerCase() !== acknowledgeName || node.is_local === true) return undefined;
  if (node.kind === 'VAR_RESET' || node.kind === 'VAR_SET_DEFAULT') return { value: null, isAll: false };
  const [only, ...more] = nodesOf(node.args, 'A_Const');
  const value = (only?.sval as TreeNode | undefined)?.sval;
  const isOne = node.kind === 'VAR_SET_VALUE' && more.length === 0 && typeof value === 'string';
  return isOne ? { value, isAll: false } : undefined;
}
