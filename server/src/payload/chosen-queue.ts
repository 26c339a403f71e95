/**
 * Chosen entries that wait in memory to be applied. What does not fit is dropped: the log has it.
 *
 * Invariants: what it holds is consecutive; it never holds more than `entriesMax` entries or `bytesMax` bytes of payload.
 */
import type { SlotEntry } from '../multipaxos/types/entries.ts';
import type { Slot } from '../multipaxos/types/names.ts';

export interface ChosenQueueOptions {
  readonly entriesMax: number;
  readonly bytesMax: number;
}

export class ChosenQueue {
  private readonly options: ChosenQueueOptions;
  private entries: SlotEntry[] = [];
  private bytes = 0;

  constructor(options: ChosenQueueOptions) {
    this.options = options;
  }

  /**
   * Consecutive entries. Too many at once, or on top of the others, and all are let go. What does not follow on what it holds (the log went on
   * from a copied database) takes its place.
   */
  push(entries: readonly SlotEntry[]): void {
    const last = this.entries.at(-1);
    if (last !== undefined && entries[0] !== undefined && entries[0].slot !== last.slot + 1) this.clear();
    for (const item of entries) {
      this.entries.push(item);
      this.bytes += bytesOf(item);
    }
    if (this.entries.length > this.options.entriesMax || this.bytes > this.options.bytesMax) this.clear();
  }

  /** Takes what is there from slot `from` on, at least one entry and within the bounds; empty if `from` is not there. */
  take(from: Slot, entriesMax: number, bytesMax: number): SlotEntry[] {
    const at = this.entries.findIndex(({ slot }) => slot >= from);
    this.remove(at === -1 ? this.entries.length : at);
    if (this.entries[0]?.slot !== from) return [];
    let bytes = 0;
    let count = 0;
    for (const item of this.entries) {
      bytes += bytesOf(item);
      if (count > 0 && (count >= entriesMax || bytes > bytesMax)) break;
      count++;
    }
    return this.remove(count);
  }

  clear(): void {
    this.entries = [];
    this.bytes = 0;
  }

  private remove(count: number): SlotEntry[] {
    const removed = this.entries.splice(0, count);
    for (const item of removed) this.bytes -= bytesOf(item);
    return removed;
  }
}

function bytesOf({ entry }: SlotEntry): number {
  return entry.kind === 'command' ? entry.payload.byteLength : 0;
}
