/**
 * A value of TLA+ as it is laid out for people: atoms in a line, functions and records as rows, functions whose values are records of the same fields as a table, and what is another value than in the state before.
 *
 * Pure: what is drawn of it is the view's (views/spec/value-view.tsx).
 */
import { domainOf } from '../../../harness/tla/functions.ts';
import { formatValue } from '../../../harness/tla/format-value.ts';
import { equal } from '../../../harness/tla/equality.ts';
import { isSet, type Value } from '../../../harness/tla/value.ts';

export type Mark = 'same' | 'changed' | 'added' | 'gone';

export interface Item {
  readonly shape: Shape;
  readonly mark: Mark;
}

export interface Row extends Item {
  readonly name: string;
}

export type Shape =
  | { readonly kind: 'text'; readonly text: string; readonly tone: 'string' | 'plain' }
  /** A set. `name`: what tells it from the others. */
  | { readonly kind: 'items'; readonly items: readonly Row[] }
  | { readonly kind: 'rows'; readonly rows: readonly Row[] }
  | {
      readonly kind: 'table';
      readonly columns: readonly string[];
      readonly rows: readonly { readonly name: string; readonly cells: readonly Item[] }[];
    };

/** A value that is written in so many characters, and has no parts with parts, is one text. */
const LINE_CHARS_MAX = 34;
/** Wider tables are rows of rows. */
const COLUMNS_MAX = 6;
const CELL_CHARS_MAX = 22;
const BRIEF_CHARS_MAX = 16;

/** `before`: the same thing in the state before; undefined: there was none, and all of it counts as what it was. */
export function shapeOf(value: Value, before: Value | undefined = value): Shape {
  if (typeof value !== 'object' || (!isSet(value) && value.kind === 'model')) return textOf(value);
  if (isSet(value))
    return itemsOf(value.sorted(), before !== undefined && isSet(before) ? before.sorted() : null);
  if (value.kind === 'sequence' && value.items.length === 0) return textOf(value);
  return tableOf(value, before) ?? { kind: 'rows', rows: rowsOf(value, before) };
}

/** A part of something: in a line if it is short. */
function partOf(value: Value, before: Value | undefined): Shape {
  return isShort(value) ? textOf(value) : shapeOf(value, before);
}

/** Whether it is written in one line: `[type: Prepare, from: 1]`. */
function isShort(value: Value): boolean {
  return typeof value !== 'object' || value.kind === 'model' || lineOf(value).length <= LINE_CHARS_MAX;
}

/** In one line, with the signs that people know: records with colons, strings without quotes. */
export function lineOf(value: Value): string {
  if (typeof value === 'string') return value === '' ? '""' : value;
  if (typeof value !== 'object') return formatValue(value);
  if (isSet(value)) return `{${value.sorted().map(lineOf).join(', ')}}`;
  switch (value.kind) {
    case 'model':
      return value.name;
    case 'record':
      return `[${value.shape.names.map((name, i) => `${name}: ${lineOf(value.values[i]!)}`).join(', ')}]`;
    case 'sequence':
      return value.first === 1
        ? `⟨${value.items.map(lineOf).join(', ')}⟩`
        : `(${value.items.map((item, i) => `${value.first + i}: ${lineOf(item)}`).join(', ')})`;
    case 'mapping':
      return `(${domainOf(value)
        .sorted()
        .map((at) => `${lineOf(at)}: ${lineOf(value.valueAt(at)!)}`)
        .join(', ')})`;
    default:
      return value satisfies never;
  }
}

/** Of a message its type, of anything long that it is long. */
export function briefOf(value: Value): string {
  const line = lineOf(value);
  if (line.length <= BRIEF_CHARS_MAX) return line;
  if (typeof value === 'object' && value.kind === 'record') {
    const type = value.values[value.shape.names.indexOf('type')];
    if (typeof type === 'string') return `${type}…`;
  }
  return `${line.slice(0, BRIEF_CHARS_MAX - 1)}…`;
}

export function isSame(one: Value | undefined, other: Value | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  try {
    return equal(one, other);
  } catch {
    // Of different kinds: TLA+ does not say whether they are equal, and people see that they are not.
    return false;
  }
}

function textOf(value: Value): Shape {
  return { kind: 'text', text: lineOf(value), tone: typeof value === 'string' ? 'string' : 'plain' };
}

/** `before`: what was in it; null: it was nothing of its kind. */
function itemsOf(now: readonly Value[], before: readonly Value[] | null): Shape {
  const there = now.map(
    (value): Row => ({
      name: lineOf(value),
      shape: partOf(value, value),
      mark: before === null || before.some((one) => isSame(one, value)) ? 'same' : 'added',
    }),
  );
  const gone = (before ?? []).filter((value) => !now.some((one) => isSame(one, value)));
  return {
    kind: 'items',
    items: [
      ...there,
      ...gone.map(
        (value): Row => ({ name: `${lineOf(value)} before`, shape: partOf(value, value), mark: 'gone' }),
      ),
    ],
  };
}

type FunctionValue = Exclude<Value, number | string | boolean> & { kind: 'sequence' | 'record' | 'mapping' };

function isFunction(value: Value | undefined): value is FunctionValue {
  return typeof value === 'object' && !isSet(value) && value.kind !== 'model';
}

/** By argument: what a function, a record or a sequence is there. */
function partsOf(value: FunctionValue): readonly (readonly [name: string, part: Value])[] {
  switch (value.kind) {
    case 'record':
      return value.shape.names.map((name, i) => [name, value.values[i]!]);
    case 'sequence':
      return value.items.map((item, i) => [String(value.first + i), item]);
    case 'mapping':
      return domainOf(value)
        .sorted()
        .map((at) => [lineOf(at), value.valueAt(at)!]);
    default:
      return value satisfies never;
  }
}

function rowsOf(value: FunctionValue, before: Value | undefined): readonly Row[] {
  const known = new Map(isFunction(before) ? partsOf(before) : []);
  return partsOf(value).map(([name, part]) => {
    const { shape, mark } = itemOf(part, known.get(name), before);
    return { name, shape, mark };
  });
}

/** `whole`: what it is a part of, in the state before. */
function itemOf(part: Value, before: Value | undefined, whole: Value | undefined): Item {
  if (whole === undefined) return { shape: partOf(part, part), mark: 'same' };
  if (before === undefined) return { shape: partOf(part, part), mark: 'added' };
  return { shape: partOf(part, before), mark: isSame(part, before) ? 'same' : 'changed' };
}

/** A table if every value of the function is a record of the same few fields, and each is short. */
function tableOf(value: FunctionValue, before: Value | undefined): Shape | null {
  const parts = partsOf(value);
  const [first] = parts;
  const shape =
    first !== undefined && typeof first[1] === 'object' && first[1].kind === 'record' ? first[1].shape : null;
  if (shape === null || value.kind === 'record' || shape.names.length > COLUMNS_MAX || parts.length < 2)
    return null;
  const isTable = parts.every(
    ([, part]) =>
      typeof part === 'object' &&
      part.kind === 'record' &&
      part.shape === shape &&
      part.values.every((cell) => lineOf(cell).length <= CELL_CHARS_MAX),
  );
  if (!isTable) return null;
  const known = new Map(isFunction(before) ? partsOf(before) : []);
  const rows = parts.map(([name, part]) => {
    const old = known.get(name);
    const fields = new Map(isFunction(old) ? partsOf(old) : []);
    return {
      name,
      cells: partsOf(part as FunctionValue).map(([field, cell]) => itemOf(cell, fields.get(field), before)),
    };
  });
  return { kind: 'table', columns: shape.names, rows };
}
