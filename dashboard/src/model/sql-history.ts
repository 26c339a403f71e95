/**
 * The statements that were run from the console, newest first. Keeps: at most `historyMax`, none twice in a row.
 */
export const historyMax = 50;

export interface HistoryItem {
  readonly sql: string;
  readonly replica: string;
  readonly outcome: string;
  readonly failed: boolean;
}

export function remember(history: readonly HistoryItem[], item: HistoryItem): readonly HistoryItem[] {
  const rest = history[0]?.sql === item.sql ? history.slice(1) : history;
  return [item, ...rest].slice(0, historyMax);
}

/** What was stored, if it still has the right shape. */
export function parseHistory(text: string | null): readonly HistoryItem[] {
  if (text === null) return [];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.filter(isItem).slice(0, historyMax) : [];
  } catch {
    return [];
  }
}

function isItem(value: unknown): value is HistoryItem {
  if (typeof value !== 'object' || value === null) return false;
  const item = value as Partial<Record<keyof HistoryItem, unknown>>;
  return (
    typeof item.sql === 'string' &&
    typeof item.replica === 'string' &&
    typeof item.outcome === 'string' &&
    typeof item.failed === 'boolean'
  );
}

/** Line (from 1) and column (from 0) of PostgreSQL's error position, which counts characters from 1. Null if outside. */
export function locate(
  sql: string,
  position: number,
): { readonly line: number; readonly column: number; readonly text: string } | null {
  const characters = Array.from(sql);
  if (position < 1 || position > characters.length + 1) return null;
  const before = characters
    .slice(0, position - 1)
    .join('')
    .split('\n');
  const line = before.length;
  return { line, column: Array.from(before[line - 1]!).length, text: sql.split('\n')[line - 1]! };
}

/** What an error's position points at, in units of JavaScript's texts: the word or the sign there. Null if outside. */
export function spanAt(sql: string, position: number): { readonly from: number; readonly to: number } | null {
  const characters = Array.from(sql);
  if (position < 1 || position > characters.length + 1) return null;
  const from = characters.slice(0, position - 1).join('').length;
  const [word] = /^(?:"(?:[^"]|"")*"|'(?:[^']|'')*'|[\p{L}\p{N}_$]+|\S)/u.exec(sql.slice(from)) ?? [''];
  return { from, to: from + word.length };
}
