/**
 * Long texts that need no parsing: parsing half a megabyte of INSERT would stop the whole replica for a quarter of a second.
 *
 * A text that begins as a query and holds no second statement is `write`, which is right for any query. Should this reading of the
 * text ever be wrong, nothing happens: it is sent by Parse, and PostgreSQL refuses to parse several commands at once.
 */
const quote = 0x27;
const doubleQuote = 0x22;
const backslash = 0x5c;
const semicolon = 0x3b;
const dash = 0x2d;
const slash = 0x2f;
const star = 0x2a;
const dollar = 0x24;

const beginsAsQuery = /^\s*(?:insert|update|delete|merge|select|values|with)\b/i;

export const isSingleQuery = (sql: Buffer): boolean => {
  if (!beginsAsQuery.test(sql.toString('latin1', 0, 200))) return false;
  let at = 0;
  while (at < sql.length) {
    const byte = sql[at] as number;
    if (byte === semicolon) return /^\s*$/.test(sql.toString('latin1', at + 1));
    at = afterToken(sql, at, byte);
  }
  return true;
};

/** The end of what begins at `at`: a string, a comment, or one byte of anything else. */
const afterToken = (sql: Buffer, at: number, byte: number): number => {
  const next = sql[at + 1];
  if (byte === quote) return afterString(sql, at);
  if (byte === doubleQuote) return after(sql, doubleQuote, at + 1);
  if (byte === dash && next === dash) return afterLine(sql, at);
  if (byte === slash && next === star) return afterComment(sql, at);
  if (byte === dollar && !isNamePart(sql[at - 1])) return afterDollar(sql, at);
  return at + 1;
};

const after = (sql: Buffer, byte: number, from: number): number => {
  const at = sql.indexOf(byte, from);
  return at < 0 ? sql.length : at + 1;
};

/** A doubled quote reads as two strings side by side, which ends in the same place. */
const afterString = (sql: Buffer, at: number): number => {
  const escapes = sql[at - 1] === 0x65 || sql[at - 1] === 0x45;
  if (!escapes || isNamePart(sql[at - 2])) return after(sql, quote, at + 1);
  let end = at + 1;
  while (end < sql.length) {
    if (sql[end] === backslash) end += 2;
    else if (sql[end] !== quote) end += 1;
    else if (sql[end + 1] === quote) end += 2;
    else return end + 1;
  }
  return sql.length;
};

const afterLine = (sql: Buffer, at: number): number => {
  let end = at;
  while (end < sql.length && sql[end] !== 0x0a && sql[end] !== 0x0d) end += 1;
  return end;
};

const afterComment = (sql: Buffer, at: number): number => {
  let depth = 0;
  let end = at;
  while (end < sql.length) {
    if (sql[end] === slash && sql[end + 1] === star) {
      depth += 1;
      end += 2;
    } else if (sql[end] === star && sql[end + 1] === slash) {
      depth -= 1;
      end += 2;
      if (depth === 0) return end;
    } else end += 1;
  }
  return end;
};

const afterDollar = (sql: Buffer, at: number): number => {
  const tag = /^\$(?:[A-Za-z_\u0080-\u00ff][\w\u0080-\u00ff]*)?\$/.exec(
    sql.toString('latin1', at, at + 80),
  )?.[0];
  if (tag === undefined) return at + 1;
  const end = sql.indexOf(tag, at + tag.length, 'latin1');
  return end < 0 ? sql.length : end + tag.length;
};

const isNamePart = (byte: number | undefined): boolean =>
  byte !== undefined &&
  ((byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    byte === 0x5f ||
    byte === dollar ||
    byte >= 0x80);
