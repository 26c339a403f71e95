/**
 * Something has changed: whoever waits looks again.
 *
 * What comes with every slot only stirs: those who wait patiently look once for all that comes within `stirMs`, for looking costs more than a slot's own work.
 * Invariant: each wait ends, by what has changed or by its time.
 */
import type { Timers } from '../../../ports/clock.ts';

const stirMs = 10;

type Waiters = Set<() => void>;

export class Signal {
  private readonly timers: Pick<Timers, 'after'>;
  private readonly waiting: Waiters = new Set();
  private readonly patient: Waiters = new Set();
  private stirring = false;

  constructor(timers: Pick<Timers, 'after'>) {
    this.timers = timers;
  }

  notify(): void {
    wakeAll(this.waiting);
    wakeAll(this.patient);
  }

  /** Those who wait patiently hear of it a little later. */
  stir(): void {
    wakeAll(this.waiting);
    if (this.stirring || this.patient.size === 0) return;
    this.stirring = true;
    this.timers.after(stirMs, () => {
      this.stirring = false;
      wakeAll(this.patient);
    });
  }

  /** Resolves at the next `notify` or `stir`, or when the time is up. */
  wait(maxMs = 1_000): Promise<void> {
    return this.waitAmong(this.waiting, maxMs);
  }

  /** Resolves at the next `notify`, some milliseconds after the first `stir`, or when the time is up. */
  waitPatiently(maxMs: number): Promise<void> {
    return this.waitAmong(this.patient, maxMs);
  }

  private waitAmong(waiters: Waiters, maxMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        waiters.delete(wake);
        cancel();
        resolve();
      };
      const cancel = this.timers.after(maxMs, wake);
      waiters.add(wake);
    });
  }
}

function wakeAll(waiters: Waiters): void {
  for (const wake of waiters) wake();
}
