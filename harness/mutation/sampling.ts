/** A sample of mutants that is the same for the same seed, whatever else is added or goes: chosen by a hash of each name. */
import { createHash } from 'node:crypto';

/** In their own order; all of them if there are no more than `count`. */
export function sample<Named extends { readonly name: string }>(
  all: readonly Named[],
  count: number,
  seed: number,
): readonly Named[] {
  const keyOf = ({ name }: Named): string => createHash('sha256').update(`${seed} ${name}`).digest('hex');
  const keys = new Map(all.map((one) => [one, keyOf(one)]));
  const chosen = new Set(
    all.toSorted((left, right) => (keys.get(left)! < keys.get(right)! ? -1 : 1)).slice(0, count),
  );
  return all.filter((one) => chosen.has(one));
}
