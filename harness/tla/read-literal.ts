/**
 * Reads values that are written out: what the modules of recorded runs are for the most part.
 *
 * It makes the values at once, without a syntax tree.
 */
import { equal } from './equality.ts';
import { functionOn } from './functions.ts';
import { Interval, ListedSet } from './set-value.ts';
import { TlaError } from './tla-error.ts';
import { ModelValue, recordOf, Sequence, type Value } from './value.ts';

interface Cursor {
  readonly text: string;
  readonly namesModelValues: boolean;
  at: number;
}

const NUMBER = /-?\d+/y;
const NAME = /[A-Za-z]\w*/y;
const STRING = /"((?:[^"\\]|\\.)*)"/y;

/** As a configuration, or a state that TLC printed, has it: a name of its own is a model value. @throws TlaError at what is no value */
export function readPrintedValue(text: string): Value {
  return readAll({ text, at: 0, namesModelValues: true });
}

/** @throws TlaError at what is no value */
export function readLiteral(text: string): Value {
  return readAll({ text, at: 0, namesModelValues: false });
}

function readAll(cursor: Cursor): Value {
  const value = readValue(cursor);
  skipSpace(cursor);
  if (cursor.at < cursor.text.length) throw unexpected(cursor);
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
    default:
      return readWord(cursor);
  }
}

/** A number, an interval of them, or a name. */
function readWord(cursor: Cursor): Value {
  NAME.lastIndex = cursor.at;
  if (!NAME.test(cursor.text)) {
    const first = Number(matched(cursor, NUMBER)[0]);
    return takeText(cursor, '..') ? new Interval(first, Number(matched(cursor, NUMBER)[0])) : first;
  }
  const at = cursor.at;
  const [name] = matched(cursor, NAME);
  if (name === 'TRUE' || name === 'FALSE') return name === 'TRUE';
  if (cursor.namesModelValues) return ModelValue.of(name);
  throw unexpected({ ...cursor, at });
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
  return functionOn(domain, (argument) => pairs.find(([one]) => equal(one, argument))![1]);
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
