import { describe, expect, it } from 'vitest';
import type { SlotEntry } from '../multipaxos/types/entries.ts';
import type { GroupId, Slot } from '../multipaxos/types/names.ts';
import { ChosenQueue } from './chosen-queue.ts';

const group = 'g' as GroupId;

function item(slot: number, bytes = 10): SlotEntry {
  const proposal = { client: 'c', request: slot };
  return {
    slot: slot as Slot,
    entry: { kind: 'command', group, proposal, payload: new Uint8Array(bytes) },
  };
}
const items = (...slots: number[]): SlotEntry[] => slots.map((slot) => item(slot));
const slotsOf = (taken: readonly SlotEntry[]): number[] => taken.map(({ slot }) => slot);

describe('the queue of chosen entries', () => {
  it('gives out what follows a slot, within the bounds, and forgets what lies before', () => {
    const queue = new ChosenQueue({ entriesMax: 9, bytesMax: 1000 });
    queue.push(items(4, 5, 6, 7, 8));
    expect(slotsOf(queue.take(5 as Slot, 2, 1000))).toEqual([5, 6]);
    expect(slotsOf(queue.take(7 as Slot, 9, 15))).toEqual([7]);
    expect(slotsOf(queue.take(8 as Slot, 9, 1))).toEqual([8]);
    expect(queue.take(9 as Slot, 9, 1000)).toEqual([]);
  });

  it('has nothing if the slot was let go', () => {
    const queue = new ChosenQueue({ entriesMax: 9, bytesMax: 1000 });
    queue.push(items(4, 5));
    expect(queue.take(3 as Slot, 9, 1000)).toEqual([]);
    expect(slotsOf(queue.take(4 as Slot, 9, 1000))).toEqual([4, 5]);
  });

  it('is bounded by entries and by bytes: beyond, it holds only what comes later', () => {
    const queue = new ChosenQueue({ entriesMax: 3, bytesMax: 50 });
    queue.push(items(1, 2, 3));
    queue.push(items(4));
    queue.push(items(5));
    expect(queue.take(1 as Slot, 9, 1000)).toEqual([]);
    expect(slotsOf(queue.take(5 as Slot, 9, 1000))).toEqual([5]);
    queue.push([item(6, 30), item(7, 30)]);
    queue.push([item(8, 40)]);
    expect(queue.take(6 as Slot, 9, 1000)).toEqual([]);
    expect(slotsOf(queue.take(8 as Slot, 9, 1000))).toEqual([8]);
  });

  it('holds only what comes later if the log goes on further above', () => {
    const queue = new ChosenQueue({ entriesMax: 9, bytesMax: 1000 });
    queue.push(items(4, 5));
    queue.push(items(100, 101));
    expect(slotsOf(queue.take(4 as Slot, 9, 1000))).toEqual([]);
    queue.push(items(200));
    expect(slotsOf(queue.take(200 as Slot, 9, 1000))).toEqual([200]);
  });
});
