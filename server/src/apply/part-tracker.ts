/**
 * Which slots hold parts of large transactions whose last part has not come yet: the log must keep them.
 *
 * A `leaderStart` entry ends the wait for all parts before it: whatever an earlier leader had proposed lies below it, so a last
 * part that has not come by then never will. Pure; no I/O.
 */
import type { Entry, Slot } from '../multipaxos/types.ts';
import type { TransactionPayload } from './effects.ts';

export interface PartTracker {
  readonly open: Map<string, Slot>;
}

export function createPartTracker(): PartTracker {
  return { open: new Map() };
}

/** Takes entries in slot order. `payload` is the decoded payload of a command. */
export function trackEntry(
  tracker: PartTracker,
  slot: Slot,
  entry: Entry,
  payload: Pick<TransactionPayload, 'transaction' | 'part' | 'last'> | null,
): void {
  if (entry.kind === 'leaderStart') tracker.open.clear();
  if (payload === null) return;
  if (payload.last) tracker.open.delete(payload.transaction);
  else if (!tracker.open.has(payload.transaction)) tracker.open.set(payload.transaction, slot);
}

/** The lowest slot that must stay readable when everything up to `pointer` is applied. */
export function keepFrom(tracker: PartTracker, pointer: Slot): Slot {
  let lowest = (pointer + 1) as Slot;
  for (const slot of tracker.open.values()) if (slot < lowest) lowest = slot;
  return lowest;
}
