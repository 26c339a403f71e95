import { expect, test } from 'vitest';
import { lonePoints } from './lone-points.ts';

test('a value with gaps on both sides is drawn as a point; those of a line are not', () => {
  expect(lonePoints([null, 3, null, 4, 5, null, 6])).toEqual([1, 6]);
  expect(lonePoints([7])).toEqual([0]);
  expect(lonePoints([1, 2, 3])).toEqual([]);
  expect(lonePoints([0, null])).toEqual([0]);
  expect(lonePoints([])).toEqual([]);
});
