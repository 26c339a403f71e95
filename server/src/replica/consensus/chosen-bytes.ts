/**
 * How many bytes were chosen above a slot, about: one running sum, remembered at some slots.
 *
 * Invariants: never less than it is, of what was chosen since this began to count; bounded, however much is chosen. An entry costs an addition and a comparison.
 */
import type { SlotEntry } from '../../multipaxos/types/entries.ts';
import type { Slot } from '../../multipaxos/types/names.ts';

const marksMax = 1024;
const firstStride = 16;

export class ChosenBytes {
  private total = 0;
  private newest = 0;
  /** All up to `slot` came to `bytes`; ascending. */
  private marks: { readonly slot: number; readonly bytes: number }[] = [];
  private stride = firstStride;
  private nextMark = 0;

  /** In slot order, each slot once. */
  add(entries: readonly SlotEntry[]): void {
    for (const { slot, entry } of entries) {
      if (slot >= this.nextMark) this.mark(slot);
      if (entry.kind === 'command') this.total += entry.payload.byteLength;
      this.newest = slot;
    }
  }

  private mark(slot: Slot): void {
    this.marks.push({ slot: slot - 1, bytes: this.total });
    if (this.marks.length > marksMax) {
      this.stride *= 2;
      this.marks = this.marks.filter((_, index) => index % 2 === 0);
    }
    this.nextMark = slot + this.stride;
  }

  above(slot: Slot): number {
    if (slot >= this.newest) return 0;
    const below = this.marks.findLast((mark) => mark.slot <= slot);
    return this.total - (below?.bytes ?? 0);
  }
}
