/**
 * Edits of a text: applied from its start to its end, and read backwards to find the place in the client's text that an error's position means.
 */

/** At `at` (from 0), `removed` units gave way to `inserted`. */
export interface Edit {
  readonly at: number;
  readonly removed: number;
  readonly inserted: string;
}

/** The edits by place; two that overlap are a defect of a rule. */
export function inOrder(edits: readonly Edit[]): Edit[] {
  const sorted = [...edits].sort((a, b) => a.at - b.at || a.removed - b.removed);
  let end = 0;
  for (const edit of sorted) {
    if (edit.at < end) throw new Error(`edits overlap at ${edit.at}`);
    end = edit.at + edit.removed;
  }
  return sorted;
}

export function applyEdits(text: string, edits: readonly Edit[]): string {
  if (edits.length === 0) return text;
  const parts: string[] = [];
  let from = 0;
  for (const { at, removed, inserted } of edits) {
    parts.push(text.slice(from, at), inserted);
    from = at + removed;
  }
  parts.push(text.slice(from));
  return parts.join('');
}

/** `position` is an ErrorResponse's (characters from 1) in the rewritten text. Within what was inserted it means the start of what that stands for. */
export function originalPosition(edits: readonly Edit[], position: number): number {
  let shift = 0;
  for (const { at, removed, inserted } of edits) {
    const start = at + shift;
    if (position - 1 < start) break;
    if (position - 1 < start + inserted.length) return at + 1;
    shift += inserted.length - removed;
  }
  return position - shift;
}
