/**
 * A suite direct against PostgreSQL, and the same suite through Barista: what differs between the two.
 *
 * Pure. What fails on both sides in the same way is no finding: many tests need a superuser, and both sides are an ordinary role. What already differs between two runs
 * that both went direct says nothing about Barista and is named apart.
 */
import type { Outcome } from './outcome.ts';

export interface Judgement {
  readonly passed: number;
  readonly skipped: number;
  /** Failed on both sides, and what was seen is the same. */
  readonly failedAlike: readonly string[];
  /** Passed direct, and did not through Barista. */
  readonly lost: readonly string[];
  /** Did not pass direct, but did through Barista. */
  readonly gained: readonly string[];
  /** Failed on both sides, and what was seen differs. */
  readonly failedOtherwise: readonly string[];
  /** Only one of the sides has it. */
  readonly missing: readonly string[];
  /** Two direct runs differ in it. */
  readonly unsteady: readonly string[];
}

export interface Sides {
  readonly direct: readonly Outcome[];
  readonly through: readonly Outcome[];
  /** A second direct run; null: there was none, and every difference counts. */
  readonly again: readonly Outcome[] | null;
}

export function judge({ direct, through, again }: Sides): Judgement {
  const there = byName(through);
  const known = byName(direct);
  const twice = again === null ? null : byName(again);
  const lists = {
    failedAlike: [] as string[],
    lost: [] as string[],
    gained: [] as string[],
    failedOtherwise: [] as string[],
    unsteady: [] as string[],
    missing: through.filter(({ name }) => !known.has(name)).map(({ name }) => name),
  };
  let passed = 0;
  let skipped = 0;
  for (const outcome of direct) {
    const { name } = outcome;
    const other = there.get(name);
    const second = twice === null ? outcome : twice.get(name);
    if (other === undefined) lists.missing.push(name);
    else if (outcome.result === 'skip' && other.result === 'skip') skipped += 1;
    else if (outcome.result === 'pass' && other.result === 'pass') passed += 1;
    else if (isAlike(outcome, other)) lists.failedAlike.push(name);
    else if (second === undefined || !isAlike(outcome, second)) lists.unsteady.push(name);
    else if (outcome.result === 'pass') lists.lost.push(name);
    else if (other.result === 'pass') lists.gained.push(name);
    else lists.failedOtherwise.push(name);
  }
  return { passed, skipped, ...lists };
}

/** Nothing that Barista would have to answer for. A suite of which nothing passes on either side is not installed as it should be, and shows nothing. */
export function isClean({ passed, lost, failedOtherwise, missing }: Judgement): boolean {
  return passed > 0 && lost.length + failedOtherwise.length + missing.length === 0;
}

function isAlike(one: Outcome, other: Outcome): boolean {
  return one.result === other.result && one.evidence === other.evidence;
}

function byName(outcomes: readonly Outcome[]): ReadonlyMap<string, Outcome> {
  return new Map(outcomes.map((outcome) => [outcome.name, outcome]));
}
