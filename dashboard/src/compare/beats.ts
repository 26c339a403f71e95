/**
 * Which of the things that were done to the two worlds was done last, and whether all of them are what was planned. Pure.
 *
 * Invariant: nothing is told that was not done: a fork leaves out what was planned behind it, and a reader does other things.
 */
import { spellRequest } from '../model/fault-text.ts';
import { type Act, type Deed, writeActs } from '../run/simulated/acts.ts';
import { listed } from '../scenarios/words.ts';
import type { Beat, Variant } from './variants.ts';

const nothingYet: Beat = {
  atMs: 0,
  text: 'Both are well: the same clients, the same network, the same disks',
};

/** `acts`: all that was done, or is to be. */
export function beatAt(
  { setup, beats }: Pick<Variant, 'setup' | 'beats'>,
  acts: readonly Act[],
  atMs: number,
): Beat {
  const done = until(acts, atMs);
  const last = done.at(-1);
  if (last === undefined) return nothingYet;
  const [lastMs] = last;
  const planned = beats.find((beat) => beat.atMs === lastMs);
  // A beat speaks of all that was done up to it, too.
  if (planned !== undefined && areSame(done, until(setup.acts, lastMs))) return planned;
  const together = done.filter(([ms]) => ms === lastMs).map(([, deed]) => spellDeed(deed));
  return { atMs: lastMs, text: listed(together) };
}

/** Nothing was added to what was planned, and nothing left out. */
export function isAsPlanned({ setup }: Pick<Variant, 'setup'>, acts: readonly Act[]): boolean {
  return areSame(acts, setup.acts);
}

function until(acts: readonly Act[], atMs: number): readonly Act[] {
  return acts.filter(([ms]) => ms <= atMs);
}

function areSame(some: readonly Act[], others: readonly Act[]): boolean {
  return some === others || (some.length === others.length && writeActs(some) === writeActs(others));
}

function spellDeed(deed: Deed): string {
  if (deed.action === 'verify') return 'Compared the data of all replicas';
  if (deed.action === 'sql') return `Sent SQL to ${deed.replica}`;
  return spellRequest(deed);
}
