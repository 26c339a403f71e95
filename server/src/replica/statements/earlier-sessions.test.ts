import { describe, expect, it } from 'vitest';
import type { Operation } from '../../payload/statements/operation.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { EarlierSessions } from './earlier-sessions.ts';

function setUp(answers: boolean[]) {
  const submitted: Operation[] = [];
  const timers = new SimulatedTime();
  const earlier = new EarlierSessions({
    prefix: 'abcd',
    name: 'cd'.repeat(16),
    timers,
    submit: (operation) => {
      submitted.push(operation);
      return Promise.resolve(answers.shift() ?? false);
    },
  });
  return { earlier, submitted, timers };
}

describe('sessions of an earlier life', () => {
  it('are closed, however often that must be asked for, before others are opened', async () => {
    const { earlier, submitted, timers } = setUp([false, false, true]);
    void earlier.close();
    let isOpened = false;
    const opened = earlier.whenOver().then(() => {
      isOpened = true;
    });
    await timers.pass(1_500);
    expect([submitted.length, isOpened, earlier.isOver]).toEqual([2, false, false]);
    await timers.pass(1_000);
    await opened;
    expect(earlier.isOver).toBe(true);
    expect(submitted).toEqual(
      Array.from({ length: 3 }, () => ({ kind: 'closeAll', name: 'cd'.repeat(16), prefix: 'abcd' })),
    );
  });

  it('hold up a client for so long only', async () => {
    const { earlier, timers } = setUp([]);
    void earlier.close();
    const waited = earlier.whenOver();
    await timers.pass(15_000);
    await waited;
    expect(earlier.isOver).toBe(false);
    earlier.stop();
  });

  it('are none in a first life', async () => {
    const { earlier, submitted } = setUp([]);
    earlier.none();
    await earlier.whenOver();
    expect(submitted).toEqual([]);
  });
});
