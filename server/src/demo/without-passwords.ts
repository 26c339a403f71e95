/**
 * Blanks the passwords in a statement that others may read.
 *
 * Responsible for: what stands behind the word PASSWORD, in whichever of PostgreSQL's forms of a text, and `password=` in a connection string. Blanks too much rather than too little, also of a statement that
 * was cut off in the middle. Pure, and linear in the text. Not for statements that will be run.
 */
const blank = "'…'";
/** Blanks and comments between the word and the text. Behind more than that all is blanked. */
const gapCharsMax = 256;

export function withoutPasswords(sql: string): string {
  return replaced(replaced(sql, /\bpassword=/gi, valueBehind), /\bpassword"?/gi, literalBehind);
}

/** What is put in the place of a part of the text. */
interface Replacement {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

function replaced(
  sql: string,
  word: RegExp,
  behind: (sql: string, from: number) => Replacement | null,
): string {
  const parts: string[] = [];
  let from = 0;
  for (let found = word.exec(sql); found !== null; found = word.exec(sql)) {
    const part = behind(sql, word.lastIndex);
    if (part === null) continue;
    parts.push(sql.slice(from, part.from), part.text);
    from = part.to;
    word.lastIndex = from;
  }
  return parts.join('') + sql.slice(from);
}

function literalBehind(sql: string, from: number): Replacement | null {
  const limit = from + gapCharsMax;
  let at = gapEnd(sql, from, limit);
  if (sql[at] === '=') at = gapEnd(sql, at + 1, limit);
  if (at >= limit) return { from, to: sql.length, text: ' …' };
  const to = literalEnd(sql, at);
  return to === null ? null : { from: at, to, text: blank };
}

/** At least `limit`: there may be more. */
function gapEnd(sql: string, from: number, limit: number): number {
  let at = from;
  while (at < Math.min(limit, sql.length)) {
    const two = sql.slice(at, at + 2);
    if (two === '/*' || two === '--') {
      const end = sql.slice(at, limit).indexOf(two === '/*' ? '*/' : '\n', 2);
      if (end < 0) return limit;
      at += end + (two === '/*' ? 2 : 1);
    } else if (/\s/.test(sql[at]!)) at += 1;
    else break;
  }
  return at;
}

const quotedBegin = /(?:E|U&|N)?'/iy;
const continues = /[ \t\r\f\v]{0,100}\n\s{0,100}(?:E|U&|N)?'/iy;
const tagBegin = /\$\w*\$/y;

/** Of a text in quotes or dollars that begins at `from`; null: there is none. */
function literalEnd(sql: string, from: number): number | null {
  tagBegin.lastIndex = from;
  const tag = tagBegin.exec(sql)?.[0];
  if (tag !== undefined) {
    const end = sql.indexOf(tag, from + tag.length);
    return end < 0 ? sql.length : end + tag.length;
  }
  let end: number | null = null;
  let begin: RegExp = quotedBegin;
  for (let at = from; ; begin = continues) {
    begin.lastIndex = at;
    if (!begin.test(sql)) return end;
    at = quoteEnd(sql, begin.lastIndex);
    end = at;
  }
}

function quoteEnd(sql: string, from: number): number {
  let at = from;
  while (at < sql.length) {
    if (sql[at] === '\\') at += 2;
    else if (sql[at] !== "'") at += 1;
    else if (sql[at + 1] === "'") at += 2;
    else return at + 1;
  }
  return sql.length;
}

const bareValue = /[^\s'"$]+/y;

/** In a connection string, which is a text itself: its quotes are doubled. */
function valueBehind(sql: string, from: number): Replacement | null {
  const quotes = sql.startsWith("\\''", from) ? 3 : sql.startsWith("''", from) ? 2 : 0;
  if (quotes > 0) {
    for (let at = from + quotes; at < sql.length; at += 1) {
      if (sql.startsWith("''", at) && /^(?:[\s']|$)/.test(sql.slice(at + 2, at + 3)))
        return { from, to: at + 2, text: '…' };
      if (sql[at] === "'" && sql[at + 1] === "'") at += 1;
      else if (sql[at] === "'") return { from, to: at, text: '…' };
    }
    return { from, to: sql.length, text: '…' };
  }
  bareValue.lastIndex = from;
  return bareValue.test(sql) ? { from, to: bareValue.lastIndex, text: '…' } : null;
}
