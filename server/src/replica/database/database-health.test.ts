import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { Loss } from '../../ports/database-directory.ts';
import { DatabaseHealth } from './database-health.ts';

const loss: Loss = { cause: 'databaseLost', reason: 'it differs' };

function setUp() {
  const story: string[] = [];
  const noted: { end: () => void; fail: () => void }[] = [];
  const health = new DatabaseHealth({
    directory: {
      condemn: ({ reason }) => {
        story.push(`condemn: ${reason}`);
        return new Promise((resolve, reject) => {
          noted.push({ end: resolve, fail: () => reject(new Error('the disk is full')) });
        });
      },
    },
    logger: pino({ level: 'silent' }),
    lose: ({ reason }) => story.push(`lose: ${reason}`),
    stepDown: () => story.push('step down'),
  });
  return { health, story, noted };
}

it('a replica that differs leads no more, and notes that it does before a copy may take its place', async () => {
  const { health, story, noted } = setUp();
  const done = health.differs(loss, true);
  expect(health.fenced).toContain('it differs. It serves and leads no more.');
  await Promise.resolve();
  expect(story).toEqual(['step down', 'condemn: it differs']);
  noted[0]!.end();
  await done;
  expect(story.slice(2)).toEqual(['lose: it differs']);
});

it('a replica that differs is replaced though that could not be noted', async () => {
  const { health, story, noted } = setUp();
  const done = health.differs(loss, true);
  noted[0]!.fail();
  await done;
  expect(story.at(-1)).toBe('lose: it differs');
});

it('a replica that differs stands for people to look at, until its log has no room for that', async () => {
  const { health, story, noted } = setUp();
  expect(health.relieve()).toBe(false);
  const done = health.differs(loss, false);
  noted[0]!.end();
  await done;
  expect(story).toEqual(['step down', 'condemn: it differs']);
  expect(health.relieve()).toBe(true);
  expect(story.at(-1)).toBe('lose: it differs');
  health.onReplaced();
  expect([health.fenced, health.relieve()]).toEqual([null, false]);
});
