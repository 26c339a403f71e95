import { pino } from 'pino';
import { expect, it } from 'vitest';
import { DatabaseKeeper, type RunningDatabase } from './database-keeper.ts';

it('a keeper that is stopped during a launch leaves no PostgreSQL running', async () => {
  let running = false;
  let launched = (): void => {};
  const database = {
    onExit: () => {},
    stop: async () => {
      running = false;
    },
  } as unknown as RunningDatabase;
  const keeper = new DatabaseKeeper({
    launch: () =>
      new Promise((resolve) => {
        launched = () => {
          running = true;
          resolve(database);
        };
      }),
    logger: pino({ level: 'silent' }),
    retryMinMs: 1,
    retryMaxMs: 1,
  });
  keeper.start({ onUp: () => {}, onDown: () => {} });
  const stopped = keeper.stop();
  launched();
  await stopped;
  expect(running).toBe(false);
});
