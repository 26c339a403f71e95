/**
 * What must be remembered of the entries that have been passed, to know what later ones mean and what is stored with the pointer.
 *
 * Brings together who led (succession.ts), which parts are waited for (part-tracker.ts) and the configurations. Pure; no I/O.
 * Invariants: entries are taken in slot order; what is kept for a pointer says nothing of entries above it.
 */
import type { Configuration, Entry, Slot, SlotEntry } from '../multipaxos/types.ts';
import type { KeptWithPointer } from '../ports/database.ts';
import {
  createPartTracker,
  forgetParts,
  isGivenUp,
  keepFrom,
  trackEntry,
  type PartTracker,
} from './part-tracker.ts';
import { createSuccession, meaningOf, type Meaning, type Succession } from './succession.ts';

export interface Passage {
  readonly parts: PartTracker;
  readonly succession: Succession;
  /** The newest at or below the pointer, then those above it that have been passed, in slot order. */
  configurations: readonly Configuration[];
  /** Entries from here on hold parts that may be waited for, but the log did not have them when they were looked for. */
  unread: { readonly from: Slot; readonly to: Slot } | null;
}

export function createPassage(keep?: KeptWithPointer): Passage {
  const configuration = keep?.configuration ?? null;
  return {
    parts: createPartTracker(),
    succession: createSuccession(keep?.leadership),
    configurations: configuration === null ? [] : [configuration],
    unread: null,
  };
}

/** What the next entry means. It may be asked again, until it is passed. @throws PayloadError */
export function meaningAt(passage: Passage, entry: Entry): Meaning {
  return meaningOf(passage.succession, entry);
}

export function pass(passage: Passage, { slot, entry }: SlotEntry, meaning: Meaning): void {
  trackEntry(passage.parts, slot, entry, meaning.kind === 'transaction' ? meaning.head : null);
  // Parts of earlier leaderships are waited for no more.
  if (entry.kind === 'leaderStart') passage.unread = null;
  if (entry.kind !== 'configuration') return;
  const { version, members } = entry;
  passage.configurations = [...passage.configurations, { version, slot, members }];
}

/** True if only the effects of this very entry bring a transaction into the database. */
export function takesEffect(meaning: Meaning): meaning is Extract<Meaning, { kind: 'transaction' }> {
  return meaning.kind === 'transaction' && meaning.head.last && !isGivenUp(meaning.head);
}

/** What is to be stored with the pointer. */
export function keptAt(passage: Passage, pointer: Slot): KeptWithPointer {
  const lowest = keepFrom(passage.parts, pointer);
  const { unread } = passage;
  return {
    keepFrom: unread !== null && unread.from < lowest ? unread.from : lowest,
    leadership: passage.succession.newest,
    configuration: passage.configurations.findLast(({ slot }) => slot <= pointer) ?? null,
  };
}

/** Lets go of what no pointer at or above `pointer` needs. */
export function forget(passage: Passage, pointer: Slot): void {
  forgetParts(passage.parts, pointer);
  const newest = passage.configurations.findLastIndex(({ slot }) => slot <= pointer);
  if (newest > 0) passage.configurations = passage.configurations.slice(newest);
}

/** Takes in again what a database with this pointer waits for: entries `keep.keepFrom` up to the pointer, in slot order. */
export function passAgain(passage: Passage, slot: Slot, entry: Entry): void {
  const meaning = meaningOf(passage.succession, entry);
  trackEntry(passage.parts, slot, entry, meaning.kind === 'transaction' ? meaning.head : null);
}
