/** The words, strings and signs of a function's body. Pure, linear in the text. */
import { carriageReturn, dash, newline, slash, star } from './sql-bytes.ts';

/** In the place of a part of a text that is not known: a name that is quoted where it has to be, or anything. */
export const dynamicName = '\u0001';
export const dynamicText = '\u0002';

export interface BodyToken {
  /** A name within quotes is a word. `dynamic`: a word that holds a part that is not known. */
  readonly kind: 'word' | 'string' | 'sign' | 'dynamic';
  /** Of a word in small letters; of a string what it says. */
  readonly text: string;
  /** A word that stood within quotes: never one of SQL's own. */
  readonly isQuoted?: true;
  /** Of an opening parenthesis: the index of the one that closes it; undefined: none does. */
  closes?: number;
}

const quote = 0x27;
const doubleQuote = 0x22;
const backslash = 0x5c;
const dollar = 0x24;
const underscore = 0x5f;
const letterE = 0x65;

export function tokensOf(text: string): BodyToken[] {
  const reader = new TokenReader(text);
  reader.read();
  return reader.tokens;
}

/** What does not end goes up to the end. */
class TokenReader {
  readonly tokens: BodyToken[] = [];
  private readonly text: string;
  private readonly open: BodyToken[] = [];
  private at = 0;

  constructor(text: string) {
    this.text = text;
  }

  read(): void {
    const { text } = this;
    while (this.at < text.length) {
      const code = text.charCodeAt(this.at);
      const next = text.charCodeAt(this.at + 1);
      if (code <= 0x20 && !isDynamic(code)) this.at += 1;
      else if (code === dash && next === dash) this.skipLine();
      else if (code === slash && next === star) this.skipComment();
      else if (code === quote) this.string(false);
      else if ((code | 0x20) === letterE && next === quote) {
        this.at += 1;
        this.string(true);
      } else if (code === doubleQuote) this.word(unquoted(this.quoted(doubleQuote, false), '"'), true);
      else if (code === dollar) this.dollars();
      else if (beginsWord(code)) this.word(this.run());
      else if (isDigit(code)) this.add('sign', this.run());
      else this.sign(text[this.at]!);
    }
  }

  private add(kind: BodyToken['kind'], text: string): void {
    this.tokens.push({ kind, text });
  }

  private word(said: string, isQuoted = false): void {
    const isWhole = !said.includes(dynamicName) && !said.includes(dynamicText);
    const kind = isWhole ? 'word' : 'dynamic';
    this.tokens.push({ kind, text: said.toLowerCase(), ...(isQuoted ? { isQuoted } : {}) });
  }

  private sign(sign: string): void {
    this.at += 1;
    this.add('sign', sign);
    if (sign === '(') this.open.push(this.tokens.at(-1)!);
    else if (sign === ')') {
      const opened = this.open.pop();
      if (opened !== undefined) opened.closes = this.tokens.length - 1;
    }
  }

  /** Letters and digits. */
  private run(): string {
    const { text, at: from } = this;
    while (this.at < text.length && isOfWord(text.charCodeAt(this.at))) this.at += 1;
    return text.slice(from, this.at);
  }

  private skipLine(): void {
    const { text } = this;
    while (this.at < text.length) {
      const code = text.charCodeAt(this.at);
      if (code === newline || code === carriageReturn) return;
      this.at += 1;
    }
  }

  /** Comments may stand within each other. */
  private skipComment(): void {
    const { text } = this;
    let depth = 0;
    while (this.at < text.length) {
      const code = text.charCodeAt(this.at);
      const next = text.charCodeAt(this.at + 1);
      if (code === slash && next === star) depth += 1;
      else if (code === star && next === slash) depth -= 1;
      else {
        this.at += 1;
        continue;
      }
      this.at += 2;
      if (depth === 0) return;
    }
  }

  private string(isEscaped: boolean): void {
    const said = this.quoted(quote, isEscaped);
    this.add('string', isEscaped ? unescaped(said) : unquoted(said, "'"));
  }

  /** What stands between the quote at this place and its end. */
  private quoted(sign: number, isEscaped: boolean): string {
    const { text } = this;
    const from = this.at + 1;
    this.at = from;
    while (this.at < text.length) {
      const code = text.charCodeAt(this.at);
      if (code === backslash && isEscaped) this.at += 1;
      else if (code === sign) {
        if (text.charCodeAt(this.at + 1) !== sign) break;
        this.at += 1;
      }
      this.at += 1;
    }
    const said = text.slice(from, this.at);
    this.at += 1;
    return said;
  }

  /** A string between dollar signs, or a parameter. */
  private dollars(): void {
    const { text, at: from } = this;
    let to = from + 1;
    while (to < text.length && text.charCodeAt(to) !== dollar && isOfWord(text.charCodeAt(to))) to += 1;
    if (text.charCodeAt(to) !== dollar || isDigit(text.charCodeAt(from + 1))) {
      this.at = to;
      this.add('sign', text.slice(from, to));
      return;
    }
    const sign = text.slice(from, to + 1);
    const end = text.indexOf(sign, to + 1);
    this.add('string', text.slice(to + 1, end === -1 ? text.length : end));
    this.at = end === -1 ? text.length : end + sign.length;
  }
}

function isDynamic(code: number): boolean {
  return code === 1 || code === 2;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function beginsWord(code: number): boolean {
  const letter = code | 0x20;
  return (letter >= 0x61 && letter <= 0x7a) || code === underscore || code >= 0x80 || isDynamic(code);
}

function isOfWord(code: number): boolean {
  return beginsWord(code) || isDigit(code) || code === dollar;
}

function unquoted(said: string, sign: string): string {
  return said.replaceAll(sign + sign, sign);
}

/** Other escapes than a quote's stand for signs that no word is looked for with; one that writes a letter by its number is a part that is not known. */
function unescaped(text: string): string {
  return text.replaceAll(/''|\\([^])/g, (_, sign: string | undefined) => {
    if (sign === undefined) return "'";
    return /[0-7xuU]/.test(sign) ? dynamicText : /[bfnrt]/.test(sign) ? ' ' : sign;
  });
}
