/**
 * Done and Min (barista.txt, section 2.4): what every replica's database has is forgotten.
 *
 * Responsible for: apply, handleDone, purge, restored and moveBase. Each replica tells with its messages up to where it has executed, durably; Min is the
 * least of all. Who asks for what is forgotten is told so, and gets a copy of a database.
 */
import type { ReplicaId, Slot } from '../multipaxos/types/names.ts';
import { advance, dropTo, finish } from './learner.ts';
import { minSlot, persist, type PaxosRun } from './run.ts';
import { noteInUse, type PaxosState } from './state.ts';
import { traceAction } from './trace.ts';

/** The database has executed, durably, up to `slot`. */
export function apply(run: PaxosRun, slot: Slot): void {
  const { state } = run;
  if (slot <= state.done) return;
  state.done = slot;
  traceAction(run, 'Apply', { upTo: slot });
}

export function handleDone(run: PaxosRun, from: ReplicaId, done: Slot): void {
  const { known } = run.state;
  if (done <= (known.get(from) ?? 0)) return;
  known.set(from, done);
  traceAction(run, 'HandleDone', { from, upTo: done });
}

/** Everybody has it: Min. A replica that was not heard since this one's start counts as one that has nothing. */
function minDone({ done, known, peers }: PaxosState): Slot {
  return peers.reduce((least, peer) => minSlot(least, known.get(peer) ?? (0 as Slot)), done);
}

export function purge(run: PaxosRun): void {
  const { state } = run;
  const upTo = minSlot(minDone(state), state.durableTo);
  if (upTo <= state.purgedTo) return;
  state.purgedTo = upTo;
  dropTo(state, upTo);
  run.effects.push({ kind: 'purge', upTo });
  traceAction(run, 'Purge', { upTo });
}

/**
 * The database came up with everything up to `slot`. What the log holds below without knowing it to be decided is not taken for decided: another ballot
 * may have chosen something else. It becomes known like anything else, or is passed over when nobody has it any more. Where the log has nothing, it goes on from there.
 */
export function restored(run: PaxosRun, slot: Slot): void {
  const { state } = run;
  state.done = slot;
  if (slot > state.commitPoint) {
    if (!holdsAllUpTo(state, slot)) return moveBase(run, slot);
    state.databaseAt = slot;
  } else if (slot < state.purgedTo) {
    run.effects.push({ kind: 'forgotten', peer: state.config.id, purgedTo: state.purgedTo });
  }
  traceAction(run, 'Restored', { upTo: slot });
}

function holdsAllUpTo(state: PaxosState, last: Slot): boolean {
  for (let slot = state.commitPoint + 1; slot <= last; slot += 1) {
    if (state.slots.get(slot as Slot)?.entry == null) return false;
  }
  return true;
}

/** Everything up to `slot` is in the database, and the log goes on above. Nobody can tell whether a proposal of ours down there was chosen: it is not moved. */
export function moveBase(run: PaxosRun, slot: Slot): void {
  const { state } = run;
  for (let at = state.commitPoint + 1; at <= Math.min(slot, state.lastSlot); at += 1) {
    const own = state.slots.get(at as Slot)?.own;
    if (own == null) continue;
    finish(state, own);
    run.effects.push({ kind: 'refused', proposal: own.proposal, code: 'forgotten' });
  }
  dropTo(state, slot);
  if (slot > state.lastSlot) state.lastSlot = slot;
  state.commitPoint = slot;
  state.reported = slot;
  state.purgedTo = slot;
  state.durableTo = slot;
  state.recordedCommitPoint = slot;
  advance(state);
  persist(run, { kind: 'base', slot, configuration: state.configuration });
  traceAction(run, 'Restored', { upTo: slot });
  for (const held of state.slots.values()) if (!held.decided) noteInUse(state, held);
}
