/**
 * The part of the log that is held in memory.
 *
 * Responsible for: writing a slot, moving the commit point, reading the tail, and keeping count of the bytes. Does not persist.
 */
import { configurationChosen } from './chain.ts';
import { entryBytes, entryLabel } from './entry.ts';
import { violated } from './invariants.ts';
import type { LogSlot, State } from './state.ts';
import type { Entry, Vote } from './types/entries.ts';
import type { Ballot, Slot } from './types/names.ts';

/**
 * How many windows a follower that lags may hold beyond its commit point; further Accepts come to it by catch-up. A leader proposes at most
 * one window beyond its commit point, and a follower that has everything is behind that by what one announcement takes: two windows are
 * enough for it never to refuse. It bounds a Promise, which carries all of this in one message: two windows and one
 * entry. Not to vote is always safe, and the next slot is always taken, so nothing waits for ever.
 */
export const windowsHeldMax = 2;

/** The same in slots (the spec's Reach): whoever votes for a slot knows everything that lies so far below to be chosen. */
export function reachOf({ config }: Pick<State, 'config'>): number {
  return windowsHeldMax * config.windowSlotsMax;
}

/** Writes a slot of the log in memory; the caller persists it. */
export function putSlot(
  state: State,
  item: { readonly slot: Slot; readonly entry: Entry; readonly ballot: Ballot | null; readonly seq: number },
): LogSlot {
  const existing = state.log.get(item.slot);
  if (existing !== undefined) state.tailBytes -= existing.bytes;
  const { slot, entry, ballot, seq } = item;
  const bytes = entryBytes(entry);
  const written: LogSlot = {
    slot,
    entry,
    label: entryLabel(entry),
    bytes,
    ballot,
    seq,
    votes: 0,
    sentAtMs: state.nowMs,
  };
  state.log.set(slot, written);
  state.tailBytes += bytes;
  if (slot > state.lastSlot) state.lastSlot = slot;
  return written;
}

/** Moves the commit point over the next slot; a configuration in it is in force from then on. */
export function markChosen(state: State, slot: Slot): LogSlot {
  const held = state.log.get(slot);
  if (held === undefined) violated('NoHoleBelowCommitPoint', `nothing is held in slot ${slot}`);
  if (slot !== state.commitPoint + 1)
    violated('NoHoleBelowCommitPoint', `slot ${slot} after ${state.commitPoint}`);
  state.commitPoint = slot;
  state.tailBytes -= held.bytes;
  state.chosenBytes += held.bytes;
  if (held.entry.kind === 'configuration') configurationChosen(state, slot, held.entry);
  return held;
}

/** This replica's votes above a slot, in slot order. */
export function votesAbove(state: State, slot: number): Vote[] {
  const votes: Vote[] = [];
  for (let at = slot + 1; at <= state.lastSlot; at += 1) {
    const held = state.log.get(at as Slot);
    if (held !== undefined && held.ballot !== null) {
      votes.push({ slot: held.slot, ballot: held.ballot, entry: held.entry });
    }
  }
  return votes;
}
