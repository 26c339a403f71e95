import { expect, test } from 'vitest';
import { isPatienceOver } from './patience.ts';
import type { State } from './state.ts';

const at = (nowMs: number, random: number): boolean =>
  isPatienceOver({ nowMs, random, config: { retransmitMs: 300 } } as State, 1000);

test('what was not answered is sent again after the time that is configured, a quarter sooner or later', () => {
  expect([at(1224, 0), at(1225, 0)]).toEqual([false, true]);
  expect([at(1299, 0.5), at(1300, 0.5)]).toEqual([false, true]);
  expect([at(1373, 0.999), at(1375, 0.999)]).toEqual([false, true]);
});
