import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { Slot } from '../../multipaxos/types/names.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { AnswerHold, holdMsMax } from './answer-hold.ts';

function setUp() {
  const timers = new SimulatedTime();
  const hold = new AnswerHold(timers, pino({ level: 'silent' }));
  const story: string[] = [];
  const pass = (name: string): void =>
    hold.pass(
      () => story.push(`tells ${name}`),
      () => story.push(`drops ${name}`),
    );
  return { timers, hold, story, pass };
}

it('answers behind an adoption are told when a copy of behind it is kept, in their order', () => {
  const { hold, story, pass } = setUp();
  pass('a');
  hold.begin(7 as Slot);
  pass('b');
  expect(hold.kept(6 as Slot)).toBe(false);
  pass('c');
  expect(story).toEqual(['tells a']);
  expect(hold.kept(7 as Slot)).toBe(true);
  pass('d');
  expect(story).toEqual(['tells a', 'tells b', 'tells c', 'tells d']);
  expect(hold.kept(8 as Slot)).toBe(false);
  // The claim of a database that begins again may be needed yet.
  hold.beginAgain();
  pass('e');
  expect(hold.kept(1 as Slot)).toBe(false);
  expect(story.at(-1)).toBe('tells e');
});

it('are dropped with their database, and told without a copy where that takes too long', async () => {
  const { timers, hold, story, pass } = setUp();
  hold.begin(7 as Slot);
  pass('a');
  hold.drop();
  expect(story).toEqual(['drops a']);
  hold.begin(9 as Slot);
  pass('b');
  await timers.pass(holdMsMax - 100);
  expect(hold.isHolding).toBe(true);
  await timers.pass(200);
  expect(story).toEqual(['drops a', 'tells b']);
  expect(hold.isHolding).toBe(false);
});
