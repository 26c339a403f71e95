/** What is said of a replica hides no other one, where there is room. */
import { describe, expect, test } from 'vitest';
import { placesOf } from './places.ts';
import { popoverPlace } from './popover-place.ts';

const size = { width: 384, height: 350 };
/** At 1440 by 900. */
const stage = { width: 1_408, height: 617 };

function place(count: number, of: string, over = stage) {
  const ids = Array.from({ length: count }, (_, index) => `r${index + 1}`);
  const { nodes, radius } = placesOf([ids], over);
  return { at: popoverPlace({ stage: over, nodes, radius, of, size }), nodes, radius, ids };
}

const hides = (at: { x: number; y: number }, node: { x: number; y: number }, radius: number) =>
  node.x + radius > at.x &&
  node.x - radius < at.x + size.width &&
  node.y + radius > at.y &&
  node.y - radius < at.y + size.height;

describe('beside a replica', () => {
  test.each([1, 2, 3, 5, 7])(
    'of %i, no other is hidden, nor itself, nor what is below the stage',
    (count) => {
      for (const of of place(count, 'r1').ids) {
        const { at, nodes, radius } = place(count, of);
        const hidden = [...nodes].filter(([, node]) => hides(at!, node, radius)).map(([id]) => id);
        expect([of, ...hidden]).toEqual([of]);
        expect(at!.x).toBeGreaterThanOrEqual(0);
        expect(at!.x + size.width).toBeLessThanOrEqual(stage.width);
        expect(at!.y).toBeGreaterThanOrEqual(0);
        expect(at!.y + size.height).toBeLessThanOrEqual(stage.height);
      }
    },
  );

  test('there is no place on a stage that is too small', () => {
    expect(place(3, 'r1', { width: 390, height: 300 }).at).toBeNull();
  });
});
