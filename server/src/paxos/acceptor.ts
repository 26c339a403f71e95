/**
 * The acceptor of each slot: promises and votes (barista.txt, section 2.3).
 *
 * Responsible for: handlePrepare and handleAccept.
 * Invariants: no vote below the slot's promise; nothing promised or voted for in a slot that is decided, as far as this replica knows, or forgotten: then it
 * tells that instead.
 */
import { compareBallots, sameBallot } from '../multipaxos/ballot.ts';
import { entryLabel } from '../multipaxos/entry.ts';
import type { ReplicaId, Slot } from '../multipaxos/types/names.ts';
import { tellDecided } from './catch-up.ts';
import { held, persist, send, sendWhenDurable, type PaxosRun } from './run.ts';
import { backOff, isDecided, noteInUse, reachOf, slotState, type SlotState } from './state.ts';
import { traceAction } from './trace.ts';
import type { LastVote, SlotAccept, SlotPrepare } from './types/messages.ts';

export function handlePrepare(run: PaxosRun, from: ReplicaId, { slot, ballot }: SlotPrepare): void {
  const at = askedSlot(run, from, slot);
  if (at === null) return;
  const order = compareBallots(ballot, at.promised);
  if (order < 0) return send(run, from, { kind: 'SlotReject', slot, ballot, promised: at.promised });
  noteInUse(run.state, at);
  const promise = { kind: 'SlotPromise', slot, ballot, vote: lastVote(at) } as const;
  if (order === 0) {
    // It was lost, or is on its way. Whoever has this vote needs no promise any more.
    if (at.ballot === null || !sameBallot(at.ballot, ballot)) sendWhenDurable(run, from, promise);
    return;
  }
  at.promised = ballot;
  if (at.open !== null) backOff(run.state, at);
  persist(run, { kind: 'slotPromise', slot, ballot }, [held(run.state, from, promise)]);
  traceAction(run, 'HandlePrepare', { slot, ballot, from });
}

export function handleAccept(run: PaxosRun, from: ReplicaId, { slot, ballot, entry }: SlotAccept): void {
  const at = askedSlot(run, from, slot);
  if (at === null) return;
  if (compareBallots(ballot, at.promised) < 0)
    return send(run, from, { kind: 'SlotReject', slot, ballot, promised: at.promised });
  noteInUse(run.state, at);
  const accepted = { kind: 'SlotAccepted', slot, ballot } as const;
  if (at.ballot !== null && sameBallot(at.ballot, ballot)) return sendWhenDurable(run, from, accepted);
  at.promised = ballot;
  if (at.open !== null) backOff(run.state, at);
  at.ballot = ballot;
  at.entry = entry;
  at.label = entryLabel(entry);
  at.seq = persist(run, { kind: 'vote', slot, ballot, entry }, [held(run.state, from, accepted)]);
  traceAction(run, 'HandleAccept', { slot, ballot, from, label: at.label });
}

/** Null: nothing is promised or voted for here, and the asker is told why if that is for good. */
function askedSlot(run: PaxosRun, from: ReplicaId, slot: Slot): SlotState | null {
  const { state } = run;
  if (isDecided(state, slot)) {
    tellDecided(run, from, slot, slot);
    return null;
  }
  // What lies so far above it would have to be held in memory: it learns what comes before first.
  return slot > state.commitPoint + 2 * reachOf(state) ? null : slotState(state, slot);
}

export function lastVote({ ballot, entry }: SlotState): LastVote | null {
  return ballot === null || entry === null ? null : { ballot, entry };
}
