/** What a shape allows, and what a value is, in plain English. */
import { choicesOf, type JsonShape, kindKey, kindsOf, type Path } from './json-shape.ts';

const valueCharsMax = 60;

/** As what something "must be". */
export function allowedWords(shape: JsonShape): string {
  const choices = choicesOf(shape);
  if (shape.description !== undefined) return shape.description;
  if (choices !== null) return choices.length === 1 ? String(choices[0]) : `one of ${choices.join(', ')}`;
  const key = kindKey(shape);
  if (key !== null) return `a map with the key ${key}, which is one of ${kindsOf(shape, key).join(', ')}`;
  const { type = 'any', minimum, maximum, minLength, maxLength, minItems, maxItems } = shape;
  switch (type) {
    case 'integer':
      return `a whole number${rangeWords(minimum, maximum)}`;
    case 'number':
      return `a number${rangeWords(minimum, maximum)}`;
    case 'string':
      return `a text${countWords(minLength, maxLength, 'characters')}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return `a list${countWords(minItems, maxItems, 'items')}`;
    case 'object':
      return `a map${requiredWords(shape.required ?? [])}`;
    default:
      return 'something else';
  }
}

function rangeWords(min: number | undefined, max: number | undefined): string {
  // Whole numbers have these bounds where none was given.
  const from = min === undefined || min <= Number.MIN_SAFE_INTEGER ? null : min;
  const to = max === undefined || max >= Number.MAX_SAFE_INTEGER ? null : max;
  if (from !== null && to !== null) return ` from ${from} to ${to}`;
  if (from !== null) return `, ${from} or more`;
  return to === null ? '' : `, at most ${to}`;
}

function countWords(min: number | undefined, max: number | undefined, what: string): string {
  if (min !== undefined && max !== undefined) return ` of ${min} to ${max} ${what}`;
  if (min !== undefined) return min === 1 ? ' that is not empty' : ` of at least ${min} ${what}`;
  return max === undefined ? '' : ` of at most ${max} ${what}`;
}

function requiredWords(keys: readonly string[]): string {
  if (keys.length === 0) return ' of keys and values';
  return keys.length === 1 ? ` with the key ${keys.join()}` : ` with the keys ${keys.join(', ')}`;
}

/** The value of a key, which is not shown if it is a secret by its name. `shape` is what it should be. */
export function valueWords(value: unknown, path: Path, shape: JsonShape): string {
  if (value === null) return 'empty (null)';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object') return 'a map';
  const isText = typeof value === 'string';
  if (isSecret(path))
    return isText ? `a text of ${value.length} characters (not shown)` : `a ${typeof value} (not shown)`;
  const given = typeof value === 'number' ? String(value) : JSON.stringify(value);
  if (!isText) return `${given}${shape.type === 'string' ? ', which is no text without quotes' : ''}`;
  const cut = value.length > valueCharsMax ? `... (${value.length} characters)` : '';
  const wantsOther = shape.type !== undefined && shape.type !== 'string';
  return `${JSON.stringify(value.slice(0, valueCharsMax))}${cut}${wantsOther ? ', a text' : ''}`;
}

function isSecret(path: Path): boolean {
  const isFile = /file$/i.test(String(path.at(-1)));
  return !isFile && path.some((part) => /secret|password|passphrase|conninfo|token/i.test(String(part)));
}
