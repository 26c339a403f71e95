import { expect, test } from 'vitest';
import { itemForKey } from './menu-keys.ts';

test('the arrows go through a menu and round its ends, Home and End to them; other keys are not its own', () => {
  expect([0, 1, 2].map((at) => itemForKey('ArrowDown', at, 3))).toEqual([1, 2, 0]);
  expect([0, 1, 2].map((at) => itemForKey('ArrowUp', at, 3))).toEqual([2, 0, 1]);
  expect([itemForKey('ArrowDown', -1, 3), itemForKey('ArrowUp', -1, 3)]).toEqual([0, 2]);
  expect([itemForKey('Home', 1, 3), itemForKey('End', 1, 3)]).toEqual([0, 2]);
  expect(itemForKey('a', 1, 3)).toBeNull();
});
