/**
 * Statements for which PostgreSQL waits until nobody else is in a database: DROP DATABASE, ALTER DATABASE ... RENAME TO and SET TABLESPACE, CREATE DATABASE of its template.
 *
 * PostgreSQL sleeps up to five seconds for others to leave. Here one operation is executed at a time, so nobody could leave meanwhile, and all others would wait. So the executor asks beforehand, and tells PostgreSQL's error at
 * once. Which sessions are open follows from the log, so all replicas decide alike. DROP DATABASE ... WITH (FORCE) ends the others, and does not wait.
 */
import { columnsOf } from '../../pgwire/backend-messages.ts';
import { back } from '../../pgwire/message-types.ts';
import { ownSql } from '../../pgwire/own-sql.ts';
import type { StatementDatabase } from '../../ports/statement-database.ts';
import { ownQuestion } from './own-statement.ts';

/** A database that must be empty. Names are in the encoding of the client, as latin1 byte for byte. */
export interface NeededDatabase {
  readonly what: 'drop' | 'alter' | 'rename' | 'source';
  /** Null: it is spelled with escapes, which settings and encodings read in more than one way. */
  readonly name: string | null;
  /** Of the database that the statement makes; null: it makes none. */
  readonly makes: string | null;
}

/** `statement`: latin1, of one statement. Null: it needs no empty database, or PostgreSQL will not understand it. */
export function neededDatabase(statement: string): NeededDatabase | null {
  const found = tokensOf(statement);
  const [verb, object, ...rest] = found;
  if (object?.toLowerCase() !== 'database') return null;
  const word = (index: number): string => rest[index]?.toLowerCase() ?? '';
  switch (verb?.toLowerCase() ?? '') {
    case 'drop': {
      const at = word(0) === 'if' && word(1) === 'exists' ? 2 : 0;
      const isForced = rest.slice(at + 1).some((one) => one.toLowerCase() === 'force');
      return isForced ? null : needed('drop', rest[at], null);
    }
    case 'alter':
      if (word(1) === 'rename' && word(2) === 'to') return needed('rename', rest[0], rest[3]);
      return word(1) === 'set' && word(2) === 'tablespace' ? needed('alter', rest[0], null) : null;
    case 'create':
      return needed('source', templateIn(rest.slice(1)) ?? 'template1', rest[0]);
    default:
      return null;
  }
}

/** Whether a transaction that goes on may hold the statement; PostgreSQL refuses the others there at once. */
export const fitsBlock = ({ what }: NeededDatabase): boolean => what === 'rename';

function needed(
  what: NeededDatabase['what'],
  token: string | undefined,
  made: string | null | undefined,
): NeededDatabase | null {
  const name = token === undefined ? undefined : nameOf(token);
  const makes = typeof made === 'string' ? nameOf(made) : undefined;
  if (name === undefined) return null;
  return { what, name: makes === null ? null : name, makes: makes ?? null };
}

/** `options`: behind the name of the new database. Undefined: they name none. */
function templateIn(options: readonly string[]): string | undefined {
  let at = options[0]?.toLowerCase() === 'with' ? 1 : 0;
  while (at < options.length) {
    const option = options[at]!.toLowerCase();
    at += option === 'connection' ? 2 : 1;
    if (options[at] === '=') at += 1;
    if (options[at] === '-' || options[at] === '+') at += 1;
    const value = options[at];
    if (option === 'template') return value?.toLowerCase() === 'default' ? undefined : value;
    at += 1;
  }
  return undefined;
}

