/** The kind of a statement that stands alone, as in a Parse message. Pure. */
import { isSpace, isWordByte, placeWithin, quote } from '../../../pgwire/sql-bytes.ts';
import { type StatementKind, tellingWords } from '../../../pgwire/statement-kinds.ts';
import { StatementReader } from '../../../pgwire/statement-reader.ts';
import type { TextRules } from '../../../pgwire/text-rules.ts';

/** Longer words are no keywords. */
const wordBytesMax = 16;

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
  // Strings may be misread in such encodings; what stands before the first one tells the kind.
  let end = to;
  if (rules.mixedBytes) end = pushToString(reader, bytes, from, to);
  else reader.push(bytes, from, to);
  reader.end();
  return found ?? (end < to ? 'unclear' : 'setting');
}

/** Reads up to the first quote that is in no comment. Returns where that is. */
function pushToString(reader: StatementReader, bytes: Buffer, from: number, to: number): number {
  let at = from;
  for (;;) {
    const end = placeWithin(bytes, quote, at, to);
    reader.push(bytes, at, end);
    if (end === to || !reader.isInComment) return end;
    reader.push(bytes, end, end + 1);
    at = end + 1;
  }
}
