/**
 * What the database says about the log.
 *
 * Responsible for: awaitCopy, restored, knowLeadership and relievePressure. A database comes up with everything up to some slot in it. It may be this replica's own, or a copy of
 * another's that is ahead of this log.
 *
 * What the log holds below that slot without knowing it to be chosen is not taken for chosen: a vote of a lower ballot may have lost, and a copy
 * has what won. It becomes known as chosen like anything else: a leader announces it, a successor proposes it again, or it is fetched; and
 * if whoever is asked has purged it, the base moves (catch-up.ts), as it does at once where the log has nothing.
 */
import { compareBallots } from './ballot.ts';
import { moveBase } from './base.ts';
import { stepDown } from './leader.ts';
import { purgeTo } from './learner.ts';
import { reachOf } from './log.ts';
import { learnConfiguration } from './membership.ts';
import type { Run } from './run.ts';
import type { State } from './state.ts';
import type { Configuration } from './types/members.ts';
import type { Ballot, Slot } from './types/names.ts';

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
  state.awaitsCopy = false;
}

/** Whoever is copied to leads nothing, and does not stand until it has a database again: as long as it led, nobody else would. Spec: MayBeCopiedTo, MayBeElected of OrderedApply.tla. */
export function awaitCopy(run: Run): void {
  run.state.awaitsCopy = true;
  stepDown(run, 'databaseFailed');
}

function holdsAllUpTo(state: State, last: Slot): boolean {
  for (let slot = state.commitPoint + 1; slot <= last; slot += 1) {
    if (!state.log.has(slot as Slot)) return false;
  }
  return true;
}

/**
 * The leader of `ballot` began at or below the pointer: what is executed under a lower one takes no effect above (ADR 8). The promises of a majority keep a lower one from
 * leading, as long as they are what they were. This holds without them, too: whoever comes to serve has seen the data. It is no promise, and binds nobody else.
 */
export function knowLeadership(run: Run, ballot: Ballot): void {
  const { state } = run;
  state.highestRound = Math.max(state.highestRound, ballot.round);
  if (state.role !== 'follower' && compareBallots(state.promised, ballot) < 0) stepDown(run, 'higherBallot');
}

/**
 * The log nears its bound: whoever still wants what goes gets a copy of a database instead. Whatever goes is in this replica's own database, durably (the
 * spec's LogMeetsDatabase): a replica without one that can be relied on lets go of nothing until a copy has taken its place.
 *
 * Two windows stay that even a restart would find to be chosen. Whoever has helped to choose what is newest knows all below those to be chosen, so that one who lacks it may
 * leave it behind (leave-behind.ts). A log that has no room for them keeps nothing.
 */
export function relievePressure(run: Run, isUrgent: boolean): void {
  const { state } = run;
  const { durableApplied, durableCommitPoint } = state;
  purgeTo(run, isUrgent ? durableApplied : Math.min(durableApplied, durableCommitPoint - reachOf(state)));
}
