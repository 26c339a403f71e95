/** What is said of a key that nobody knows: which one was probably meant. */
import { type JsonShape, kindKey, keyName, kindOf, type Path, shapeAt, valueAt } from './json-shape.ts';

/** `at`: the map that has the key. Its value is not told, as it may be a secret whose name is misspelt. */
export function unknownKeyWords(root: JsonShape, document: unknown, at: Path, key: string): string {
  const own = keyName([...at, key]);
  const union = shapeAt(root, document, at) ?? {};
  const siblings = Object.keys(kindOf(union, valueAt(document, at)).properties ?? {});
  const near = nearest(key, siblings);
  if (near !== null) return `${own}: is no key that is known; did you mean ${keyName([...at, near])}?`;
  const elsewhere = allKeys(root).filter((path) => String(path.at(-1)) === key);
  if (elsewhere.some((path) => keyName(path) === own)) {
    const kind = kindKey(union) ?? '';
    return `${own}: is no key where ${kind} is ${String(valueAt(document, [...at, kind]))}`;
  }
  const [other] = elsewhere;
  if (other !== undefined) return `${own}: is no key that is known; did you mean ${keyName(other)}?`;
  return `${own}: is no key that is known; there may be ${siblings.join(', ')}`;
}

/** The one of `names` that was probably meant by `name`; null: none is near. */
export function nearest(name: string, names: readonly string[]): string | null {
  const typed = name.toLowerCase();
  // Its unit is what people leave out: lease for leaseMs.
  const longer = names.find((each) => typed.length > 2 && each.toLowerCase().startsWith(typed));
  if (longer !== undefined) return longer;
  const apart = (other: string): number => distance(typed, other.toLowerCase());
  const [best] = names.toSorted((a, b) => apart(a) - apart(b));
  return best !== undefined && apart(best) <= Math.max(1, Math.floor(name.length / 3)) ? best : null;
}

/** How many letters were put in, left out, mistaken or interchanged with their neighbour. */
function distance(a: string, b: string): number {
  // Names that are long beyond reason are near nothing, and cost nothing.
  if (a.length > 64 || b.length > 64) return Infinity;
  const rows: number[][] = Array.from({ length: a.length + 1 }, (_, i) => [i]);
  const at = (i: number, j: number): number => rows[i]?.[j] ?? j;
  for (let i = 1; i <= a.length; i += 1) {
    for (let j = 1; j <= b.length; j += 1) {
      const differs = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const least = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + differs);
      rows[i]![j] = swapped ? Math.min(least, at(i - 2, j - 2) + 1) : least;
    }
  }
  return at(a.length, b.length);
}

/** Those of all kinds. */
function allKeys(shape: JsonShape, at: Path = []): Path[] {
  const keys: Path[] = [];
  for (const kind of shape.oneOf ?? []) keys.push(...allKeys(kind, at));
  for (const [name, inner] of Object.entries(shape.properties ?? {})) {
    const path = at.concat(name);
    keys.push(path, ...allKeys(inner, path));
  }
  return keys;
}
