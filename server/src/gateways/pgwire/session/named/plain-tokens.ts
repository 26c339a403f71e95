/**
 * The tokens of a short SQL text, for whoever asks whether it is certain what the text does.
 *
 * Pure. It gives up (null) wherever a text could be read in two ways: at a backslash outside of comments, whose meaning a setting decides, and at what PostgreSQL refuses.
 */

/** `sign`: one byte that is no part of another token; `::` is two of them. `value`: a word in lower case, what a string or a quoted name holds, a sign itself; of numbers and parameters nothing. */
export interface Token {
  readonly kind: 'word' | 'quotedName' | 'string' | 'number' | 'parameter' | 'sign';
  readonly value: string;
}

/** Letters ahead of a string: E'...', B'...', X'...', N'...'. */
const prefixes = 'ebxn';
const blanks = ' \t\n\r\f\v';

/** `text`: read as latin1. A zero byte ends it. */
export function plainTokens(text: string): Token[] | null {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length && text[at] !== '\0') {
    if (blanks.includes(text[at]!)) {
      at += 1;
      continue;
    }
    const next = tokenAt(text, at);
    if (next === null) return null;
    if (next.token !== null) tokens.push(next.token);
    at = next.end;
  }
  return tokens;
}

/** `token`: null for a comment. */
interface Found {
  readonly token: Token | null;
  readonly end: number;
}

function tokenAt(text: string, at: number): Found | null {
  const sign = text[at]!;
  if (text.startsWith('--', at)) return { token: null, end: lineEnd(text, at) };
  if (text.startsWith('/*', at)) return comment(text, at);
  if (sign === "'") return quoted(text, at, 'string');
  if (sign === '"') return quoted(text, at, 'quotedName');
  if (sign === '$') return isDigit(text, at + 1) ? parameter(text, at) : betweenDollars(text, at);
  if (isDigit(text, at) || (sign === '.' && isDigit(text, at + 1))) return number(text, at);
  if (isOfWord(text, at)) return word(text, at);
  return sign === '\\' ? null : { token: { kind: 'sign', value: sign }, end: at + 1 };
}

function lineEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== '\n' && text[at] !== '\r') at += 1;
  return at;
}

function comment(text: string, from: number): Found | null {
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const two = text.slice(at, at + 2);
    if (two === '/*') depth += 1;
    if (two === '*/') depth -= 1;
    at += two === '/*' || two === '*/' ? 2 : 1;
    if (depth === 0) return { token: null, end: at };
  }
  return null;
}

function quoted(text: string, from: number, kind: 'string' | 'quotedName'): Found | null {
  const quote = text[from]!;
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === '\\' || text[at] === '\0') return null;
    if (text[at] !== quote) continue;
    if (text[at + 1] === quote) at += 1;
    else {
      const value = text.slice(from + 1, at).replaceAll(quote + quote, quote);
      return { token: { kind, value }, end: at + 1 };
    }
  }
  return null;
}

function parameter(text: string, from: number): Found | null {
  let end = from + 1;
  while (isDigit(text, end)) end += 1;
  return isOfWord(text, end) ? null : { token: { kind: 'parameter', value: '' }, end };
}

function betweenDollars(text: string, from: number): Found | null {
  let end = from + 1;
  while (isOfWord(text, end) && text[end] !== '$') end += 1;
  if (text[end] !== '$') return null;
  const tag = text.slice(from, end + 1);
  const close = text.indexOf(tag, end + 1);
  if (close < 0) return null;
  const value = text.slice(end + 1, close);
  return value.includes('\0') ? null : { token: { kind: 'string', value }, end: close + tag.length };
}

/** Also 0x1F, 1_000 and 1.5e-7. */
function number(text: string, from: number): Found | null {
  let end = from;
  while (isOfWord(text, end) || text[end] === '.' || isExponentSign(text, end)) {
    if (text[end] === '$') return null;
    end += 1;
  }
  return { token: { kind: 'number', value: '' }, end };
}

function isExponentSign(text: string, at: number): boolean {
  const signs = text[at] === '-' || text[at] === '+';
  return signs && (text[at - 1] === 'e' || text[at - 1] === 'E') && isDigit(text, at + 1);
}

function word(text: string, from: number): Found | null {
  let end = from;
  while (isOfWord(text, end)) end += 1;
  const value = text.slice(from, end).toLowerCase();
  if (text[end] === "'" && prefixes.includes(value)) return quoted(text, end, 'string');
  return { token: { kind: 'word', value }, end };
}

function isDigit(text: string, at: number): boolean {
  const byte = text.charCodeAt(at);
  return byte >= 0x30 && byte <= 0x39;
}

function isOfWord(text: string, at: number): boolean {
  const byte = text.charCodeAt(at);
  const isLetter = (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a);
  return isLetter || isDigit(text, at) || byte === 0x5f || byte === 0x24 || byte >= 0x80;
}
