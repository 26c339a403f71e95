/**
 * Which slots hold parts of large transactions that may still have to be read: the log must keep them.
 *
 * Parts are needed until the slot of their last part is applied, and again if a crash of PostgreSQL takes the pointer back to before
 * it. A `leaderStart` entry ends the wait for all parts before it: a last part of an older leadership that comes later takes no effect
 * (see succession.ts), so nothing will ever read them. Pure; no I/O.
 */
import type { Entry, Slot } from '../multipaxos/types.ts';
import type { TransactionPayload } from './effects.ts';

/** A transaction's first part, and its last once that has come. */
interface Span {
  readonly first: Slot;
  last: Slot | null;
}

export interface PartTracker {
  readonly spans: Map<string, Span>;
}

export function createPartTracker(): PartTracker {
  return { spans: new Map() };
}

/** Takes entries in slot order. `payload` is the decoded payload of a command. */
export function trackEntry(
  tracker: PartTracker,
  slot: Slot,
  entry: Entry,
  payload: Pick<TransactionPayload, 'transaction' | 'part' | 'last'> | null,
): void {
  const { spans } = tracker;
  if (entry.kind === 'leaderStart') {
    for (const [transaction, span] of spans) if (span.last === null) spans.delete(transaction);
  }
  if (payload === null) return;
  const span = spans.get(payload.transaction);
  if (payload.last) {
    if (span !== undefined) span.last = slot;
  } else if (span === undefined) spans.set(payload.transaction, { first: slot, last: null });
}

/** The end of a transaction whose session gave up after parts of it had been proposed: it only ends the wait for them. */
export function isGivenUp(payload: Pick<TransactionPayload, 'part' | 'last' | 'partSlots'>): boolean {
  return payload.last && payload.part > 0 && payload.partSlots.length === 0;
}

/** The lowest slot that must stay readable for a database whose pointer is `pointer`. */
export function keepFrom(tracker: PartTracker, pointer: Slot): Slot {
  let lowest = (pointer + 1) as Slot;
  for (const { first, last } of tracker.spans.values()) {
    if (first < lowest && (last === null || last > pointer)) lowest = first;
  }
  return lowest;
}

/** Lets go of what no pointer at or above `pointer` needs. */
export function forgetParts(tracker: PartTracker, pointer: Slot): void {
  for (const [transaction, { last }] of tracker.spans) {
    if (last !== null && last <= pointer) tracker.spans.delete(transaction);
  }
}
