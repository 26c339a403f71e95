/**
 * Tells the statements of an SQL text apart, as far as that takes no parser: strings, quoted names and comments are passed over.
 *
 * Pure. The text may come in pieces. Responsible for: where statements begin, and their first words. Where it cannot know (a text that ends inside a
 * string, bytes that may or may not be a backslash) it says `unclear`, and never takes two statements for one.
 */
import { kindOf, needsAllWords, type StatementKind, tellingWords, wordsLooked } from './statement-kinds.ts';
import type { TextRules } from './text-rules.ts';

type State =
  | 'between'
  | 'word'
  | 'lineComment'
  | 'blockComment'
  | 'string'
  | 'escapeString'
  | 'quotedName'
  | 'dollarTag'
  | 'dollarBody';

const wordBytesMax = 16;

export class StatementReader {
  private readonly rules: TextRules;
  private readonly onStatement: (kind: StatementKind) => void;
  private state: State = 'between';
  /** The byte before, where two make one sign: `-`, `/`, `*`, `\`, or the quote that may end a string. 0: none. */
  private before = 0;
  private depth = 0;
  private commentDepth = 0;
  private tag = '';
  private tagMatched = 0;
  private word = '';
  /** The last token was an E'...' string: one that follows on the next line continues it, by the same rules. */
  private continuesEscapes = false;
  private unclear = false;
  private words: (string | null)[] = [];
  private concurrently = false;
  private atomic = false;

  constructor(rules: TextRules, onStatement: (kind: StatementKind) => void) {
    this.rules = rules;
    this.onStatement = onStatement;
  }

  /** The next piece of the text; a zero byte ends it. */
  push(bytes: Buffer, from: number, to: number): void {
    for (let at = from; at < to; at += 1) {
      const byte = bytes[at]!;
      if (byte === 0) return;
      this.take(byte);
    }
  }

  end(): void {
    const stringEnds = (this.state === 'string' || this.state === 'escapeString') && this.before === quote;
    if (stringEnds || this.state === 'lineComment') {
      this.state = 'between';
      this.before = 0;
    }
    if (this.state === 'between' || this.state === 'word') this.takeBetween(semicolon);
    // Inside of a string, a comment or parentheses: PostgreSQL refuses such a text as a whole, if it reads it as we do.
    if (this.state !== 'between' || this.depth !== 0) this.onStatement('unclear');
  }

  private take(byte: number): void {
    switch (this.state) {
      case 'between':
      case 'word':
        this.takeBetween(byte);
        return;
      case 'lineComment':
        if (byte === newline || byte === carriageReturn) this.state = 'between';
        return;
      case 'blockComment':
        this.takeComment(byte);
        return;
      case 'string':
        this.takeString(byte, this.rules.backslashEscapes);
        return;
      case 'escapeString':
        this.takeString(byte, true);
        return;
      case 'quotedName':
        if (byte === doubleQuote) this.state = 'between';
        return;
      case 'dollarTag':
        this.takeTag(byte);
        return;
      case 'dollarBody':
        this.takeDollarBody(byte);
        return;
      default:
        this.state satisfies never;
    }
  }

  /** Outside of strings and comments. */
  private takeBetween(byte: number): void {
    if (this.state === 'word') {
      if (isWordByte(byte)) {
        if (this.word.length < wordBytesMax) this.word += String.fromCharCode(lower(byte));
        return;
      }
      if (this.endWord(byte)) return;
    }
    if (this.before !== 0 && this.openComment(byte)) return;
    this.before = 0;
    if (byte === semicolon) this.endStatement();
    else if (!isSpace(byte)) this.beginToken(byte);
  }

  private beginToken(byte: number): void {
    if (byte === quote) {
      this.state = this.continuesEscapes ? 'escapeString' : 'string';
      this.note(null);
      return;
    }
    if (byte === dash || byte === slash) {
      this.before = byte;
      return;
    }
    this.continuesEscapes = false;
    if (isWordStart(byte)) {
      this.state = 'word';
      this.word = String.fromCharCode(lower(byte));
      return;
    }
    this.note(null);
    if (byte === doubleQuote) this.state = 'quotedName';
    else if (byte === dollar) {
      this.state = 'dollarTag';
      this.tag = '$';
    } else if (byte === openParenthesis) this.depth += 1;
    else if (byte === closeParenthesis) this.depth -= 1;
  }

  /** The byte before was `-` or `/`. True if the two of them begin a comment. */
  private openComment(byte: number): boolean {
    const opens = (this.before === dash && byte === dash) || (this.before === slash && byte === star);
    if (!opens) {
      this.continuesEscapes = false;
      this.note(null);
      return false;
    }
    this.state = this.before === dash ? 'lineComment' : 'blockComment';
    this.commentDepth = 1;
    this.before = 0;
    return true;
  }

