import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { Slot } from '../multipaxos/types/names.ts';
import { SimulatedTime } from '../ports/testing/simulated-time.ts';
import type { Beginning } from './statement-copies.ts';
import { type ReplacementOptions, StatementReplacement } from './statement-replacement.ts';

function setUp(beginning: Beginning, fetched: 'here' | 'none' | 'ended' = 'here') {
  const disk = { isFull: false };
  const time = new SimulatedTime();
  const story: string[] = [];
  const note =
    <T>(what: string, result: T) =>
    (...details: readonly (string | number | boolean)[]): T => {
      story.push([what, ...details].join(' '));
      return result;
    };
  const done = Promise.resolve();
  const isSomebodyBeyond = { now: true };
  const options: ReplacementOptions = {
    copies: {
      keeper: { cleared: () => done },
      beginning: () => Promise.resolve(beginning),
      fetch: ({ cause, asksOnce, atLeast }) =>
        note('fetch', Promise.resolve(fetched))(cause, asksOnce(), atLeast),
    },
    database: {
      awaitsCopy: note('awaits a copy', undefined),
      beginsAnew: note('begins anew', undefined),
      beginsFromCopy: note('begins from', undefined),
      replaced: note('replaced', undefined),
      triedAgain: note('tried again', undefined),
    },
    postgres: {
      instance: { stop: note('stop', done) },
      setAside: note('set aside', done),
      restore: () =>
        disk.isFull
          ? note('full', Promise.reject(Object.assign(new Error(''), { code: 'ENOSPC' })))()
          : note('restore', done)(),
      forget: note('forget', done),
    },
    renew: (between) => between(),
    onReplaced: (isOfAnother) => void story.push(isOfAnother ? 'on another' : 'on its own'),
    isSomebodyBeyond: () => isSomebodyBeyond.now,
    timers: time,
    logger: pino({ level: 'silent' }),
    onFatal: ({ message }) => void story.push(message),
  };
  return { story, isSomebodyBeyond, disk, time, replacement: new StatementReplacement(options) };
}

it('a database that no attempt brings up is tried again where nobody has a copy, as often as that is found', async () => {
  const { story, replacement } = setUp({ code: 'another' }, 'none');
  await replacement.begin('presumedDamaged');
  const once = [
    'awaits a copy presumedDamaged',
    'fetch databaseLost true 0',
    'stop immediate',
    'tried again presumedDamaged',
  ];
  expect(story).toEqual(once);
  await replacement.begin('presumedDamaged');
  expect(story).toEqual([...once, ...once]);
});

it('a database that no attempt brings up is set aside once a copy is here', async () => {
  const { story, replacement } = setUp({ code: 'another' });
  await replacement.begin('presumedDamaged');
  expect(story).toEqual([
    'awaits a copy presumedDamaged',
    'fetch databaseLost true 0',
    'set aside',
    'restore',
    'replaced',
    'on another',
  ]);
});

it('a database of which PostgreSQL says that it is damaged waits for a copy without end', async () => {
  const { story, replacement } = setUp({ code: 'another' });
  await replacement.begin('damaged');
  expect(story[1]).toBe('fetch databaseLost false 0');
});

it('a database that went another way is made equal, and not set aside; the log may have all of it', async () => {
  const kept = setUp({ code: 'copy', slot: 7 as Slot });
  await kept.replacement.begin('halfDone');
  expect(kept.story).toEqual(['begins from halfDone 7', 'restore', 'on its own']);
  const anew = setUp({ code: 'anew' });
  await anew.replacement.begin('sequences');
  expect(anew.story).toEqual(['begins anew sequences', 'forget', 'on its own']);
});

it('nothing is replaced once the replica ends', async () => {
  const { story, replacement } = setUp({ code: 'another' }, 'ended');
  await replacement.begin('logPurged');
  expect(story).toEqual(['awaits a copy logPurged', 'fetch logPurged false 0']);
});

it('where the group goes on from another database only a copy of behind that is of use, asked for as long as somebody has it', async () => {
  const { story, isSomebodyBeyond, replacement } = setUp({ code: 'another' });
  await replacement.begin('adopted', 9 as Slot);
  expect(story).toEqual(['awaits a copy adopted', 'fetch logPurged false 9', 'restore', 'on another']);
  isSomebodyBeyond.now = false;
  await replacement.begin('adopted', 9 as Slot);
  expect(story).toContain('fetch logPurged true 9');
});

it('a full disk is waited for, and does not end the replica', async () => {
  const { story, disk, time, replacement } = setUp({ code: 'copy', slot: 7 as Slot });
  disk.isFull = true;
  const begun = replacement.begin('halfDone');
  await time.pass(6_000);
  expect(story).toEqual(['begins from halfDone 7', 'full', 'full']);
  disk.isFull = false;
  await time.until(begun);
  expect(story.slice(3)).toEqual(['restore', 'on its own']);
});
