/**
 * Where each slot's newest record stands: slot -> (segment, offset, bytes), in memory, 12 bytes a slot.
 *
 * Slots are dense, so they are kept in pages of 1,024; a purge drops whole pages. Knows nothing about files.
 */
import type { Slot } from '../../multipaxos/types/names.ts';

const PAGE_SLOTS = 1024;
const FIELDS = 3;

export interface Location {
  readonly segment: number;
  readonly offset: number;
  readonly bytes: number;
}

export interface SlotIndex {
  set(slot: Slot, location: Location): void;
  get(slot: Slot): Location | null;
  /** Forgets all slots at or below `slot`. */
  dropThrough(slot: Slot): void;
  /** Slots above `slot`, ascending. */
  above(slot: Slot): Slot[];
}

export function createSlotIndex(): SlotIndex {
  const pages = new Map<number, Uint32Array>();
  let droppedThrough = 0;
  const get = (slot: Slot): Location | null => {
    const page = pages.get(Math.floor(slot / PAGE_SLOTS));
    const at = (slot % PAGE_SLOTS) * FIELDS;
    // Segments count from 1, so 0 marks an empty place.
    if (page === undefined || page[at] === 0 || slot <= droppedThrough) return null;
    return { segment: page[at] as number, offset: page[at + 1] as number, bytes: page[at + 2] as number };
  };
  return {
    get,
    set(slot, location) {
      if (slot <= droppedThrough) return;
      const number = Math.floor(slot / PAGE_SLOTS);
      let page = pages.get(number);
      if (page === undefined) {
        page = new Uint32Array(PAGE_SLOTS * FIELDS);
        pages.set(number, page);
      }
      page.set([location.segment, location.offset, location.bytes], (slot % PAGE_SLOTS) * FIELDS);
    },
    dropThrough(slot) {
      droppedThrough = Math.max(droppedThrough, slot);
      for (const number of pages.keys()) {
        if ((number + 1) * PAGE_SLOTS - 1 <= droppedThrough) pages.delete(number);
      }
    },
    above(slot) {
      const slots: Slot[] = [];
      for (const number of [...pages.keys()].sort((a, b) => a - b)) {
        for (let i = 0; i < PAGE_SLOTS; i++) {
          const candidate = (number * PAGE_SLOTS + i) as Slot;
          if (candidate > slot && get(candidate) !== null) slots.push(candidate);
        }
      }
      return slots;
    },
  };
}
