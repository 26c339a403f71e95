/**
 * Cuts what a client sent into statements and classifies each, with PostgreSQL's own parser, remembering the answers.
 *
 * Invariant: the text is read as PostgreSQL reads it, provided that standard_conforming_strings is on and no encoding is in use
 * whose characters contain ASCII bytes (the session sees to both). Offsets are bytes of the client's own text.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { loadModule, parseSync } from 'libpg-query';
import { classify, holdsCursor, isCopyIn, type Node, prepared } from './classify-statement.ts';
import { createLru } from './lru.ts';
import { isSingleQuery } from './large-text.ts';
import { type Statement, writes } from './statement.ts';

/** `unparsable`: PostgreSQL would not run it either; `message` is what its parser says. */
export type ParsedSql =
  | { readonly kind: 'statements'; readonly statements: readonly Statement[] }
  | { readonly kind: 'unparsable'; readonly message: string };

export type SqlParser = (sql: Buffer) => ParsedSql;

interface RawStatement {
  readonly stmt?: Node;
  readonly stmt_location?: number;
  readonly stmt_len?: number;
}

/** What one entry of the cache weighs besides its text. */
const entryBytes = 400;
/** Parsing takes half a second a megabyte. */
const parsedTextBytesMax = 32_768;
/** A longer text is hardly ever sent twice. */
const cachedTextBytesMax = 65_536;

export const createSqlParser = async (options: { readonly cacheBytesMax: number }): Promise<SqlParser> => {
  await loadModule();
  const cache = createLru<ParsedSql>(options.cacheBytesMax);
  return (sql) => {
    const key = sql.toString('latin1');
    const known = cache.get(key);
    if (known !== undefined) return known;
    const parsed = parseText(sql);
    if (sql.length <= cachedTextBytesMax) cache.set(key, parsed, 2 * sql.length + entryBytes);
    return parsed;
  };
};

const parseText = (sql: Buffer): ParsedSql => {
  if (sql.length > parsedTextBytesMax && isSingleQuery(sql))
    return { kind: 'statements', statements: [largeQuery(sql)] };
  const { text, offset } = readable(sql);
  if (/^\s*$/.test(text)) return { kind: 'statements', statements: [] };
  try {
    const tree = parseSync(text) as { readonly stmts?: readonly RawStatement[] };
    const statements = (tree.stmts ?? []).flatMap((raw) => {
      if (raw.stmt === undefined) return [];
      const start = raw.stmt_location ?? 0;
      const length = raw.stmt_len ?? 0;
      const end = length === 0 ? sql.length : offset(start + length);
      return [statement(raw.stmt, offset(start), end)];
    });
    return { kind: 'statements', statements };
  } catch (error) {
    return { kind: 'unparsable', message: error instanceof Error ? error.message : String(error) };
  }
};

const largeQuery = (sql: Buffer): Statement => ({
  run: writes,
  copyIn: false,
  prepares: null,
  holdsCursor: false,
  start: 0,
  end: sql.length,
  byParse: true,
  learnt: { writes: true },
});

const statement = (node: Node, start: number, end: number): Statement => ({
  run: classify(node),
  copyIn: isCopyIn(node),
  prepares: prepared(node),
  holdsCursor: holdsCursor(node),
  start,
  end,
  byParse: false,
  learnt: { writes: false },
});

/**
 * The text for the parser, and the way from an offset in its UTF-8 form to one in the client's bytes. Text that is not
 * UTF-8 is read as latin1: PostgreSQL's lexer treats every byte above 127 alike, as part of a name.
 */
const readable = (sql: Buffer): { readonly text: string; readonly offset: (utf8: number) => number } => {
  if (isAscii(sql) || isUtf8(sql)) return { text: sql.toString('utf8'), offset: (utf8) => utf8 };
  const offset = (utf8: number): number => {
    let seen = 0;
    let at = 0;
    while (seen < utf8) {
      seen += (sql[at] as number) < 0x80 ? 1 : 2;
      at += 1;
    }
    return at;
  };
  return { text: sql.toString('latin1'), offset };
};
