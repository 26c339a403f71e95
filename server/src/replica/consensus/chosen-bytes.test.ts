import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { SlotEntry } from '../../multipaxos/types/entries.ts';
import type { GroupId, Slot } from '../../multipaxos/types/names.ts';
import { ChosenBytes } from './chosen-bytes.ts';

const group = 'main' as GroupId;
function command(slot: number, bytes: number): SlotEntry {
  const proposal = { client: 'r1', request: slot };
  return {
    slot: slot as Slot,
    entry: { kind: 'command', group, proposal, payload: new Uint8Array(bytes) },
  };
}

it('what lies above a slot is never told as less than it is, and by the bytes of a few slots more at most', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 400 }),
      fc.integer({ min: 0, max: 10_000 }),
      (sizes, below) => {
        const bytes = new ChosenBytes();
        sizes.forEach((size, index) => bytes.add([command(below + 1 + index, size)]));
        sizes.forEach((_, index) => {
          const above = sizes.slice(index + 1).reduce((sum, size) => sum + size, 0);
          const told = bytes.above((below + 1 + index) as Slot);
          expect(told).toBeGreaterThanOrEqual(above);
          expect(told).toBeLessThanOrEqual(above + 16 * 50);
        });
        expect(bytes.above((below + sizes.length) as Slot)).toBe(0);
        expect(bytes.above((below + sizes.length + 9) as Slot)).toBe(0);
      },
    ),
  );
});

it('of what was chosen before it began to count nothing is known', () => {
  const bytes = new ChosenBytes();
  bytes.add([command(100, 7), command(101, 5)]);
  expect(bytes.above(3 as Slot)).toBe(12);
  expect(bytes.above(99 as Slot)).toBe(12);
});

it('a million slots are remembered at a thousand places', () => {
  const bytes = new ChosenBytes();
  const one = command(1, 1);
  for (let slot = 1; slot <= 1_000_000; slot += 1) bytes.add([{ ...one, slot: slot as Slot }]);
  for (const slot of [1, 1000, 500_000, 999_000]) {
    const told = bytes.above(slot as Slot);
    expect(told).toBeGreaterThanOrEqual(1_000_000 - slot);
    expect(told).toBeLessThanOrEqual(1_000_000 - slot + 2048);
  }
});
