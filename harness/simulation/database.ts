/**
 * A replica's simulated database: a few registers, an application pointer in the same transaction, and asynchronous commit.
 *
 * Responsible for: applying entries in slot order, each proposal once, and taking back a suffix on a crash, never below what was
 * flushed. The pointer and the data go back together.
 */
import { entryLabel } from '../../server/src/multipaxos/entry.ts';
import type { Entry, EntryLabel, Slot } from '../../server/src/multipaxos/types.ts';

/** What undoes one applied slot. */
interface Undo {
  readonly slot: Slot;
  readonly label: EntryLabel | null;
  readonly key: number;
  readonly previous: EntryLabel | null;
}

export class SimulatedDatabase {
  pointer = 0 as Slot;
  durablePointer = 0 as Slot;
  up = true;
  /** What each register holds: the label of the last write. */
  readonly registers: (EntryLabel | null)[];
  /** The slot in which each proposal took effect. */
  readonly effects = new Map<EntryLabel, Slot>();
  private readonly undo: Undo[] = [];

  constructor(keys: number) {
    this.registers = Array.from({ length: keys }, () => null);
  }

  /** Returns the slot in which the proposal took effect: an earlier one if this is a repetition; null for other entries. */
  apply(slot: Slot, entry: Entry): Slot | null {
    if (slot !== this.pointer + 1) throw new Error(`slot ${slot} applied after ${this.pointer}`);
    this.pointer = slot;
    const label = entryLabel(entry);
    const earlier = this.effects.get(label);
    if (entry.kind !== 'command' || earlier !== undefined) {
      this.undo.push({ slot, label: null, key: 0, previous: null });
      return earlier ?? null;
    }
    const key = keyOf(entry.payload, this.registers.length);
    this.undo.push({ slot, label, key, previous: this.registers[key]! });
    this.registers[key] = label;
    this.effects.set(label, slot);
    return slot;
  }

  flush(): void {
    this.durablePointer = this.pointer;
    this.undo.length = 0;
  }

  /** Goes back to `pointer`, which is not below the durable one. */
  crashTo(pointer: number): void {
    while (this.pointer > Math.max(pointer, this.durablePointer)) {
      const undo = this.undo.pop()!;
      if (undo.label !== null) {
        this.registers[undo.key] = undo.previous;
        this.effects.delete(undo.label);
      }
      this.pointer = (undo.slot - 1) as Slot;
    }
  }
}

export function keyOf(payload: Uint8Array, keys: number): number {
  return payload[0]! % keys;
}
