/**
 * What the conscience of one of the two worlds has found, and whether there is an explanation of it. Pure.
 *
 * Invariant: a variant's words are of its own run; they are told only while all that was done is what was planned, once it has been done, and where what they explain is so.
 */
import type { LoadFinding, LoadStatus } from '../../../server/src/api/load.ts';
import type { Act } from '../run/simulated/acts.ts';
import { isAsPlanned } from './beats.ts';
import type { Variant } from './variants.ts';

export type Looked =
  /** At no replica yet. */
  | { readonly kind: 'nowhere' }
  /** Nothing is missing; `at`: where it was looked. */
  | { readonly kind: 'well'; readonly at: readonly string[] }
  /** The first of each kind, in the order in which they were found; none: it is not told which. */
  | { readonly kind: 'harm'; readonly findings: readonly LoadFinding[] };

export interface Account {
  readonly looked: Looked;
  /** Null: of this run there is none. */
  readonly why: string | null;
  /** Something else was done than what was planned. */
  readonly isChanged: boolean;
}

export interface AccountOptions {
  readonly variant: Variant;
  readonly isNaive: boolean;
  /** All that was done, or is to be. */
  readonly acts: readonly Act[];
  /** Looked at. */
  readonly atMs: number;
  /** As of then; null: there are no clients yet. */
  readonly load: LoadStatus | null;
}

export function accountOf({ variant, isNaive, acts, atMs, load }: AccountOptions): Account {
  const looked = lookedIn(load);
  const isChanged = !isAsPlanned(variant, acts);
  const isDone = !isChanged && atMs >= variant.beats.at(-1)!.atMs;
  const lost = load?.lost ?? 0;
  const isExplained = isDone && (isNaive ? lost > 0 : looked.kind === 'well');
  const why = isNaive ? variant.happened : variant.prevented;
  return { looked, why: isExplained ? why : null, isChanged };
}

function lookedIn(load: LoadStatus | null): Looked {
  if (load === null) return { kind: 'nowhere' };
  if (load.lost > 0 || load.risen > 0 || (load.stale ?? 0) > 0) {
    const findings = (load.findings ?? []).toSorted((one, other) => one.foundAtMs - other.foundAtMs);
    return { kind: 'harm', findings };
  }
  const at = load.replicas.filter(({ checkedAgoMs }) => checkedAgoMs !== null).map(({ id }) => id);
  return at.length === 0 ? { kind: 'nowhere' } : { kind: 'well', at };
}
