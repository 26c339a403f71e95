/**
 * The application pointer and the slots above it that are in already, as an in-memory mirror of what PostgreSQL holds.
 *
 * A leader's sessions commit out of slot order, so "applied" is a prefix and a set. Pure; no I/O.
 * Invariant: every slot at or below `pointer` is in; no member of `above` is at or below it.
 */
import type { Slot } from '../multipaxos/types.ts';

export interface AppliedSet {
  pointer: Slot;
  readonly above: Set<Slot>;
}

export function createAppliedSet(pointer: Slot, above: Iterable<Slot> = []): AppliedSet {
  const set: AppliedSet = { pointer, above: new Set(above) };
  advance(set);
  return set;
}

/** Marks one slot as in. @returns whether the pointer moved. */
export function markApplied(set: AppliedSet, slot: Slot): boolean {
  if (slot <= set.pointer) return false;
  set.above.add(slot);
  return advance(set);
}

export function isApplied(set: AppliedSet, slot: Slot): boolean {
  return slot <= set.pointer || set.above.has(slot);
}

function advance(set: AppliedSet): boolean {
  const before = set.pointer;
  while (set.above.delete((set.pointer + 1) as Slot)) set.pointer = (set.pointer + 1) as Slot;
  // What lies below the pointer says nothing more.
  if (set.above.size > 0) for (const slot of set.above) if (slot <= set.pointer) set.above.delete(slot);
  return set.pointer !== before;
}
