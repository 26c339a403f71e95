import fc from 'fast-check';
import { expect, it } from 'vitest';
import { drawSchedule, faultKinds } from './schedule.ts';

const anySeed = fc.integer({ min: 1, max: 1_000_000 });

it('the same seed draws the same schedule, and another one another', () => {
  const options = { durationMs: 180_000, kinds: faultKinds };
  const [first, again, other] = [7, 7, 8].map((seed) => drawSchedule({ ...options, seed }));
  expect(again).toEqual(first);
  expect(other).not.toEqual(first);
});

it('faults come in order and are over before the run is', () => {
  fc.assert(
    fc.property(anySeed, fc.integer({ min: 20_000, max: 600_000 }), (seed, durationMs) => {
      const schedule = drawSchedule({ seed, durationMs, kinds: faultKinds });
      for (const [index, { atMs, durationMs: forMs, number }] of schedule.entries()) {
        expect(number).toBe(index + 1);
        expect(atMs).toBeGreaterThanOrEqual(schedule[index - 1]?.atMs ?? 0);
        expect(forMs).toBeGreaterThanOrEqual(1500);
        expect(atMs + forMs).toBeLessThanOrEqual(durationMs - 6000);
      }
    }),
  );
});

it('every kind is drawn once before any is drawn again', () => {
  fc.assert(
    fc.property(anySeed, (seed) => {
      const kinds = drawSchedule({ seed, durationMs: 600_000, kinds: faultKinds }).map(({ kind }) => kind);
      for (let at = 0; at + faultKinds.length <= kinds.length; at += faultKinds.length)
        expect(new Set(kinds.slice(at, at + faultKinds.length)).size).toBe(faultKinds.length);
    }),
  );
});

it('without kinds nothing happens', () => {
  expect(drawSchedule({ seed: 1, durationMs: 60_000, kinds: [] })).toEqual([]);
});
