/** A text without its comments, for the parser: libpg-query takes a time for them that grows with the square of their number. Pure. */
import { StatementReader } from '../pgwire/statement-reader.ts';
import { usualRules } from '../pgwire/text-rules.ts';

/** Blanks stand for comments, so that places stay what they are. Of a comment that does not end its beginning stays: it is an error. `text`: one character per byte. */
export function withBlanksForComments(text: string): string {
  if (!/--|\/\*/.test(text)) return text;
  const bytes = Buffer.from(text, 'latin1');
  const reader = new StatementReader(usualRules, () => {});
  let begin = -1;
  for (let at = 0; at < bytes.length; at += 1) {
    reader.push(bytes, at, at + 1);
    if (reader.isInComment) {
      if (begin < 0) begin = at - 1;
    } else if (begin >= 0) {
      // The end of a line ends a comment, and is no part of it.
      bytes.fill(space, begin, bytes[at] === slash ? at + 1 : at);
      begin = -1;
    }
  }
  if (begin >= 0) bytes.fill(space, bytes[begin] === slash ? begin + 2 : begin, bytes.length);
  return bytes.toString('latin1');
}

/** PostgreSQL's scanner, and libpg-query's, take a time for operator characters in a row that grows with the square of their number. */
export const operatorRunMax = 1000;

/** Outside of strings, quoted names and comments. `text`: as `withBlanksForComments` gives it. */
export function hasLongOperatorRun(text: string): boolean {
  if (text.length <= operatorRunMax) return false;
  const bytes = Buffer.from(text, 'latin1');
  if (!runsLong(bytes, () => true)) return false;
  const reader = new StatementReader(usualRules, () => {});
  return runsLong(bytes, (at) => {
    reader.push(bytes, at, at + 1);
    return reader.isPlain;
  });
}

function runsLong(bytes: Buffer, counts: (at: number) => boolean): boolean {
  let run = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const isOne = counts(at) && operatorBytes.has(bytes[at]!);
    run = isOne ? run + 1 : 0;
    if (run > operatorRunMax) return true;
  }
  return false;
}

const operatorBytes: ReadonlySet<number> = new Set(Buffer.from('+-*/<>=~!@#%^&|`?'));
const space = 0x20;
const slash = 0x2f;
