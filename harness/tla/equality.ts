/** When two values are equal, and numbers that are equal for equal values. */
import type { SetValue } from './set-value.ts';
import { TlaError } from './tla-error.ts';
import { isSet, type Mapping, ModelValue, type Record, type Sequence, type Value } from './value.ts';

/** @throws TlaError if it is not defined whether they are: a number and a string, say */
export function equal(a: Value, b: Value): boolean {
  if (a === b) return true;
  if (typeof a !== typeof b && (a instanceof ModelValue || b instanceof ModelValue)) return false;
  if (typeof a !== typeof b) throw new TlaError(`a ${typeof a} is compared with a ${typeof b}`);
  if (typeof a !== 'object' || typeof b !== 'object') return false;
  if (a.kind === 'model' || b.kind === 'model') return false;
  if (isSet(a) !== isSet(b)) throw new TlaError('a set is compared with a function');
  if (isSet(a)) return isSet(b) && equalSets(a, b);
  if (isSet(b) || a.kind !== b.kind) return false;
  if (a.hash !== 0 && b.hash !== 0 && a.hash !== b.hash) return false;
  switch (a.kind) {
    case 'sequence': {
      const { first, items } = b as Sequence;
      return a.first === first && equalItems(a.items, items);
    }
    case 'record': {
      const { shape, values } = b as Record;
      return a.shape === shape && equalItems(a.values, values);
    }
    case 'mapping':
      return equalMappings(a, b as Mapping);
    default:
      return a satisfies never;
  }
}

function equalItems(a: readonly Value[], b: readonly Value[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!equal(a[i]!, b[i]!)) return false;
  return true;
}

function equalSets(a: SetValue, b: SetValue): boolean {
  if (a.size !== b.size) return false;
  return a.every((item) => b.has(item));
}

function equalMappings(a: Mapping, b: Mapping): boolean {
  return equalSets(a.domain, b.domain) && a.domain.every((at) => equal(a.valueAt(at)!, b.valueAt(at)!));
}

const mix = (hash: number, next: number): number => Math.imul(hash ^ next, 0x9e3779b1) ^ (hash >>> 15);

/** Never 0, which says that it is not known yet. */
export function hashOf(value: Value): number {
  if (typeof value === 'number') return mix(17, value) | 1;
  if (typeof value === 'string') return hashOfText(value);
  if (typeof value === 'boolean') return value ? 3 : 5;
  if (value.hash === 0) value.hash = hashOfParts(value) | 1;
  return value.hash;
}

/** Strings are few and short: names of actions and roles, labels. */
function hashOfText(text: string): number {
  let hash = 7;
  for (let i = 0; i < text.length; i++) hash = mix(hash, text.charCodeAt(i));
  return hash | 1;
}

function hashOfParts(value: Exclude<Value, number | string | boolean>): number {
  if (isSet(value)) return hashOfAll(value);
  switch (value.kind) {
    case 'model':
      return mix(23, hashOfText(value.name));
    case 'sequence': {
      let hash = value.first;
      for (const item of value.items) hash = mix(hash, hashOf(item));
      return hash;
    }
    case 'record': {
      let hash = value.shape.names.length + 1000;
      for (const item of value.values) hash = mix(hash, hashOf(item));
      return hash;
    }
    case 'mapping':
      return mix(hashOfAll(value.domain), 11);
    default:
      return value satisfies never;
  }
}

/** The same in whatever order its elements come. */
function hashOfAll(set: SetValue): number {
  let sum = 0;
  set.every((item) => {
    sum = (sum + hashOf(item)) | 0;
    return true;
  });
  return sum;
}
