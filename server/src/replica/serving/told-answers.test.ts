import { expect, it } from 'vitest';
import type { LeaseTraceEvent } from '../../api/events.ts';
import { ToldAnswers } from './told-answers.ts';

function setUp() {
  const events: LeaseTraceEvent[] = [];
  const world = { isWanted: true };
  const told = new ToldAnswers({
    isWanted: () => world.isWanted,
    lease: () => null,
    onEvent: (event) => events.push(event),
    everyMs: 5,
  });
  const leave = (nowMs: number, generation = 1): void => told.leaves({ generation, ranMs: nowMs - 1, nowMs });
  const clocks = (): (readonly [string, number])[] => events.map(({ name, clockMs }) => [name, clockMs]);
  return { told, world, events, leave, clocks };
}

it('of answers that leave close behind each other one is told, and of another generation the next', () => {
  const { leave, clocks, events } = setUp();
  for (const nowMs of [10, 11, 14.9, 15, 16]) leave(nowMs);
  leave(17, 2);
  expect(clocks()).toEqual([
    ['AnswerRead', 10],
    ['AnswerRead', 15],
    ['AnswerRead', 17],
  ]);
  expect(events[0]).toEqual({ name: 'AnswerRead', clockMs: 10, generation: 1, ranMs: 9, lease: null });
});

it('a refusal is told once, until an answer leaves again', () => {
  const { told, leave, clocks } = setUp();
  for (const nowMs of [1, 2, 3]) told.refused(1, nowMs);
  leave(4);
  told.refused(1, 5);
  expect(clocks()).toEqual([
    ['RefuseAnswer', 1],
    ['AnswerRead', 4],
    ['RefuseAnswer', 5],
  ]);
});

it('nothing is told where nobody wants to know, and from the first answer on where somebody does', () => {
  const { told, world, leave, clocks } = setUp();
  world.isWanted = false;
  leave(1);
  told.refused(1, 2);
  world.isWanted = true;
  leave(3);
  expect(clocks()).toEqual([['AnswerRead', 3]]);
});
