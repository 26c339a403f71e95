/**
 * Tells the statements of an SQL text apart, as far as that takes no parser: strings, quoted names and comments are passed over.
 *
 * Pure. The text may come in pieces. Responsible for: where statements begin, and their first words. Where it cannot know (a text that ends inside a
 * string, bytes that may or may not be a backslash) it says `unclear`, and never takes two statements for one.
 */
import { KnownWord } from './known-words.ts';
import {
  backslash,
  carriageReturn,
  closeParenthesis,
  dash,
  dollar,
  doubleQuote,
  isDigit,
  isIdle,
  isSpace,
  isWordByte,
  isWordStart,
  newline,
  openParenthesis,
  quote,
  semicolon,
  slash,
  star,
} from './sql-bytes.ts';
import { kindOf, needsAllWords, type StatementKind, wordsLooked } from './statement-kinds.ts';
import type { TextRules } from './text-rules.ts';

/** PostgreSQL has no bound for the tag of a dollar quote. Where one ends whose tag is longer is not told: all that follows is `unclear`. */
const tagBytesMax = 1024;
/** Nothing in a text equals it. */
const noByte = '\u{ffff}';

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
  private readonly word = new KnownWord();
  /** The last token was an E'...' string: one that follows on the next line continues it, by the same rules. */
  private continuesEscapes = false;
  private unclear = false;
  private ended = false;
  /** The first `count` are those of the statement; the others are null. */
  private readonly words: (string | null)[] = Array.from({ length: wordsLooked }, () => null);
  private count = 0;
  private needsAll = false;
  private concurrently = false;
  private atomic = false;

  constructor(rules: TextRules, onStatement: (kind: StatementKind) => void) {
    this.rules = rules;
    this.onStatement = onStatement;
  }

  /** In no string, quoted name or comment. */
  get isPlain(): boolean {
    return this.state === 'between' || this.state === 'word';
  }

  get isInComment(): boolean {
    return this.state === 'lineComment' || this.state === 'blockComment';
  }

  /** In the bytes that were pushed last: the place of the byte that is being looked at, then their end. */
  at = 0;

  /** The next piece of the text; a zero byte ends it. */
  push(bytes: Buffer, from: number, to: number): void {
    let at = from;
    while (at < to && !this.ended) {
      at = this.passOver(bytes, at, to);
      if (at === to) break;
      const byte = bytes[at]!;
      this.at = at;
      if (byte === 0) this.ended = true;
      else this.take(byte);
      at += 1;
    }
    this.at = to;
  }

  /** Behind what changes nothing: most bytes of a long text, each of which costs no more than a look. */
  private passOver(bytes: Buffer, from: number, to: number): number {
    let at = from;
    switch (this.state) {
      case 'word':
        while (at < to && isWordByte(bytes[at]!)) {
          this.word.add(bytes[at]!);
          at += 1;
        }
        return at;
      case 'between':
        return this.before === 0 ? this.passBetween(bytes, at, to) : at;
      case 'lineComment':
        while (at < to && !endsLine(bytes[at]!)) at += 1;
        return at;
      case 'blockComment':
        if (this.before === 0) while (at < to && !isOfComment(bytes[at]!)) at += 1;
        return at;
      case 'string':
      case 'escapeString':
        if (this.before === 0) while (at < to && !isOfString(bytes[at]!)) at += 1;
        return at;
      case 'quotedName':
        while (at < to && bytes[at] !== doubleQuote && bytes[at] !== 0) at += 1;
        return at;
      case 'dollarBody':
        if (this.tagMatched === 0) while (at < to && bytes[at] !== dollar && bytes[at] !== 0) at += 1;
        return at;
      case 'dollarTag':
        return at;
      default:
        return this.state satisfies never;
    }
  }

  /** Blanks, and signs and numbers where no more of them are looked at. */
  private passBetween(bytes: Buffer, from: number, to: number): number {
    let at = from;
    while (at < to && isSpace(bytes[at]!)) at += 1;
    if (at === to || this.count < wordsLooked || !isIdle(bytes[at]!)) return at;
    this.continuesEscapes = false;
    while (at < to && (isIdle(bytes[at]!) || isSpace(bytes[at]!))) at += 1;
    return at;
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
    if (this.state === 'word' && this.endWord(byte)) return;
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
      this.word.begin(byte);
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
    } else if (first ? isWordStart(byte) : isWordByte(byte)) {
      if (this.tag.length < tagBytesMax) this.tag += String.fromCharCode(byte);
      else if (this.tag.length === tagBytesMax) this.tag += noByte;
    } else {
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
    if (byte === quote && this.word.isE) {
      this.state = 'escapeString';
      this.note(null);
      return true;
    }
    this.note(this.word.known);
    return false;
  }

  private note(word: string | null): void {
    const { words, count } = this;
    if (count === 0) this.needsAll = word !== null && needsAllWords(word);
    if (count < wordsLooked) {
      words[count] = word;
      this.count += 1;
    }
    if (!this.needsAll) return;
    if (word === 'concurrently') this.concurrently = true;
    if (word === 'atomic') this.atomic = true;
  }

  private endStatement(): void {
    if (this.depth > 0) {
      this.note(null);
      return;
    }
    if (this.unclear || this.depth < 0) this.onStatement('unclear');
    else if (this.count > 0) this.onStatement(this.kind);
    for (let place = 0; place < this.count; place += 1) this.words[place] = null;
    this.count = 0;
    this.depth = 0;
    this.unclear = false;
    this.concurrently = false;
    this.atomic = false;
    this.continuesEscapes = false;
  }

  private get kind(): StatementKind {
    const { words, concurrently, atomic } = this;
    return words[0] === null ? 'plain' : kindOf(words, { concurrently, atomic });
  }
}

function endsLine(byte: number): boolean {
  return byte === newline || byte === carriageReturn || byte === 0;
}

function isOfComment(byte: number): boolean {
  return byte === star || byte === slash || byte === 0;
}

/** It may end the string, or make the next byte an ordinary one, or be a part of a character. */
function isOfString(byte: number): boolean {
  return byte === quote || byte === backslash || byte === 0 || byte >= 0x80;
}
