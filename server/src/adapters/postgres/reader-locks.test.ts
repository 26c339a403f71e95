/** Which sessions of readers are ended for their locks, and when WAL may come. */
import { expect, it } from 'vitest';
import { allowedOf, hasRoom, readersToEnd } from './reader-locks.ts';

const held = (...locks: readonly number[]) =>
  locks.map((each, index) => ({ pid: index + 1, locks: each, role: 16_384 }));
const ended = (...locks: readonly number[]): readonly number[] =>
  readersToEnd(1_000, held(...locks)).map(({ pid }) => pid);

it('readers may hold a sixth of what the replay leaves', () => {
  expect(allowedOf({ entries: 6_000, replay: 0 })).toBe(1_000);
  expect(allowedOf({ entries: 6_000, replay: 3_000 })).toBe(500);
  expect(allowedOf({ entries: 6_000, replay: 7_000 })).toBe(0);
});

it('nobody is ended for what readers may hold', () => {
  expect(ended()).toEqual([]);
  expect(ended(1_000)).toEqual([]);
  expect(ended(400, 300, 300)).toEqual([]);
});

it('whoever holds most is ended first, and whoever holds little stays', () => {
  expect(ended(3, 1_000)).toEqual([2]);
  expect(ended(20, 251, 400, 0, 350)).toEqual([3, 5, 2]);
});

it('where the replay holds all, each reader that holds a lock is ended', () => {
  expect(readersToEnd(0, held(0, 1, 2)).map(({ pid }) => pid)).toEqual([3, 2]);
});

it('WAL comes while readers hold what they may, and little while they take more', () => {
  expect(hasRoom(1_000, 1_000, 1_000)).toBe(true);
  expect(hasRoom(1_000, 125, 0)).toBe(true);
  expect(hasRoom(1_000, 126, 0)).toBe(false);
  expect(hasRoom(1_000, 1_001, 2_000)).toBe(false);
  expect(hasRoom(0, 0, 5)).toBe(true);
});
