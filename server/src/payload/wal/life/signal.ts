/** Something has changed: whoever waits looks again. */
import type { Timers } from '../../../ports/clock.ts';

export class Signal {
  private readonly timers: Pick<Timers, 'after'>;
  private waiters: (() => void)[] = [];

  constructor(timers: Pick<Timers, 'after'>) {
    this.timers = timers;
  }

  notify(): void {
    const waiters = this.waiters;
    this.waiters = [];
    for (const wake of waiters) wake();
  }

  /** Resolves at the next `notify`, or when the time is up. */
  wait(maxMs = 1_000): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        cancel();
        resolve();
      };
      const cancel = this.timers.after(maxMs, () => {
        this.waiters = this.waiters.filter((other) => other !== wake);
        resolve();
      });
      this.waiters.push(wake);
    });
  }
}
