/**
 * Splits the text of a module into tokens, with their lines and columns: those decide how far an item of a list of conjuncts or disjuncts reaches.
 */
import { TlaError, type Place } from './tla-error.ts';

export interface Token extends Place {
  readonly kind: 'name' | 'number' | 'string' | 'symbol' | 'separator' | 'end';
  readonly text: string;
}

/** Other spellings of one operator. */
const spellings: Readonly<Record<string, string>> = {
  '#': '/=',
  '=<': '<=',
  '\\leq': '<=',
  '\\geq': '>=',
  '\\land': '/\\',
  '\\lor': '\\/',
  '\\lnot': '~',
  '\\neg': '~',
  '\\cup': '\\union',
  '\\cap': '\\intersect',
  '\\times': '\\X',
  '\\equiv': '<=>',
};

/** Longer ones first. */
const SYMBOLS = (
  '|-> <=> /\\ \\/ == => <= >= =< /= << >> <> <- -> ~> :> @@ .. [] ]_ ' +
  "( ) [ ] { } , : . ! ' = # < > + - * % ~ @ _"
).split(' ');

const WORD = /\w+/y;
const SPACE = /[ \t\r]+/y;
const STRING = /"((?:[^"\\\n]|\\.)*)"/y;
const BACKSLASHED = /\\[A-Za-z]+/y;
const LINE = /(?:-{4,}|={4,})/y;

/** @throws TlaError at what is no token */
export function tokensOf(text: string, module: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  let line = 1;
  let lineStart = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(text);
  };
  const add = (kind: Token['kind'], value: string, length: number): void => {
    tokens.push({ kind, text: value, module, line, column: at - lineStart + 1 });
    at += length;
  };
  while (at < text.length) {
    const char = text[at];
    if (char === '\n') {
      at++;
      line++;
      lineStart = at;
      continue;
    }
    const space = match(SPACE);
    if (space !== null) {
      at += space[0].length;
      continue;
    }
    if (text.startsWith('\\*', at)) {
      const end = text.indexOf('\n', at);
      at = end === -1 ? text.length : end;
      continue;
    }
    if (text.startsWith('(*', at)) {
      const end = endOfComment(text, at, { module, line, column: at - lineStart + 1 });
      for (; at < end; at++) {
        if (text[at] !== '\n') continue;
        line++;
        lineStart = at + 1;
      }
      continue;
    }
    const separator = match(LINE);
    if (separator !== null) {
      add('separator', separator[0].slice(0, 4), separator[0].length);
      continue;
    }
    const string = match(STRING);
    if (string !== null) {
      add('string', string[1]!.replaceAll(/\\(.)/g, '$1'), string[0].length);
      continue;
    }
    const word = match(WORD);
    if (word !== null) {
      add(/^\d+$/.test(word[0]) ? 'number' : 'name', word[0], word[0].length);
      continue;
    }
    const symbol = match(BACKSLASHED)?.[0] ?? SYMBOLS.find((one) => text.startsWith(one, at)) ?? char!;
    if (symbol === char && !SYMBOLS.includes(symbol) && symbol !== '\\')
      throw new TlaError(`${JSON.stringify(symbol)} is no token`, {
        module,
        line,
        column: at - lineStart + 1,
      });
    add('symbol', spellings[symbol] ?? symbol, symbol.length);
  }
  add('end', 'the end of the text', 0);
  return tokens;
}

/** Comments nest. */
function endOfComment(text: string, from: number, place: Place): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const two = text.slice(at, at + 2);
    if (two === '(*') depth++;
    else if (two === '*)') depth--;
    else continue;
    at++;
    if (depth === 0) return at + 1;
  }
  throw new TlaError('a comment does not end', place);
}
