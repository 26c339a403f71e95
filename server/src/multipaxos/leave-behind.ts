/**
 * Leaving behind what cannot be had as a log any more.
 *
 * Responsible for: leaveBehind. A replica that waits for a copy of another's database needs its log from there on only. Where those that it asks have purged what its log lacks, it goes on
 * from what they still have, at once: it votes while the copy is on its way, and so lets what the copy holds be chosen. Without that a group of three may be left with a leader and with one
 * that lags, and neither can help the other: the copy is complete only when all that is in it is chosen, and nothing is chosen without a vote for slots far beyond this log.
 *
 * What it drops must be with a majority that does without it, each of which knows it to be chosen: a candidate that does not could get it from nobody, if its source were lost next. So it waits for a slot
 * that is chosen, that it has not voted for, and that lies two windows above what it leaves: those who chose that slot had all below those two windows, and knew it to be chosen (follower.ts, `hasRoom`), and remember
 * that (the commit point is recorded with the vote). Spec: LeaveBehind and MayLeaveBehind of Recovery.tla; Restored of MultiPaxos.tla.
 */
import { moveBase } from './base.ts';
import { reachOf } from './log.ts';
import type { Run } from './run.ts';
import type { State } from './state.ts';
import type { Slot } from './types/names.ts';

/** Somebody has purged all up to `purgedTo`, and told of the newest configuration. Returns whether the log goes on from there now. */
export function leaveBehind(run: Run, purgedTo: Slot): boolean {
  if (!mayLeaveBehind(run.state, purgedTo)) return false;
  moveBase(run, purgedTo);
  return true;
}

function mayLeaveBehind(state: State, purgedTo: Slot): boolean {
  const { awaitsCopy, knownCommitPoint, log } = state;
  return awaitsCopy && purgedTo + reachOf(state) <= knownCommitPoint && !log.has(knownCommitPoint);
}
