import { expect, it } from 'vitest';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { AgreedAnswers, waitMsMax } from './agreed-answers.ts';

function setUp() {
  const timers = new SimulatedTime();
  const story: string[] = [];
  /** Of one other replica: two would be a majority. */
  const others = new Map<number, string>();
  const answers = new AgreedAnswers({
    timers,
    othersOn: (slot, digest) => {
      const said = others.get(slot);
      if (said === undefined) return null;
      return said === digest ? 'same' : 'otherwise';
    },
    isReached: (slot) => Math.max(0, ...others.keys()) >= slot,
  });
  const pass = (slot: number, digest: string): void =>
    answers.pass({
      name: `name of ${slot}`,
      slot,
      digest,
      tell: () => story.push(`tells ${slot} ${digest}`),
      drop: () => story.push(`drops ${slot} ${digest}`),
    });
  const say = (slot: number, digest: string): void => {
    others.set(slot, digest);
    answers.heard(slot);
  };
  return { timers, answers, story, pass, say };
}

it('an answer is told when a majority has given it, whoever comes first', () => {
  const { answers, story, pass, say } = setUp();
  pass(1, 'a');
  pass(2, 'b');
  expect(story).toEqual([]);
  expect(answers.has('name of 2')).toBe(true);
  say(2, 'b');
  say(1, 'a');
  say(3, 'c');
  pass(3, 'c');
  expect(story).toEqual(['tells 2 b', 'tells 1 a', 'tells 3 c']);
  expect(answers.has('name of 2')).toBe(false);
});

it('others who say nothing are waited for once, and again when they have come so far', async () => {
  const { timers, story, pass, say } = setUp();
  pass(1, 'a');
  await timers.pass(waitMsMax - 100);
  pass(2, 'b');
  expect(story).toEqual([]);
  await timers.pass(500);
  pass(3, 'c');
  expect(story).toEqual(['tells 1 a', 'tells 3 c']);
  await timers.pass(waitMsMax);
  pass(4, 'd');
  say(3, 'c');
  pass(5, 'e');
  expect(story.slice(2)).toEqual(['tells 2 b', 'tells 4 d']);
  say(5, 'e');
  expect(story.at(-1)).toBe('tells 5 e');
});

it('what somebody contradicts is not told, however long it takes, unless all go on from this database', async () => {
  const { timers, answers, story, pass, say } = setUp();
  pass(1, 'a');
  say(1, 'x');
  await timers.pass(20 * waitMsMax);
  expect(story).toEqual([]);
  answers.settle(1);
  expect(story).toEqual(['tells 1 a']);
  pass(2, 'b');
  say(2, 'x');
  await timers.pass(40 * waitMsMax);
  expect(story.slice(1)).toEqual(['drops 2 b']);
});

it('what is executed anew takes the place of an earlier answer, and all are dropped with their database', () => {
  const { answers, story, pass, say } = setUp();
  pass(1, 'a');
  pass(1, 'b');
  say(1, 'a');
  pass(2, 'c');
  answers.drop();
  expect(story).toEqual(['drops 1 b', 'drops 2 c']);
});
