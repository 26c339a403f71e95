/**
 * A recorded event with one place in it altered, in every way.
 *
 * Responsible for: reaching every place. What becomes of a text or a number is said by whoever asks (`leaves`).
 */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type Path = readonly (string | number)[];

export interface Change {
  readonly path: Path;
  readonly how: string;
  readonly value: Json;
}

/** What a text or a number at this place may become instead. */
export interface Leaves {
  readonly text: (text: string, path: Path) => readonly Omit<Change, 'path'>[];
  readonly number: (value: number, path: Path) => readonly Omit<Change, 'path'>[];
  /** In place of null. */
  readonly notNull: Json;
}

/** Of the value itself: when, in which order and at which layer it was recorded. */
const unaltered: ReadonlySet<string> = new Set(['atUs', 'seq', 'run', 'layer']);

export function changesOf(value: Json, leaves: Leaves, path: Path = []): Change[] {
  const here = (changes: readonly Omit<Change, 'path'>[]): Change[] =>
    changes.map(({ how, value: changed }) => ({ path, how, value: changed }));
  if (value === null) return here([{ how: 'not null', value: leaves.notNull }]);
  if (typeof value === 'boolean') return here([{ how: 'negated', value: !value }]);
  if (typeof value === 'number') return here(leaves.number(value, path));
  if (typeof value === 'string') return here(leaves.text(value, path));
  if (isList(value)) return value.flatMap((_, index) => changesOfItem(value, index, leaves, path));
  const keys = Object.keys(value).filter((key) => path.length > 0 || !unaltered.has(key));
  return keys.flatMap((key) => changesOfField(value, key, leaves, path));
}

export const byOne = (value: number): readonly Omit<Change, 'path'>[] => [
  { how: 'one more', value: value + 1 },
  { how: 'one less', value: value - 1 },
];

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function changesOfItem(list: readonly Json[], index: number, leaves: Leaves, path: Path): Change[] {
  const at = [...path, index];
  const inside = changesOf(list[index] as Json, leaves, at).map(({ path: where, how, value }) => ({
    path: where,
    how,
    value: list.with(index, value),
  }));
  // A vote is a tuple: none of its three can go alone.
  const isTuple = !list.some((one) => typeof one === 'object' && one !== null) || isVote(list);
  const isNames = list.every((one) => typeof one === 'string');
  if (isTuple && !isNames) return inside;
  return [{ path: at, how: 'dropped', value: list.toSpliced(index, 1) }, ...inside];
}

/** [slot, ballot or null, label] */
function isVote(list: readonly Json[]): boolean {
  return list.length === 3 && typeof list[0] === 'number' && typeof list[2] === 'string';
}

function changesOfField(
  record: { readonly [key: string]: Json },
  key: string,
  leaves: Leaves,
  path: Path,
): Change[] {
  const { [key]: field, ...others } = record;
  const at = [...path, key];
  const inside = changesOf(field as Json, leaves, at).map(({ path: where, how, value }) => ({
    path: where,
    how,
    value: { ...record, [key]: value },
  }));
  return [{ path: at, how: 'gone', value: others }, ...inside];
}
