/** What the load's clients were told between two moments, and what of that is missing: in words, and only what was seen. Pure. */
import type { Seen } from './seen.ts';
import { listed } from './words.ts';

/** Null: no load tells. */
export function answeredBetween(before: Seen, after: Seen): number | null {
  if (before.load === null || after.load === null) return null;
  return Math.max(0, after.load.counts.acknowledged - before.load.counts.acknowledged);
}

/** Of the writes that clients were told of: whether some are missing, as far as replicas were looked through behind `sinceMs`. */
export function spellKept({ load, atMs }: Seen, sinceMs: number): string {
  if (load === null) return 'Whether a client was told of any of it is not seen here: no load runs.';
  const { acknowledged } = load.counts;
  if (load.lost > 0) return `Of ${acknowledged} writes that clients were told of, ${load.lost} are missing.`;
  const looked = load.replicas
    .filter(({ checkedAgoMs }) => checkedAgoMs !== null && atMs - checkedAgoMs > sinceMs)
    .map(({ id }) => id);
  return looked.length === 0
    ? 'Whether a client was told of any of it is not known yet: nobody has looked for what was acknowledged since.'
    : `All writes that clients had been told of were looked for since at ${listed(looked)}, and are there.`;
}

/** What reads between two moments have shown. */
export function spellReads(before: Seen, after: Seen): string {
  const [old, now] = [before.load, after.load];
  if (old === null || now === null)
    return 'What reads were answered in between is not seen here: no load runs.';
  if (old.stale === undefined || now.stale === undefined)
    return 'Whether a read was answered with too little in between is not seen here: this load does not judge its reads.';
  const reads = now.counts.reads - old.counts.reads;
  const stale = now.stale - old.stale;
  if (stale > 0) return `Of ${reads} reads in between, ${stale} did not show what they had to.`;
  return reads <= 0
    ? 'No read of the load was answered in between.'
    : `The load had ${reads} reads answered in between, by whomever, and each showed what it had to.`;
}

/** More was lost, or read as it had been, than before. */
export function hasHarmBetween(before: Seen, after: Seen): boolean {
  const grown = (of: (load: NonNullable<Seen['load']>) => number): boolean =>
    before.load !== null && after.load !== null && of(after.load) > of(before.load);
  return grown(({ lost }) => lost) || grown(({ stale = 0 }) => stale);
}
