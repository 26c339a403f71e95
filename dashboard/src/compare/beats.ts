/** Which of the things that are done to the two worlds was done last. Pure. */
import type { Beat, Variant } from './variants.ts';

export function beatAt({ beats }: Pick<Variant, 'beats'>, atMs: number): Beat {
  const last = beats.findLast((beat) => beat.atMs <= atMs);
  return last ?? { atMs: 0, text: 'Both are well: the same clients, the same network, the same disks' };
}
