/**
 * Moving the base of the log: what the database has, durably, needs no log, and neither does what the copy that is to come will have.
 *
 * Responsible for: moveBase. Safe at any time, since only chosen entries are ever applied, in any database, or purged; but the log entries below
 * are gone for those who may still want them, so it is done only where the log cannot come up to the database by itself, or nobody has them as a log (leave-behind.ts).
 */
import { stepDown } from './leader.ts';
import { persist, type Run } from './run.ts';
import type { State } from './state.ts';
import { traceAction } from './trace.ts';
import type { Slot } from './types/names.ts';

/** The caller has made sure that the configuration in force at `slot` is known. */
export function moveBase(run: Run, slot: Slot): void {
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