  private takeComment(byte: number): void {
    if (this.before === star && byte === slash) {
      this.commentDepth -= 1;
      this.before = 0;
      if (this.commentDepth === 0) this.state = 'between';
    } else if (this.before === slash && byte === star) {
      this.commentDepth += 1;
      this.before = 0;
    } else this.before = byte === star || byte === slash ? byte : 0;
  }

  /** `before` is a backslash, or the quote that ends the string unless it is doubled. */
  private takeString(byte: number, escapes: boolean): void {
    if (this.before === quote) {
      this.before = 0;
      if (byte === quote) return;
      this.continuesEscapes = this.state === 'escapeString';
      this.state = 'between';
      this.takeBetween(byte);
      return;
    }
    if (this.before === backslash) {
      this.before = 0;
      return;
    }
    if (byte === quote) this.before = quote;
    else if (escapes && byte === backslash) this.before = backslash;
    else if (escapes && byte >= 0x80 && this.rules.mixedBytes) this.unclear = true;
  }

  private takeTag(byte: number): void {
    const first = this.tag.length === 1;
    if (byte === dollar) {
      this.tag += '$';
      this.tagMatched = 0;
      this.state = 'dollarBody';
    } else if (first ? isWordStart(byte) : isWordByte(byte)) this.tag += String.fromCharCode(byte);
    else {
      // A parameter such as $1, or an operator's sign.
      this.state = 'between';
      if (!isDigit(byte)) this.takeBetween(byte);
    }
  }

  private takeDollarBody(byte: number): void {
    if (byte === this.tag.charCodeAt(this.tagMatched)) this.tagMatched += 1;
    else this.tagMatched = byte === dollar ? 1 : 0;
    if (this.tagMatched === this.tag.length) this.state = 'between';
  }

  /** True if the byte behind the word belongs to the token: the quote of E'...'. */
  private endWord(byte: number): boolean {
    this.state = 'between';
    if (this.word === 'e' && byte === quote) {
      this.state = 'escapeString';
      this.note(null);
      return true;
    }
    this.note(this.word);
    return false;
  }

  private note(word: string | null): void {
    const { words } = this;
    if (words.length < wordsLooked) words.push(word);
    if (word === null || words[0] == null || !needsAllWords(words[0])) return;
    if (word === 'concurrently') this.concurrently = true;
    if (word === 'atomic') this.atomic = true;
  }

  private endStatement(): void {
    if (this.depth > 0) {
      this.note(null);
      return;
    }
    const { words, concurrently, atomic } = this;
    if (this.unclear || this.depth < 0) this.onStatement('unclear');
    else if (words.length > 0) this.onStatement(kindOf(words, { concurrently, atomic }));
    this.words = [];
    this.depth = 0;
    this.unclear = false;
    this.concurrently = false;
    this.atomic = false;
    this.continuesEscapes = false;
  }
}

/** The kind of a text that is one statement at most, as that of a Parse message is. An empty one is `setting`. */
export function kindOfStatement(bytes: Buffer, from: number, to: number, rules: TextRules): StatementKind {
  return isPlain(bytes, from, to) ? 'plain' : readKind(bytes, from, to, rules);
}

/** The same, where only the beginning of the text is at hand. */
export function kindOfBeginning(bytes: Buffer, from: number, to: number): StatementKind {
  // Without the last byte: a word that reaches to the end may go on.
  const last = to - 1;
  return last > from && !isWordByte(bytes[last]!) && isPlain(bytes, from, last) ? 'plain' : 'unclear';
}

/** A quick look, which suffices for nearly every statement: it begins with a word that says nothing about transactions. */
function isPlain(bytes: Buffer, from: number, to: number): boolean {
  let at = from;
  while (at < to && isSpace(bytes[at]!)) at += 1;
  const begin = at;
  while (at < to && at - begin < wordBytesMax && isWordByte(bytes[at]!)) at += 1;
  return at > begin && !tellingWords.has(bytes.toString('latin1', begin, at).toLowerCase());
}

function readKind(bytes: Buffer, from: number, to: number, rules: TextRules): StatementKind {
  let found: StatementKind | null = null;
  const reader = new StatementReader(rules, (kind) => {
    found = found === null ? kind : 'unclear';
  });
  reader.push(bytes, from, to);
  reader.end();
  return found ?? 'setting';
}

const newline = 0x0a;
const carriageReturn = 0x0d;
const doubleQuote = 0x22;
const dollar = 0x24;
const quote = 0x27;
const openParenthesis = 0x28;
const closeParenthesis = 0x29;
const star = 0x2a;
const dash = 0x2d;
const slash = 0x2f;
const semicolon = 0x3b;
const backslash = 0x5c;

function isSpace(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isWordStart(byte: number): boolean {
  return (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a) || byte === 0x5f || byte >= 0x80;
}

function isWordByte(byte: number): boolean {
  return isWordStart(byte) || isDigit(byte) || byte === dollar;
}

/** Of an ASCII letter; other bytes of a word stay what they are, for no keyword has any. */
function lower(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
}
