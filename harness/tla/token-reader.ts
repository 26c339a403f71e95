/**
 * The tokens of a module, one after the other, for the parser.
 *
 * Responsible for: where an item of a list of conjuncts or disjuncts ends. Whatever stands at or left of the column of the list's operator is none of the item: to whoever reads the item the
 * text is at its end there.
 */
import type { Token } from './lexer.ts';
import { TlaError } from './tla-error.ts';

export interface TokenReader {
  /** The next token of the innermost item. */
  peek(ahead?: number): Token;
  take(): Token;
  /** Takes it if it is next. */
  takeIf(text: string): boolean;
  expect(text: string): Token;
  expectName(): string;
  /** Reads what lies right of `column`. */
  within<T>(column: number, read: () => T): T;
}

export function readTokens(tokens: readonly Token[]): TokenReader {
  const columns: number[] = [];
  const end = tokens.at(-1)!;
  let next = 0;
  const peek = (ahead = 0): Token => {
    const token = tokens[Math.min(next + ahead, tokens.length - 1)]!;
    const column = columns.at(-1) ?? 0;
    return token.column <= column ? { ...end, line: token.line, column: token.column } : token;
  };
  const take = (): Token => {
    const token = peek();
    if (token.kind !== 'end') next++;
    return token;
  };
  const is = (token: Token, text: string): boolean =>
    token.text === text && token.kind !== 'string' && token.kind !== 'end';
  return {
    peek,
    take,
    takeIf(text) {
      if (!is(peek(), text)) return false;
      next++;
      return true;
    },
    expect(text) {
      const token = take();
      if (!is(token, text)) throw new TlaError(`${text} is expected, not ${token.text}`, token);
      return token;
    },
    expectName() {
      const token = take();
      if (token.kind !== 'name') throw new TlaError(`a name is expected, not ${token.text}`, token);
      return token.text;
    },
    within(column, read) {
      columns.push(column);
      try {
        return read();
      } finally {
        columns.pop();
      }
    },
  };
}
