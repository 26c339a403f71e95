import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { Loss } from '../../ports/database-directory.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { HandOverOutcome } from '../consensus/hand-over.ts';
import { DamagedLeader } from './damaged-leader.ts';

const loss: Loss = { cause: 'databaseLost', reason: 'a page is wrong' };
const noSuccessor: HandOverOutcome = { code: 'noSuccessor', reason: 'r2 is restoring.' };

function setUp() {
  const time = new SimulatedTime();
  const world = { serves: true, outcome: noSuccessor };
  const story: string[] = [];
  const leader = new DamagedLeader({
    serves: () => world.serves,
    handOver: () => {
      story.push(`hand over at ${time.nowMs()}`);
      if (world.outcome.code === 'done') world.serves = false;
      return Promise.resolve(world.outcome);
    },
    lose: ({ reason }) => story.push(`lost: ${reason}`),
    timers: time,
    logger: pino({ level: 'silent' }),
  });
  const done = (): void => {
    world.outcome = { code: 'done', leader: 'r2' as ReplicaId, tookMs: 1 };
  };
  return { leader, time, story, world, done };
}

it('a replica that does not serve gives its damaged database up at once', () => {
  const { leader, story, world } = setUp();
  world.serves = false;
  leader.found(loss);
  leader.doubted('a file is missing');
  expect([story, leader.word]).toEqual([['lost: a page is wrong'], null]);
});

it('one that serves is asked to hand over first, ever more seldom, and gives it up then', async () => {
  const { leader, story, time, done } = setUp();
  leader.found(loss);
  await time.pass(15_000);
  expect(story).toEqual([0, 2_000, 6_000, 14_000].map((at) => `hand over at ${at}`));
  expect(leader.word).toBe(
    'The database is damaged, and serves on: a page is wrong. No other replica can lead: r2 is restoring.',
  );
  done();
  await time.pass(16_000);
  expect(story.slice(4)).toEqual(['hand over at 30000', 'lost: a page is wrong']);
});

it('doubt hands over, too, and costs no database; where it has passed nothing more is tried', async () => {
  const { leader, story, time, done } = setUp();
  leader.doubted('a file is missing');
  await time.pass(10);
  leader.doubted(null);
  await time.pass(60_000);
  expect([story.length, leader.word]).toEqual([2, null]);
  done();
  leader.doubted('a file is missing');
  await time.pass(10);
  expect(story.slice(2)).toEqual([expect.stringMatching(/^hand over/)]);
});

it('what was found in another life of the database is forgotten', async () => {
  const { leader, story, time } = setUp();
  leader.found(loss);
  await time.pass(10);
  leader.renew();
  await time.pass(60_000);
  expect([story, leader.word]).toEqual([['hand over at 0'], null]);
});
