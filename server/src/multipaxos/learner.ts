/**
 * The learner: which slots are chosen, and giving them out in order.
 *
 * Responsible for: following the leader's commit point, `chosen` and `purge` effects, and letting go of memory.
 * Invariant: `chosen` goes in slot order, each slot once, and only when the slot is durable here, so that the database never
 * holds what the replica's own log could still lose.
 */
import { sameBallot } from './ballot.ts';
import { markChosen } from './log.ts';
import type { Run } from './run.ts';
import type { State } from './state.ts';
import type { SlotEntry } from './types/entries.ts';
import type { ReplicaId, Slot } from './types/names.ts';

/** Someone says that everything up to `commitPoint` is chosen: true whatever its ballot. */
export function noteCommitPoint(state: State, from: ReplicaId, commitPoint: Slot): void {
  if (commitPoint <= state.knownCommitPoint) return;
  state.knownCommitPoint = commitPoint;
  state.knownCommitPointFrom = from;
}

/**
 * Advances over slots whose vote is in the ballot of the leader that announces the commit point: that leader proposed one
 * entry for each, so it is this one. A vote of a lower ballot proves nothing; such a slot is fetched.
 */
export function followCommitPoint(state: State, leaderCommitPoint: Slot): boolean {
  if (leaderCommitPoint > state.leaderCommitPoint) state.leaderCommitPoint = leaderCommitPoint;
  const before = state.commitPoint;
  while (state.commitPoint < state.leaderCommitPoint) {
    const next = (state.commitPoint + 1) as Slot;
    const ballot = state.log.get(next)?.ballot;
    if (ballot === undefined || ballot === null || !sameBallot(ballot, state.promised)) break;
    markChosen(state, next);
  }
  return state.commitPoint > before;
}

/** Never above what this replica's own database has made durable, whatever the leader says. */
export function purge(run: Run, globalApplicationPointer: Slot): void {
  purgeTo(run, Math.min(globalApplicationPointer, run.state.durableApplied));
}

export function purgeTo(run: Run, slot: number): void {
  const { state } = run;
  const upTo = Math.min(slot, state.reported) as Slot;
  if (upTo <= state.purgedTo) return;
  state.purgedTo = upTo;
  run.effects.push({ kind: 'purge', upTo });
}

/** Gives out what is chosen and durable here, then lets go of what needs no memory any more. */
export function reportChosen(run: Run): void {
  const { state } = run;
  if (state.reported < state.commitPoint) {
    const entries: SlotEntry[] = [];
    while (state.reported < state.commitPoint) {
      const held = state.log.get((state.reported + 1) as Slot);
      if (held === undefined || held.seq > state.durableSeq) break;
      state.reported = held.slot;
      entries.push({ slot: held.slot, entry: held.entry });
    }
    if (entries.length > 0) run.effects.push({ kind: 'chosen', entries });
  }
  drop(state);
}

/** Applied slots go; so do the oldest of the others when a slow database leaves too many (the log store has them). */
function drop(state: State): void {
  const { windowBytesMax, windowSlotsMax } = state.config;
  while (state.droppedTo < state.reported) {
    const slot = (state.droppedTo + 1) as Slot;
    const wanted = slot > state.applied;
    const fits = state.chosenBytes <= windowBytesMax && state.commitPoint - slot < windowSlotsMax;
    if (wanted && fits) return;
    const held = state.log.get(slot);
    if (held !== undefined) state.chosenBytes -= held.bytes;
    state.log.delete(slot);
    state.droppedTo = slot;
  }
}
