/**
 * The chosen prefix of a log as a plain array, and entries to put into it, for tests of ordered apply.
 *
 * It is read as a log store is: at least one entry if there is one, and nothing of what has been purged.
 */
import type { Ballot, Entry, GroupId, ReplicaId, Slot, SlotEntry } from '../../multipaxos/types.ts';
import { encodePayload, encodeVerify } from '../payload.ts';

export const group = 'g' as GroupId;
/** Who leads unless told otherwise. */
export const leadership: Ballot = { round: 1, replica: 'r1' as ReplicaId };
export const start: Entry = { kind: 'leaderStart', group, ballot: leadership };
export const noop: Entry = { kind: 'noop', group };

interface TransactionShape {
  readonly part: number;
  readonly last: boolean;
  readonly partSlots: readonly number[];
  readonly leadership: Ballot;
}

/** A transaction without effects; the last of its parts, and the only one unless told otherwise. */
export function transaction(id: string, shape: Partial<TransactionShape> = {}): Entry {
  const {
    part: index,
    last,
    partSlots,
    ...rest
  } = { part: 0, last: true, partSlots: [], leadership, ...shape };
  const slots = partSlots as readonly Slot[];
  const payload = { transaction: id, part: index, last, partSlots: slots, ...rest, effects: [], sql: [] };
  return {
    kind: 'command',
    group,
    proposal: { client: id, request: index },
    payload: encodePayload(payload),
  };
}

/** A part of a large transaction, but not its last. */
export function part(id: string, index: number): Entry {
  return transaction(id, { part: index, last: false });
}

export function check(name: string): Entry {
  return { kind: 'command', group, proposal: { client: name, request: 1 }, payload: encodeVerify(name) };
}

/** Of ordered apply: a few entries are more than a batch or the queue takes. */
export const smallBounds = { batchEntriesMax: 3, batchBytesMax: 1 << 20, queueEntriesMax: 5 };

/** Slot 1 is index 0. */
export class ArrayLog {
  readonly entries: Entry[] = [];
  purgedTo = 0;

  /** @returns them with the slots that they have now */
  append(entries: readonly Entry[]): SlotEntry[] {
    const first = this.entries.length + 1;
    this.entries.push(...entries);
    return entries.map((entry, index) => ({ slot: (first + index) as Slot, entry }));
  }

  read(from: Slot, to: Slot, bytesMax: number): Promise<Entry[]> {
    if (from <= this.purgedTo) return Promise.resolve([]);
    return Promise.resolve(this.entries.slice(from - 1, bytesMax === 1 ? from : to));
  }
}
