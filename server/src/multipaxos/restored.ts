/**
 * What the database says about the log.
 *
 * Responsible for: restored and relievePressure. A database comes up with everything up to some slot in it; only chosen entries are ever applied, so all of
 * that is chosen. It may be this replica's own, or a copy of another's that is ahead of this log: then the log goes on from there, and what it lacks
 * below counts as purged (the base moves).
 */
import { learnOwn } from './catch-up.ts';
import { purgeTo } from './learner.ts';
import { stepDown } from './leader.ts';
import { learnConfiguration } from './membership.ts';
import { persist, type Run } from './run.ts';
import type { State } from './state.ts';
import { traceAction } from './trace.ts';
import type { Configuration, Entry, Slot } from './types.ts';

/**
 * The pointer may be lower than before: what was durable in a database that is lost is gone. The configuration that came with the copy is known before the
 * base moves, and goes to the log before it or with it.
 */
export function restored(run: Run, slot: Slot, configuration: Configuration): void {
  const { state } = run;
  learnConfiguration(run, state.config.id, configuration);
  learnFromDatabase(run, slot);
  if (slot > state.commitPoint) moveBase(run, slot);
  state.applied = slot;
  state.durableApplied = slot;
}

/**
 * The replica's own database has applied more than the log's commit point says, as after a restart: what the log holds there is chosen. Others may
 * have purged it, so it could not be fetched. Nothing is learnt if the log does not reach so far.
 */
export function learnFromDatabase(run: Run, applied: Slot): void {
  const { state } = run;
  const entries: Entry[] = [];
  for (let slot = state.commitPoint + 1; slot <= applied; slot += 1) {
    const held = state.log.get(slot as Slot);
    if (held === undefined) return;
    entries.push(held.entry);
  }
  if (entries.length > 0) learnOwn(run, entries);
}

function moveBase(run: Run, slot: Slot): void {
  const { state } = run;
  if (state.leadership !== null) stepDown(run, 'higherBallot');
  dropTo(state, slot);
  state.commitPoint = slot;
  state.reported = slot;
  state.purgedTo = slot;
  state.lastSlot = Math.max(state.lastSlot, slot) as Slot;
  state.knownCommitPoint = Math.max(state.knownCommitPoint, slot) as Slot;
  state.recordedConfiguration = state.configuration.version;
  state.recordedCommitPoint = slot;
  persist(run, [{ kind: 'base', slot, configuration: state.configuration }]);
  traceAction(run, 'Restored');
}

function dropTo(state: State, slot: Slot): void {
  for (let at = state.droppedTo + 1; at <= Math.min(slot, state.lastSlot); at += 1) {
    const held = state.log.get(at as Slot);
    if (held === undefined) continue;
    if (at <= state.commitPoint) state.chosenBytes -= held.bytes;
    else state.tailBytes -= held.bytes;
    state.log.delete(at as Slot);
  }
  state.droppedTo = slot;
}

/** The log has outgrown its bound: whoever still wants what goes gets a copy of a database instead. */
export function relievePressure(run: Run): void {
  purgeTo(run, run.state.durableApplied);
}
