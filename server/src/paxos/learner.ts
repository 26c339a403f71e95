/**
 * The learner: what is known to be decided, in slot order.
 *
 * Responsible for: settle, learn, handleLearn, reportChosen, and letting go of what the log has.
 * Invariant: `chosen` tells each slot once, consecutively.
 */
import { sameBallot } from '../multipaxos/ballot.ts';
import { entryLabel } from '../multipaxos/entry.ts';
import type { Entry, SlotEntry } from '../multipaxos/types/entries.ts';
import type { ReplicaId, Slot } from '../multipaxos/types/names.ts';
import { violated } from './invariants.ts';
import { minSlot, persist, send, type PaxosRun } from './run.ts';
import { isDecided, reachOf, slotState, type OwnProposal, type PaxosState, type SlotState } from './state.ts';
import { traceAction } from './trace.ts';
import type { Learn } from './types/messages.ts';

/** What the slot holds is chosen. A proposal of this replica's that has lost it waits for another, ahead of those that have not had one. */
export function settle(run: PaxosRun, held: SlotState, entry: Entry): void {
  const { state } = run;
  const label = entryLabel(entry);
  if (held.label !== label)
    violated('DecidedIsChosen', `slot ${held.slot} holds ${held.label}, not ${label}`);
  held.decided = true;
  held.open = null;
  const { own } = held;
  held.own = null;
  if (own !== null && own.label === label) finish(state, own);
  else if (own !== null) {
    own.losses += 1;
    state.waiting.unshift(own);
  }
  advance(state);
}

export function finish(state: PaxosState, own: OwnProposal): void {
  state.under.delete(own.label);
  state.underBytes -= own.bytes;
}

/** Moves the commit point over what is decided. */
export function advance(state: PaxosState): void {
  while (state.slots.get((state.commitPoint + 1) as Slot)?.decided === true)
    state.commitPoint = (state.commitPoint + 1) as Slot;
  if (state.commitPoint >= state.databaseAt) state.databaseAt = 0 as Slot;
}

/** The entry of a slot that another knows to be decided. A vote for it is as good a record. */
export function learn(run: PaxosRun, slot: Slot, entry: Entry): void {
  const { state } = run;
  const label = entryLabel(entry);
  const held = state.slots.get(slot);
  if (held?.decided === true && held.label !== label)
    violated('DecidedIsChosen', `slot ${slot} holds ${held.label}, and ${label} is told`);
  if (isDecided(state, slot)) return;
  const at = slotState(state, slot);
  if (at.label !== label) {
    at.entry = entry;
    at.label = label;
    at.ballot = null;
    at.seq = persist(run, { kind: 'chosen', slot, entry });
  }
  settle(run, at, entry);
  traceAction(run, 'HandleCatchUpReply', { slot, label });
}

/** Whoever voted in that ballot has the entry; others ask for it. */
export function handleLearn(run: PaxosRun, from: ReplicaId, { slot, ballot }: Learn): void {
  const { state } = run;
  if (isDecided(state, slot) || slot > state.commitPoint + 2 * reachOf(state)) return;
  const held = slotState(state, slot);
  if (held.entry === null || held.ballot === null || !sameBallot(held.ballot, ballot))
    return send(run, from, { kind: 'LearnRequest', fromSlot: slot, toSlot: slot });
  settle(run, held, held.entry);
  traceAction(run, 'HandleLearn', { slot, ballot, from });
}

export function reportChosen(run: PaxosRun): void {
  const { state } = run;
  const entries: SlotEntry[] = [];
  while (state.reported < state.commitPoint) {
    const slot = (state.reported + 1) as Slot;
    const entry = state.slots.get(slot)?.entry ?? null;
    if (entry === null) violated('DecidedIsChosen', `nothing is held in slot ${slot}`);
    entries.push({ slot, entry });
    state.reported = slot;
  }
  if (entries.length > 0) run.effects.push({ kind: 'chosen', entries });
}

/** The log has it durably, and it has been told: memory need not hold it, but for some that others may be about to ask for. */
export function letGo(state: PaxosState): void {
  for (;;) {
    const next = state.slots.get((state.durableTo + 1) as Slot);
    if (next === undefined || next.slot > state.commitPoint || next.seq > state.durableSeq) break;
    state.durableTo = next.slot;
  }
  dropTo(state, Math.max(0, minSlot(state.durableTo, state.reported) - reachOf(state)) as Slot);
}

export function dropTo(state: PaxosState, slot: Slot): void {
  for (let at = state.droppedTo + 1; at <= slot; at += 1) state.slots.delete(at as Slot);
  if (slot > state.droppedTo) state.droppedTo = slot;
}
