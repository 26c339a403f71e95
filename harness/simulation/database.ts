/**
 * A replica's simulated database: a few registers, an application pointer that goes with them, and flushes that come later.
 *
 * Responsible for: applying entries in slot order, each proposal once, and taking back a suffix on a crash, never below what was
 * flushed. The pointer and the data go back together.
 */
import { entryLabel } from '../../server/src/multipaxos/entry.ts';
import type { Entry } from '../../server/src/multipaxos/types/entries.ts';
import type { Configuration } from '../../server/src/multipaxos/types/members.ts';
import type { EntryLabel, Slot } from '../../server/src/multipaxos/types/names.ts';

/** What undoes one applied slot. */
interface Undo {
  readonly slot: Slot;
  readonly label: EntryLabel | null;
  readonly key: number;
  readonly previous: EntryLabel | null;
  readonly configuration: Configuration;
}

export class SimulatedDatabase {
  pointer = 0 as Slot;
  durablePointer = 0 as Slot;
  up = true;
  /** Its files are gone; it stays down until there is a copy of another's. */
  lost = false;
  /** The newest one at or below the pointer: in the same transaction. */
  configuration: Configuration;
  /** What each register holds: the label of the last write. */
  readonly registers: (EntryLabel | null)[];
  /** The slot in which each proposal took effect. */
  readonly effects = new Map<EntryLabel, Slot>();
  private readonly undo: Undo[] = [];

  constructor(keys: number, configuration: Configuration) {
    this.configuration = configuration;
    this.registers = Array.from({ length: keys }, () => null);
  }

  /** Returns the slot in which the proposal took effect: an earlier one if this is a repetition; null for other entries. */
  apply(slot: Slot, entry: Entry): Slot | null {
    if (slot !== this.pointer + 1) throw new Error(`slot ${slot} applied after ${this.pointer}`);
    this.pointer = slot;
    const { configuration } = this;
    if (entry.kind === 'configuration') {
      this.configuration = { version: entry.version, slot, members: entry.members };
    }
    const label = entryLabel(entry);
    const earlier = this.effects.get(label);
    if (entry.kind !== 'command' || earlier !== undefined) {
      this.undo.push({ slot, label: null, key: 0, previous: null, configuration });
      return earlier ?? null;
    }
    const key = keyOf(entry.payload, this.registers.length);
    this.undo.push({ slot, label, key, previous: this.registers[key]!, configuration });
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
      this.configuration = undo.configuration;
      this.pointer = (undo.slot - 1) as Slot;
    }
  }

  /** Empty, as after initdb. */
  clear(configuration: Configuration): void {
    this.registers.fill(null);
    this.effects.clear();
    this.undo.length = 0;
    this.pointer = 0 as Slot;
    this.durablePointer = 0 as Slot;
    this.configuration = configuration;
  }

  /** The data of another with its pointer, all of it durable. */
  copyFrom(other: SimulatedDatabase): void {
    this.clear(other.configuration);
    for (const [key, value] of other.registers.entries()) this.registers[key] = value;
    for (const [label, slot] of other.effects) this.effects.set(label, slot);
    this.pointer = other.pointer;
    this.durablePointer = other.pointer;
  }
}

export function keyOf(payload: Uint8Array, keys: number): number {
  return payload[0]! % keys;
}
