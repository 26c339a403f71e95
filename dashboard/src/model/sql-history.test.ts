import { describe, expect, test } from 'vitest';
import { historyMax, locate, parseHistory, remember, spanAt } from './sql-history.ts';
import type { HistoryItem } from './sql-history.ts';

const item = (sql: string): HistoryItem => ({ sql, replica: 'r1', outcome: 'SELECT 1', failed: false });

describe('the history', () => {
  test('is newest first, holds no statement twice in a row, and is bounded', () => {
    let history: readonly HistoryItem[] = [];
    for (let index = 0; index < historyMax + 5; index += 1)
      history = remember(history, item(`SELECT ${index}`));
    history = remember(history, { ...item(`SELECT ${historyMax + 4}`), replica: 'r2' });
    expect(history).toHaveLength(historyMax);
    expect(history[0]).toMatchObject({ sql: `SELECT ${historyMax + 4}`, replica: 'r2' });
    expect(history[1]!.sql).toBe(`SELECT ${historyMax + 3}`);
  });

  test('survives whatever was stored in its place', () => {
    expect(parseHistory(null)).toEqual([]);
    expect(parseHistory('{')).toEqual([]);
    expect(parseHistory('{"sql":1}')).toEqual([]);
    expect(parseHistory(JSON.stringify([item('SELECT 1'), null, { sql: 1 }]))).toEqual([item('SELECT 1')]);
  });
});

describe("an error's position", () => {
  test('is a line and a column of the statement', () => {
    expect(locate('SELECT *\nFROM nowhere', 15)).toEqual({ line: 2, column: 5, text: 'FROM nowhere' });
    expect(locate('selct', 1)).toEqual({ line: 1, column: 0, text: 'selct' });
  });

  test('counts characters, not code units', () => {
    expect(locate("SELECT '🦀', x", 13)).toMatchObject({ line: 1, column: 12 });
  });

  test('is ignored where it points outside', () => {
    expect(locate('SELECT', 0)).toBeNull();
    expect(locate('SELECT', 8)).toBeNull();
    expect(locate('SELECT', 7)).toMatchObject({ column: 6 });
  });
});

describe('what an error points at', () => {
  const at = (sql: string, position: number): string | null => {
    const span = spanAt(sql, position);
    return span === null ? null : sql.slice(span.from, span.to);
  };
  test('is a word, a name in quotes, a text, or a sign', () => {
    expect(at('SELECT *\nFROM nowhere;', 15)).toBe('nowhere');
    expect(at('SELECT "a b" FROM t', 8)).toBe('"a b"');
    expect(at("SELECT '🦀', büro", 13)).toBe('büro');
    expect(at('SELECT 1 +* 2', 11)).toBe('*');
  });

  test('is nothing at the end of the text, and outside of it', () => {
    expect(spanAt('SELECT', 7)).toEqual({ from: 6, to: 6 });
    expect(spanAt('SELECT', 8)).toBeNull();
  });
});
