/** What everybody relies on in every Timers, as one suite that the system's clock and simulated time run against themselves. */
import { describe, expect, it } from 'vitest';
import type { Timers } from '../clock.ts';

export interface TimersFixture {
  readonly timers: Timers;
  /** Lets time pass until that holds. @throws Error if it does not come to hold */
  readonly until: (holds: () => boolean) => Promise<void>;
}

export function describeTimers(name: string, open: () => TimersFixture): void {
  describe(`the contract of timers: ${name}`, () => {
    it('call back once, and not before their time', async () => {
      const { timers, until } = open();
      const askedAtMs = timers.nowMs();
      const calledAtMs: number[] = [];
      timers.after(20, () => calledAtMs.push(timers.nowMs()));
      await until(() => timers.nowMs() > askedAtMs + 60);
      expect(calledAtMs).toHaveLength(1);
      // The system's timers count whole milliseconds.
      expect(calledAtMs[0]! - askedAtMs).toBeGreaterThan(18.9);
    });

    it('call back in the order of their times, and of asking at the same time', async () => {
      const { timers, until } = open();
      const told: string[] = [];
      timers.after(30, () => told.push('late'));
      timers.after(10, () => told.push('first'));
      timers.after(10, () => told.push('second'));
      await until(() => told.length === 3);
      expect(told).toEqual(['first', 'second', 'late']);
    });

    it('do not call back what was given up, however often that is said', async () => {
      const { timers, until } = open();
      const told: string[] = [];
      const cancel = timers.after(5, () => told.push('never'));
      cancel();
      cancel();
      timers.after(15, () => told.push('over'));
      await until(() => told.includes('over'));
      expect(told).toEqual(['over']);
    });

    it('call again and again until they are stopped, from within their own call, too', async () => {
      const { timers, until } = open();
      let calls = 0;
      const stop = timers.every(5, () => {
        calls += 1;
        if (calls === 3) stop();
      });
      let isOver = false;
      await until(() => calls === 3);
      timers.after(20, () => {
        isOver = true;
      });
      await until(() => isOver);
      expect(calls).toBe(3);
    });

    it('call soon when all that waits for promises has run, in the order of asking', async () => {
      const { timers, until } = open();
      const told: string[] = [];
      timers.soon(() => told.push('soon'));
      timers.soon(() => told.push('then'));
      void (async () => {
        for (let n = 0; n < 20; n++) await Promise.resolve();
        told.push('promises');
      })();
      told.push('at once');
      await until(() => told.length === 4);
      expect(told).toEqual(['at once', 'promises', 'soon', 'then']);
    });

    it('tell a time that never goes back', async () => {
      const { timers, until } = open();
      const told = [timers.nowMs()];
      for (let n = 1; n <= 5; n++) timers.after(n, () => told.push(timers.nowMs()));
      await until(() => told.length === 6);
      expect(told).toEqual(told.toSorted((one, other) => one - other));
    });
  });
}
