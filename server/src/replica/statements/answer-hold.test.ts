import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { Slot } from '../../multipaxos/types/names.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { AnswerHold, holdMsMax } from './answer-hold.ts';

function setUp() {
  const timers = new SimulatedTime();
  const story: string[] = [];
  const hold = new AnswerHold(timers, pino({ level: 'silent' }), (slot) => story.push(`awaits ${slot}`));
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
  hold.kept(6 as Slot);
  pass('c');
  expect(story).toEqual(['tells a', 'awaits 7']);
  hold.kept(7 as Slot);
  pass('d');
  hold.kept(8 as Slot);
  expect(story.slice(2)).toEqual(['awaits null', 'tells b', 'tells c', 'tells d']);
});

it('are dropped with their database, and told without a copy where that takes too long', async () => {
  const { timers, hold, story, pass } = setUp();
  hold.begin(7 as Slot);
  pass('a');
  hold.drop();
  expect(story).toEqual(['awaits 7', 'drops a']);
  hold.begin(9 as Slot);
  pass('b');
  await timers.pass(holdMsMax - 100);
  expect(hold.awaits).toBe(9);
  await timers.pass(200);
  expect(story.slice(2)).toEqual(['awaits 9', 'awaits null', 'tells b']);
  expect(hold.awaits).toBeNull();
});
