/** Something has changed: whoever waits looks again. */

export class Signal {
  private waiters: (() => void)[] = [];

  notify(): void {
    const waiters = this.waiters;
    this.waiters = [];
    for (const wake of waiters) wake();
  }

  /** Resolves at the next `notify`, or when the time is up. */
  wait(maxMs = 1_000): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.waiters = this.waiters.filter((other) => other !== wake);
        resolve();
      }, maxMs);
      this.waiters.push(wake);
    });
  }
}
