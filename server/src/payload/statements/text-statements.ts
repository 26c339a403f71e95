/** The statements of a text with their places, and what each means for the application pointer. Pure. */
import { withoutComments } from '../../pgwire/comments.ts';
import { isSpace, isWordByte } from '../../pgwire/sql-bytes.ts';
import type { StatementKind } from '../../pgwire/statement-kinds.ts';
import { StatementReader } from '../../pgwire/statement-reader.ts';
import type { TextRules } from '../../pgwire/text-rules.ts';
import { neededDatabase, type NeededDatabase } from './databases-in-use.ts';

export interface TextStatement {
  readonly kind: StatementKind;
  /** In lower case; empty: it begins with something else. */
  readonly word: string;
  /** It may change what its session has besides its transaction: settings, prepared statements, LISTEN, advisory locks, cursors WITH HOLD. Finding too much costs a question. */
  readonly changesState: boolean;
  /** It may make a cursor WITH HOLD, whose query is run at the end of the transaction. */
  readonly holds: boolean;
  /** Nobody else may be in it (databases-in-use.ts). */
  readonly needs: NeededDatabase | null;
  /** Bytes of the text; `start` is right behind the semicolon before it. */
  readonly start: number;
  readonly end: number;
}

export function statementsOf(text: Buffer, rules: TextRules): readonly TextStatement[] {
  const found: TextStatement[] = [];
  let start = 0;
  const reader = new StatementReader(rules, (kind) => {
    const { at } = reader;
    const word = firstWord(text, start, at);
    const statement = text.toString('latin1', start, at);
    const needs = ofDatabases.has(word) ? neededDatabase(statement) : null;
    const changesState = changes(word, statement);
    const holds = word === 'declare' && /hold/i.test(statement);
    found.push({ kind, word, changesState, holds, needs, start, end: at });
    start = at + 1;
  });
  reader.push(text, 0, text.length);
  reader.end();
  return isFunction(found, text) ? [joined(found)] : found;
}

/**
 * Whether the text is one function whose body is SQL's own, BEGIN ATOMIC ... END, in which semicolons end no statement: END stands alone behind the last of them, and nothing behind END. False wherever that is not plain to
 * see.
 */
function isFunction(found: readonly TextStatement[], text: Buffer): boolean {
  const [first, ...more] = found;
  const last = more.at(-1);
  if (first?.kind !== 'unclear' || last === undefined) return false;
  if (more.find(({ word }) => word === 'end') !== last) return false;
  if (!/^\s*end\s*$/i.test(text.toString('latin1', last.start, last.end))) return false;
  let head = text.toString('latin1', first.start, first.end);
  if (/--|\/\*|[\\$]/.test(head)) return false;
  head = withoutParentheses(head.replaceAll(/'[^']*'|"[^"]*"/g, ' x '));
  return /^\s*create\s+(?:or\s+replace\s+)?(?:function|procedure)\s[^()]*\sbegin\s+atomic\s/i.test(head);
}

/** With a word for each pair of them; as it was where they do not fit. */
function withoutParentheses(text: string): string {
  const parts: string[] = [];
  let from = 0;
  let depth = 0;
  for (const { 0: sign, index } of text.matchAll(/[()]/g)) {
    if (sign === '(' && depth === 0) parts.push(text.slice(from, index), ' x ');
    depth += sign === '(' ? 1 : -1;
    if (depth < 0) return text;
    if (depth === 0) from = index + 1;
  }
  return depth === 0 ? parts.join('') + text.slice(from) : text;
}

function joined(found: readonly TextStatement[]): TextStatement {
  const [first] = found;
  const changesState = found.some((each) => each.changesState);
  return {
    kind: 'plain',
    word: 'create',
    changesState,
    holds: false,
    needs: null,
    start: first!.start,
    end: found.at(-1)!.end,
  };
}

function firstWord(text: Buffer, from: number, to: number): string {
  let at = from;
  for (;;) {
    while (at < to && (isSpace(text[at]!) || text[at] === semicolon)) at += 1;
    const two = text.toString('latin1', at, at + 2);
    if (two === '--') {
      while (at < to && text[at] !== newline && text[at] !== carriageReturn) at += 1;
    } else if (two === '/*') at = commentEnd(text, at, to);
    else break;
  }
  const begin = at;
  while (at < to && isWordByte(text[at]!)) at += 1;
  return text.toString('latin1', begin, at).toLowerCase();
}

const ofDatabases: ReadonlySet<string> = new Set(['create', 'alter', 'drop']);

/** What `execute` was prepared to do is not known. */
const stateWords: ReadonlySet<string> = new Set([
  'set',
  'reset',
  'discard',
  'prepare',
  'execute',
  'deallocate',
  'listen',
  'unlisten',
  'do',
  'call',
]);

function changes(word: string, text: string): boolean {
  if (word === 'set' && /^[\s;]*set\s+(?:transaction|constraints)\b(?!\s*\.)/i.test(text)) return false;
  if (stateWords.has(word)) return true;
  // With comments in it, too: they may stand between the words, or be a string's.
  const bare = withoutComments(text);
  return [text, bare].some((each) => /set_config|advisory|\bwith\s+hold\b/i.test(each));
}

function commentEnd(text: Buffer, from: number, to: number): number {
  let depth = 0;
  let at = from;
  while (at < to) {
    const two = text.toString('latin1', at, at + 2);
    if (two === '/*') depth += 1;
    if (two === '*/') depth -= 1;
    at += two === '/*' || two === '*/' ? 2 : 1;
    if (depth === 0) return at;
  }
  return to;
}

const semicolon = 0x3b;
const newline = 0x0a;
const carriageReturn = 0x0d;

/** Outside of a block these write nothing, and some of them tell whether they stand alone. DECLARE but for a cursor WITH HOLD. */
const writesNothing: ReadonlySet<string> = new Set([
  'declare',
  'fetch',
  'move',
  'lock',
  'savepoint',
  'release',
  'set',
  'show',
  'reset',
  'listen',
  'unlisten',
  'close',
  'deallocate',
  'prepare',
  'discard',
]);

type Meaning = Pick<TextStatement, 'kind' | 'word'> & { readonly holds?: boolean };

export function mayWrite({ kind, word, holds = false }: Meaning): boolean {
  if (kind === 'begin' || kind === 'commit' || kind === 'rollback') return false;
  if (kind === 'plain' && (word === 'rollback' || word === 'abort')) return false;
  return holds || !writesNothing.has(word);
}

/** Within a block: it may be run in a savepoint of the executor's own. Whatever sets up the transaction or its savepoints may not. */
export function fitsSavepoint({ kind, word }: Meaning): boolean {
  return (kind === 'plain' || kind === 'procedure' || kind === 'alone') && mayWrite({ kind, word });
}
