import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import type { Slot } from '../multipaxos/types.ts';
import { createAppliedSet, isApplied, markApplied } from './applied-set.ts';

describe('the applied set', () => {
  it('moves its pointer over a gap only once the gap is filled', () => {
    const set = createAppliedSet(4 as Slot);
    expect(markApplied(set, 6 as Slot)).toBe(false);
    expect(set.pointer).toBe(4);
    expect(markApplied(set, 5 as Slot)).toBe(true);
    expect(set.pointer).toBe(6);
    expect(set.above.size).toBe(0);
  });

  it('starts behind what the database has above its pointer', () => {
    const set = createAppliedSet(2 as Slot, [3, 4, 7] as Slot[]);
    expect(set.pointer).toBe(4);
    expect([...set.above]).toEqual([7]);
  });

  it('says the same as a plain set of slots, in whatever order they come', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 80 }), (slots) => {
        const set = createAppliedSet(0 as Slot);
        const plain = new Set<number>();
        for (const slot of slots) {
          markApplied(set, slot as Slot);
          plain.add(slot);
          for (let s = 1; s <= 41; s++) expect(isApplied(set, s as Slot)).toBe(plain.has(s));
          expect(plain.has(set.pointer + 1)).toBe(false);
        }
      }),
    );
  });
});
