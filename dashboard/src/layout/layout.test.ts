import { describe, expect, test } from 'vitest';
import { linkShape, ringPositions } from './ring.ts';
import type { Point } from './ring.ts';
import { rowWindow } from './row-window.ts';
import { axisSlots, columnsFor, revealSlot, slotAt, stripWindow, tailFrom } from './strip-window.ts';

const distance = (a: Point, b: Point): number => Math.hypot(a.x - b.x, a.y - b.y);

describe('the ring', () => {
  test('puts the first replica at the top and all at the same distance from the centre', () => {
    const center = { x: 100, y: 80 };
    for (const count of [1, 3, 5, 7]) {
      const positions = ringPositions(count, { center, radius: 50 });
      expect(positions).toHaveLength(count);
      expect(positions[0]!.x).toBeCloseTo(100);
      expect(positions[0]!.y).toBeCloseTo(30);
      for (const position of positions) expect(distance(position, center)).toBeCloseTo(50);
    }
  });

  test('draws the two directions of a link apart', () => {
    const options = { clearance: 30, bend: 24, labelAt: 0.5 };
    const a = { x: 0, y: 0 };
    const b = { x: 200, y: 0 };
    const there = linkShape(a, b, options);
    const back = linkShape(b, a, options);
    expect(there.label.y).toBeLessThan(0);
    expect(back.label.y).toBeGreaterThan(0);
    expect(distance(there.label, back.label)).toBeGreaterThan(20);
    expect(there.start).not.toEqual(back.end);
  });

  test('keeps arrows clear of the replicas, and puts the label nearer the sender if asked', () => {
    const a = { x: 10, y: 20 };
    const b = { x: 160, y: 220 };
    const shape = linkShape(a, b, { clearance: 30, bend: 24, labelAt: 0.3 });
    expect(distance(shape.start, a)).toBeCloseTo(30);
    expect(distance(shape.end, b)).toBeCloseTo(30);
    expect(distance(shape.label, a)).toBeLessThan(distance(shape.label, b));
    expect(shape.path).toMatch(/^M[\d.-]+ [\d.-]+ Q[\d.-]+ [\d.-]+ [\d.-]+ [\d.-]+$/);
  });
});

describe('the strips', () => {
  test('follow the end of the log with a little air behind it', () => {
    expect(stripWindow(null, 100, 20)).toEqual({ from: 82, columns: 20 });
    expect(tailFrom(100, 20) + 20 - 1).toBe(101);
  });

  test('start at slot 1 when all fits', () => {
    expect(stripWindow(null, 5, 20).from).toBe(1);
    expect(stripWindow(4, 5, 20).from).toBe(1);
  });

  test('stay where the reader put them, within the log', () => {
    expect(stripWindow(40, 100, 20).from).toBe(40);
    expect(stripWindow(-3, 100, 20).from).toBe(1);
    expect(stripWindow(500, 100, 20).from).toBe(82);
  });

  test('move only if the wanted slot is out of view', () => {
    const window = { from: 40, columns: 20 };
    expect(revealSlot(window, 59)).toBe(40);
    expect(revealSlot(window, 60)).toBe(50);
    expect(revealSlot(window, 39)).toBe(29);
    expect(revealSlot(window, 2)).toBe(1);
  });

  test('know the slot under the pointer', () => {
    const window = { from: 40, columns: 20 };
    expect(slotAt(0, window, 16)).toBe(40);
    expect(slotAt(16 * 20 - 1, window, 16)).toBe(59);
    expect(slotAt(16 * 20, window, 16)).toBeNull();
    expect(slotAt(-1, window, 16)).toBeNull();
  });

  test('have at least one column, and number their axis at round steps that do not touch and are whole', () => {
    expect(columnsFor(0, 16)).toBe(1);
    expect(columnsFor(330, 16)).toBe(20);
    expect(axisSlots({ from: 38, columns: 20 }, 16, 56)).toEqual([40, 45, 50, 55]);
    expect(axisSlots({ from: 40, columns: 21 }, 16, 56)).toEqual([45, 50, 55]);
    expect(axisSlots({ from: 1, columns: 3 }, 16, 56)).toEqual([]);
    expect(axisSlots({ from: 999, columns: 3 }, 60, 56)).toEqual([999, 1000, 1001]);
  });
});

describe('the rows', () => {
  const options = { rows: 100, rowHeight: 20, viewHeight: 200, overscan: 2 };

  test('in view are drawn, and what is left out keeps its height', () => {
    const window = rowWindow({ ...options, scrollTop: 400 });
    expect(window).toEqual({ first: 18, end: 32, above: 360, below: 1360 });
  });

  test('at both ends stop at the ends', () => {
    expect(rowWindow({ ...options, scrollTop: 0 })).toMatchObject({ first: 0, above: 0 });
    expect(rowWindow({ ...options, scrollTop: 99_999 })).toMatchObject({ end: 100, below: 0 });
  });

  test('are still there when the list has become shorter than the place scrolled to', () => {
    const window = rowWindow({ ...options, rows: 3, scrollTop: 1500 });
    expect(window).toEqual({ first: 0, end: 3, above: 0, below: 0 });
  });
});
