import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { FileFinding } from '../ports/database-server.ts';
import type { Slot } from '../multipaxos/types/names.ts';
import { SimulatedTime } from '../ports/testing/simulated-time.ts';
import { StatementDatabaseHealth } from './statement-database-health.ts';
import type { StatementPostgres } from './statement-database.ts';

function setUp(code: string, isCopy = false) {
  const time = new SimulatedTime();
  const story: string[] = [];
  const world = { finding: { code: 'whole' } as FileFinding, pid: null as number | null };
  const error = Object.assign(new Error('it does not start'), { code });
  const postgres = {
    instance: { onExit: () => () => undefined, pid: () => world.pid },
    isCondemned: () => Promise.resolve(false),
    start: (ended: AbortSignal) =>
      code === 'neverReady'
        ? new Promise((_, reject) => ended.addEventListener('abort', () => reject(error)))
        : Promise.reject(error),
    kept: {
      installed: () => Promise.resolve(isCopy ? { slot: 3 as Slot } : null),
      discard: () => Promise.resolve(story.push('discard')),
    },
  } as unknown as StatementPostgres;
  const health = new StatementDatabaseHealth({
    postgres,
    logger: pino({ level: 'silent' }),
    timers: time,
    room: { trouble: null, awaitedToStart: () => Promise.resolve() },
    onUp: () => undefined,
    onDown: () => undefined,
    onExecuted: () => undefined,
    files: { look: () => Promise.resolve(world.finding), restart: () => undefined },
    onDamage: () => story.push('damage'),
  });
  const executor = health.executor(() => Promise.reject(new Error('it is not made')));
  const start = (): Promise<string> =>
    executor.start().then(
      (outcome) => (outcome.code === 'inexact' ? outcome.reason : outcome.code),
      () => 'again',
    );
  return { start, executor, story, time, health, world };
}

it('a database with which PostgreSQL does not start three times in a row is given up, and at once where it says that files are damaged', async () => {
  const { start } = setUp('launchFailed');
  expect([await start(), await start(), await start()]).toEqual(['again', 'again', 'presumedDamaged']);
  // Nothing has taken its place.
  expect(await start()).toBe('presumedDamaged');
  expect(await setUp('databaseLost').start()).toBe('damaged');
});

it('settings that do not allow a start, and a full disk, cost no database', async () => {
  for (const code of ['launchRefused', 'databaseFull']) {
    const { start, story } = setUp(code, true);
    for (let times = 0; times < 10; times += 1) expect(await start()).toBe('again');
    expect(story).toEqual([]);
  }
});

it('the copy that is kept is discarded only where PostgreSQL says that its files are damaged', async () => {
  const { start, story } = setUp('launchFailed', true);
  expect([await start(), await start(), await start()]).toEqual(['again', 'again', 'presumedDamaged']);
  expect(story).toEqual([]);
});

it('what takes the place of a damaged database is given up ever more seldom', async () => {
  const { start, story, time, health } = setUp('databaseLost', true);
  expect(await start()).toBe('copyUseless');
  health.replaced();
  expect(await start()).toBe('again');
  await time.pass(30_000);
  expect(await start()).toBe('copyUseless');
  health.replaced();
  await time.pass(30_000);
  expect(await start()).toBe('again');
  expect(story).toEqual(['discard', 'discard']);
});

it('files that a running database lacks are damage when two looks in a row have found it, once in its life', async () => {
  const { story, time, health, world } = setUp('launchFailed');
  const stop = health.watchFiles();
  world.finding = { code: 'damaged', reason: 'the file base/1/2 is missing' };
  await time.pass(20_000);
  expect(story).toEqual([]);
  world.pid = 7;
  await time.pass(20_000);
  expect(story).toEqual(['damage']);
  stop();
});

it('a start that goes on for as long as PostgreSQL refuses every session ends when its life does, and is not taken for damage', async () => {
  const { start, executor, story } = setUp('neverReady', true);
  const started = start();
  // Until it is under way.
  await new Promise(setImmediate);
  await executor.stop();
  expect(await started).toBe('again');
  expect(story).toEqual([]);
});
