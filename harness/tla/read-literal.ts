/**
 * Reads values that are written out: what the modules of recorded runs are for the most part.
 *
 * It makes the values at once, without a syntax tree.
 */
import { functionOn } from './functions.ts';
import { ListedSet } from './set-value.ts';
import { TlaError } from './tla-error.ts';
import { recordOf, Sequence, type Value } from './value.ts';

interface Cursor {
  readonly text: string;
  at: number;
}

const NUMBER = /-?\d+/y;
const NAME = /[A-Za-z]\w*/y;
const STRING = /"((?:[^"\\]|\\.)*)"/y;

/** @throws TlaError at what is no value */
export function readLiteral(text: string): Value {
  const cursor = { text, at: 0 };
  const value = readValue(cursor);
  skipSpace(cursor);
  if (cursor.at < text.length) throw unexpected(cursor);
  return value;
}

function readValue(cursor: Cursor): Value {
  skipSpace(cursor);
  switch (cursor.text.charAt(cursor.at)) {
    case '<':
      expectText(cursor, '<<');
      return new Sequence(readItems(cursor, '>>'));
    case '{':
      cursor.at++;
      return ListedSet.of(readItems(cursor, '}'));
    case '[':
      cursor.at++;
      return readRecord(cursor);
    case '(':
      cursor.at++;
      return readFunction(cursor);
    case '"':
      return matched(cursor, STRING)[1]!.replaceAll(/\\(.)/g, '$1');
    case 'T':
      expectText(cursor, 'TRUE');
      return true;
    case 'F':
      expectText(cursor, 'FALSE');
      return false;
    default:
      return Number(matched(cursor, NUMBER)[0]);
  }
}

function readItems(cursor: Cursor, close: string): Value[] {
  const items: Value[] = [];
  if (takeText(cursor, close)) return items;
  do items.push(readValue(cursor));
  while (takeText(cursor, ','));
  expectText(cursor, close);
  return items;
}

function readRecord(cursor: Cursor): Value {
  const fields: [string, Value][] = [];
  do {
    skipSpace(cursor);
    const name = matched(cursor, NAME)[0];
    expectText(cursor, '|->');
    fields.push([name, readValue(cursor)]);
  } while (takeText(cursor, ','));
  expectText(cursor, ']');
  return recordOf(fields);
}

/** `(a :> b @@ c :> d)` */
function readFunction(cursor: Cursor): Value {
  const pairs: [Value, Value][] = [];
  do {
    const argument = readValue(cursor);
    expectText(cursor, ':>');
    pairs.push([argument, readValue(cursor)]);
  } while (takeText(cursor, '@@'));
  expectText(cursor, ')');
  const domain = ListedSet.of(pairs.map(([argument]) => argument));
  return functionOn(domain, (argument) => pairs.find(([one]) => one === argument)![1]);
}

function skipSpace(cursor: Cursor): void {
  while (cursor.text.charCodeAt(cursor.at) <= 32) cursor.at++;
}

function takeText(cursor: Cursor, text: string): boolean {
  skipSpace(cursor);
  if (!cursor.text.startsWith(text, cursor.at)) return false;
  cursor.at += text.length;
  return true;
}

function expectText(cursor: Cursor, text: string): void {
  if (!takeText(cursor, text)) throw unexpected(cursor);
}

function matched(cursor: Cursor, pattern: RegExp): RegExpExecArray {
  pattern.lastIndex = cursor.at;
  const found = pattern.exec(cursor.text);
  if (found === null) throw unexpected(cursor);
  cursor.at += found[0].length;
  return found;
}

function unexpected({ text, at }: Cursor): TlaError {
  return new TlaError(`${JSON.stringify(text.slice(at, at + 20))} is no value`);
}