const blankOrComment = /[ \t\n\r\f\v]+|--[^\n\r]*/y;
const dollar = /\$(?:[a-z_\x80-\xff][\w\x80-\xff]*)?\$/iy;
const identifier = /[a-z_\x80-\xff][\w$\x80-\xff]*/iy;
const prefix = /u&(?=['"])|e(?=')/iy;
const blanks = /[ \t\n\r\f\v]+/y;
/** A statement about a database has fewer, and an option each few. */
const tokensMax = 100;

function tokensOf(text: string): readonly string[] {
  const found: string[] = [];
  let at = 0;
  while (at < text.length && found.length < tokensMax) {
    if (text.startsWith('/*', at)) {
      at = commentEnd(text, at);
      continue;
    }
    const blank = at + lengthAt(blankOrComment, text, at);
    if (blank > at) {
      at = blank;
      continue;
    }
    const end = tokenEnd(text, at);
    const one = text.slice(at, end);
    at = end;
    // U&"..." UESCAPE '!' is one name.
    if (found.at(-1)?.toLowerCase() === 'uescape' && /^u&/i.test(found.at(-2) ?? ''))
      found.splice(-2, 2, `${found.at(-2)} UESCAPE ${one}`);
    else found.push(one);
  }
  return found;
}

/** Of a name, a string with the lines on which it goes on, as PostgreSQL's scanner has them; else of one character. */
function tokenEnd(text: string, at: number): number {
  const opened = lengthAt(dollar, text, at);
  if (opened > 0) {
    const end = text.indexOf(text.slice(at, at + opened), at + opened);
    return end < 0 ? at + 1 : end + opened;
  }
  const ahead = lengthAt(prefix, text, at);
  const quote = text[at + ahead];
  if (quote !== '"' && quote !== "'") return at + Math.max(1, lengthAt(identifier, text, at));
  const hasEscapes = ahead === 1;
  let end = quotedEnd(text, at + ahead, hasEscapes);
  if (quote === '"') return end;
  while (end < text.length) {
    const next = end + lengthAt(blanks, text, end);
    // Behind the end of a line it goes on with another quote.
    if (text[next] !== "'" || !/[\n\r]/.test(text.slice(end, next))) break;
    end = quotedEnd(text, next, hasEscapes);
  }
  return end;
}

/** Behind the quote that ends what the one at `at` begins, or behind the text. */
function quotedEnd(text: string, at: number, hasEscapes: boolean): number {
  const quote = text[at]!;
  for (let next = at + 1; next < text.length; next += 1) {
    if (hasEscapes && text[next] === '\\') next += 1;
    else if (text[next] === quote) {
      if (text[next + 1] !== quote) return next + 1;
      next += 1;
    }
  }
  return text.length;
}

function lengthAt(sticky: RegExp, text: string, at: number): number {
  sticky.lastIndex = at;
  return sticky.exec(text)?.[0].length ?? 0;
}

function commentEnd(text: string, from: number): number {
  const sign = /\/\*|\*\//g;
  sign.lastIndex = from;
  let depth = 0;
  for (let one = sign.exec(text); one !== null; one = sign.exec(text)) {
    depth += one[0] === '/*' ? 1 : -1;
    if (depth === 0) return sign.lastIndex;
  }
  return text.length;
}

/** Undefined: it is no name. Null: it has escapes. In a database whose encoding has one byte for a letter PostgreSQL lowers others than those of ASCII, too. */
function nameOf(token: string): string | null | undefined {
  if (/^(?:e|u&)['"]/i.test(token)) return null;
  if (token.startsWith('$')) return dollarText(token);
  const quote = token[0];
  if (quote === '"' || quote === "'") {
    if (token.length < 2 || !token.endsWith(quote)) return undefined;
    if (quote === "'" && /[\\\n\r]/.test(token)) return null;
    return token.slice(1, -1).replaceAll(quote + quote, quote);
  }
  return /^[a-z_\x80-\xff]/i.test(token) ? token.replaceAll(/[A-Z]/g, (one) => one.toLowerCase()) : undefined;
}

function dollarText(token: string): string | undefined {
  const length = lengthAt(dollar, token, 0);
  return length === 0 ? undefined : token.slice(length, -length);
}

const isOwner = "pg_catalog.pg_has_role(d.datdba, 'USAGE')";
const isElsewhere = ownSql('d.datname <> pg_catalog.current_database()');
/** What PostgreSQL would say before it waits; where it would refuse for a rarer reason (a slot, an encoding, a tablespace), 55006 is told all the same. */
const goesSoFar: Readonly<Record<NeededDatabase['what'], string>> = {
  drop: `${isOwner} AND ${isElsewhere} AND NOT d.datistemplate`,
  alter: `${isOwner} AND ${isElsewhere}`,
  rename: `${isOwner} AND ${isElsewhere}`,
  source: ownSql(
    `(d.datistemplate OR ${isOwner}) AND EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = current_user AND r.rolcreatedb)`,
  ),
};

/** Asked in the client's session, with its role and its encoding; answered with one ReadyForQuery. Names are parameters: whatever a client writes is no SQL of ours. */
function question({ what, makes }: NeededDatabase, name: string): Buffer {
  const among = (parameter: string): string => ownSql(`datname = ($${parameter})::pg_catalog.name`);
  const isFree = ` AND NOT EXISTS (SELECT FROM pg_catalog.pg_database o WHERE o.${among('2')})`;
  const sql = `SELECT d.oid, d.datname FROM pg_catalog.pg_database d WHERE ${goesSoFar[what]} AND d.${among('1')}${makes === null ? '' : isFree}`;
  const parameters = [name, ...(makes === null ? [] : [makes])].map((one) => Buffer.from(one, 'latin1'));
  return ownQuestion(sql, parameters);
}

const countSql = ownSql(
  'SELECT pg_catalog.count(*)::pg_catalog.text AS others FROM pg_catalog.pg_stat_activity WHERE pid = ANY($1::pg_catalog.int4[]) AND datid = $2::pg_catalog.oid',
);

export interface InUse {
  readonly sqlState: string;
  readonly message: string;
  readonly detail?: string;
  readonly hint?: string;
}

const escapedName: InUse = {
  sqlState: '0A000',
  message: 'a database name written with escapes is not supported here',
  hint: 'Write it as an identifier, or as a string without escapes.',
};

/**
 * As PostgreSQL would tell it behind its wait, or that the name cannot be read. Null: nobody else is there, or the statement does not come so far. `ask`: in the client's session. `others`: processes of all other sessions; each is there until its session is closed.
 */
export async function inUse(
  needs: NeededDatabase,
  ask: (bytes: Buffer) => Promise<readonly Buffer[]>,
  others: readonly number[],
  database: Pick<StatementDatabase, 'query'>,
): Promise<InUse | null> {
  if (others.length === 0) return null;
  if (needs.name === null) return escapedName;
  const answer = await ask(question(needs, needs.name));
  const row = answer.find(([type]) => type === back.dataRow);
  if (row === undefined) return null;
  const [oid = '', name = ''] = columnsOf(row);
  const [counted] = await database.query(countSql, [others, oid]);
  const count = Number(counted?.['others'] ?? 0);
  if (count === 0) return null;
  const shown = Buffer.from(name ?? '', 'latin1').toString('utf8');
  const is = count === 1 ? 'is 1 other session' : `are ${count} other sessions`;
  return {
    sqlState: '55006',
    message: `${needs.what === 'source' ? 'source ' : ''}database "${shown}" is being accessed by other users`,
    detail: `There ${is} using the database.`,
  };
}
