/**
 * Reads the values that TLC prints: numbers, strings, booleans, sets, sequences, records and functions.
 *
 * Pure. A function whose domain is 1..n is printed, and read, as a sequence. Sets keep the order in which they are printed.
 */
export type TlaValue =
  | number
  | string
  | boolean
  | readonly TlaValue[]
  | { readonly set: readonly TlaValue[] }
  | { readonly record: Readonly<Record<string, TlaValue>> }
  | { readonly pairs: readonly (readonly [TlaValue, TlaValue])[] };

/** A state: each variable's value. */
export type TlaState = Readonly<Record<string, TlaValue>>;

interface Cursor {
  readonly text: string;
  at: number;
}

/** @throws SyntaxError naming the position */
export function parseTlaValue(text: string): TlaValue {
  const cursor = { text, at: 0 };
  const value = parseValue(cursor);
  skipSpace(cursor);
  if (cursor.at !== text.length) throw unexpected(cursor);
  return value;
}

/** Reads `/\ name = value` lines, as in a state of a behaviour. */
export function parseTlaState(text: string): TlaState {
  const cursor = { text, at: 0 };
  const state: Record<string, TlaValue> = {};
  for (skipSpace(cursor); cursor.at < text.length; skipSpace(cursor)) {
    expectToken(cursor, '/\\');
    const name = parseName(cursor);
    expectToken(cursor, '=');
    state[name] = parseValue(cursor);
  }
  return state;
}

/** The states of one file that `-simulate file=...` writes, in order. */
export function parseBehaviour(text: string): TlaState[] {
  const parts = text.split(/^STATE_\d+ == *$/m).slice(1);
  return parts.map((part) => parseTlaState(part.replace(/^=+\s*$/m, '')));
}

function unexpected({ text, at }: Cursor): SyntaxError {
  return new SyntaxError(`unexpected ${JSON.stringify(text.slice(at, at + 20))} at ${at}`);
}

function skipSpace(cursor: Cursor): void {
  while (cursor.text.charCodeAt(cursor.at) <= 32) cursor.at++;
}

function takeToken(cursor: Cursor, token: string): boolean {
  skipSpace(cursor);
  if (!cursor.text.startsWith(token, cursor.at)) return false;
  cursor.at += token.length;
  return true;
}

function expectToken(cursor: Cursor, token: string): void {
  if (!takeToken(cursor, token)) throw unexpected(cursor);
}

function match(cursor: Cursor, pattern: RegExp): string | null {
  skipSpace(cursor);
  pattern.lastIndex = cursor.at;
  const found = pattern.exec(cursor.text)?.[0] ?? null;
  if (found !== null) cursor.at += found.length;
  return found;
}

function parseName(cursor: Cursor): string {
  const name = match(cursor, /[A-Za-z_]\w*/y);
  if (name === null) throw unexpected(cursor);
  return name;
}

function parseValue(cursor: Cursor): TlaValue {
  skipSpace(cursor);
  // Files of behaviours are large: decide by the first character.
  switch (cursor.text.charAt(cursor.at)) {
    case '<':
      expectToken(cursor, '<<');
      return parseItems(cursor, '>>');
    case '{':
      cursor.at++;
      return { set: parseItems(cursor, '}') };
    case '[':
      cursor.at++;
      return parseRecord(cursor);
    case '(':
      cursor.at++;
      return parseFunction(cursor);
    case '"':
      return parseString(cursor);
    case 'T':
      expectToken(cursor, 'TRUE');
      return true;
    case 'F':
      expectToken(cursor, 'FALSE');
      return false;
    default: {
      const number = match(cursor, /-?\d+/y);
      if (number === null) throw unexpected(cursor);
      return Number(number);
    }
  }
}

function parseString(cursor: Cursor): string {
  const string = match(cursor, /"(?:[^"\\]|\\.)*"/y);
  if (string === null) throw unexpected(cursor);
  return JSON.parse(string) as string;
}

function parseItems(cursor: Cursor, close: string): TlaValue[] {
  const items: TlaValue[] = [];
  if (takeToken(cursor, close)) return items;
  do items.push(parseValue(cursor));
  while (takeToken(cursor, ','));
  expectToken(cursor, close);
  return items;
}

function parseRecord(cursor: Cursor): TlaValue {
  const record: Record<string, TlaValue> = {};
  do {
    const name = parseName(cursor);
    expectToken(cursor, '|->');
    record[name] = parseValue(cursor);
  } while (takeToken(cursor, ','));
  expectToken(cursor, ']');
  return { record };
}

function parseFunction(cursor: Cursor): TlaValue {
  const pairs: [TlaValue, TlaValue][] = [];
  do {
    const key = parseValue(cursor);
    expectToken(cursor, ':>');
    pairs.push([key, parseValue(cursor)]);
  } while (takeToken(cursor, '@@'));
  expectToken(cursor, ')');
  return { pairs };
}
