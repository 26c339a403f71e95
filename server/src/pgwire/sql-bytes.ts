/** The bytes that SQL's tokens are told apart by. Pure. */
export const newline = 0x0a;
export const carriageReturn = 0x0d;
export const doubleQuote = 0x22;
export const dollar = 0x24;
export const quote = 0x27;
export const openParenthesis = 0x28;
export const closeParenthesis = 0x29;
export const star = 0x2a;
export const dash = 0x2d;
export const slash = 0x2f;
export const semicolon = 0x3b;
export const backslash = 0x5c;

/** Looked up: each byte of each text is asked for. */
const space = 1;
const ofWord = 2;
const idle = 4;
const signs: ReadonlySet<number> = new Set(Buffer.from('\0"$\'()-/;', 'latin1'));
const kinds = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)) return space;
  if (isDigit(byte)) return ofWord + idle;
  if (isWordStart(byte) || byte === dollar) return ofWord;
  return signs.has(byte) ? 0 : idle;
});

export function isSpace(byte: number): boolean {
  return kinds[byte] === space;
}

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

export function isWordStart(byte: number): boolean {
  return (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a) || byte === 0x5f || byte >= 0x80;
}

export function isWordByte(byte: number): boolean {
  return (kinds[byte]! & ofWord) !== 0;
}

/** Outside of words it begins nothing that is told apart: a digit, or a sign of an operator or a list. */
export function isIdle(byte: number): boolean {
  return (kinds[byte]! & idle) !== 0;
}

/** Of an ASCII letter; other bytes of a word stay what they are, for no keyword has any. */
export function lower(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
}

/** Where a byte, or a few of them, first stand from `from` on; `to`: they do not before that. Looks at nothing behind it. */
export function placeWithin(bytes: Buffer, wanted: number | string, from: number, to: number): number {
  const at = bytes.subarray(from, to).indexOf(wanted, 0, 'latin1');
  return at < 0 ? to : from + at;
}
