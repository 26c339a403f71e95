/**
 * What the text of a statement says of itself: whether it begins a transaction at REPEATABLE READ, takes a transaction's snapshot, or could end one. Pure.
 *
 * Knows only what is plainly written: of anything else nothing is said.
 */

/**
 * `beginsRepeatable`: a transaction at REPEATABLE READ, where none is open. `query`: PostgreSQL takes the transaction's snapshot for it, if it has none yet. `within`: it does not end a transaction. Null: not known.
 */
export type StatementKind = 'beginsRepeatable' | 'query' | 'within' | null;

const mode = String.raw`(?:isolation\s+level\s+repeatable\s+read|read\s+only|(?:not\s+)?deferrable)`;
const begins = new RegExp(
  String.raw`^\s*(?:begin(?:\s+(?:work|transaction))?|start\s+transaction)\s+${mode}(?:[\s,]+${mode})*(?:\s*;)?\s*$`,
  'i',
);
/** One statement: a semicolon within a literal is not told from one between two. */
const single = /^\s*(\w+)(?:[^\w;][^;]*)?(?:;\s*)?$/;
const queries: ReadonlySet<string> = new Set(['select', 'with', 'values', 'table']);
const others: ReadonlySet<string> = new Set([
  'declare',
  'fetch',
  'move',
  'close',
  'copy',
  'explain',
  'show',
  'savepoint',
]);

export function statementKind(text: string): StatementKind {
  if (begins.test(text)) return /\brepeatable\b/i.test(text) ? 'beginsRepeatable' : null;
  const first = single.exec(text)?.[1]?.toLowerCase() ?? '';
  if (queries.has(first)) return 'query';
  return others.has(first) ? 'within' : null;
}
