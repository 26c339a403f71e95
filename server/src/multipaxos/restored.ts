/**
 * What the database says about the log.
 *
 * Responsible for: restored and relievePressure. A database comes up with everything up to some slot in it. It may be this replica's own, or a copy of
 * another's that is ahead of this log.
 *
 * What the log holds below that slot without knowing it to be chosen is not taken for chosen: a vote of a lower ballot may have lost, and a copy
 * has what won. It becomes known as chosen like anything else: a leader announces it, a successor proposes it again, or it is fetched; and
 * if whoever is asked has purged it, the base moves (catch-up.ts), as it does at once where the log has nothing.
 */
import { moveBase } from './base.ts';
import { purgeTo } from './learner.ts';
import { learnConfiguration } from './membership.ts';
import type { Run } from './run.ts';
import type { State } from './state.ts';
import type { Configuration, Slot } from './types.ts';

/**
 * The pointer may be lower than before: what was durable in a database that is lost is gone. The configuration that came with the copy is known before the
 * base moves, and goes to the log before it or with it.
 */
export function restored(run: Run, slot: Slot, configuration: Configuration): void {
  const { state } = run;
  learnConfiguration(run, state.config.id, configuration);
  if (!holdsAllUpTo(state, slot)) moveBase(run, slot);
  state.applied = slot;
  state.durableApplied = slot;
}

function holdsAllUpTo(state: State, last: Slot): boolean {
  for (let slot = state.commitPoint + 1; slot <= last; slot += 1) {
    if (!state.log.has(slot as Slot)) return false;
  }
  return true;
}

/** The log has outgrown its bound: whoever still wants what goes gets a copy of a database instead. */
export function relievePressure(run: Run): void {
  purgeTo(run, run.state.durableApplied);
}
