import { expect, it } from 'vitest';
import { type Box, freePlace, hiddenAt } from './free-place.ts';

const phone = { width: 390, height: 844 };
const toast = { width: 200, height: 40 };

it('what floats stands in the lower right corner while nothing is there', () => {
  expect(freePlace(toast, phone, [], 16)).toEqual({ corner: { right: 16, bottom: 16 }, hidden: 0 });
});

it('what floats goes above what takes the whole width at the bottom, and stays at the right', () => {
  const time: Box = { left: 0, top: 600, right: 390, bottom: 844 };
  const { corner, hidden } = freePlace(toast, phone, [time], 16);
  expect(hidden).toBe(0);
  expect(corner.right).toBe(16);
  expect(corner.bottom).toBeGreaterThanOrEqual(244);
  expect(corner.bottom).toBeLessThan(256);
});

it('what floats goes beside a control, where that is nearer than above it', () => {
  const tall: Box = { left: 350, top: 100, right: 390, bottom: 844 };
  const { corner, hidden } = freePlace({ width: 100, height: 40 }, phone, [tall], 16);
  expect({ hidden, bottom: corner.bottom }).toEqual({ hidden: 0, bottom: 16 });
  expect(corner.right).toBeGreaterThanOrEqual(44);
});

it('where all is controls it covers the least of them', () => {
  const whole: Box = { left: 0, top: 0, right: 390, bottom: 844 };
  const button: Box = { left: 190, top: 790, right: 390, bottom: 844 };
  const { corner, hidden } = freePlace(toast, phone, [whole, button], 16);
  expect(hidden).toBe(208 * 48);
  expect(hiddenAt(corner, toast, phone, [button])).toBe(0);
});

it('what does not fit stands in the corner', () => {
  expect(freePlace({ width: 800, height: 900 }, phone, [], 16).corner).toEqual({ right: 16, bottom: 16 });
});
