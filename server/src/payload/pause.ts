/** Waiting for a time. A signal ends it early, and nothing is left behind on a signal that outlives it. */
import type { Timers } from '../ports/clock.ts';

/** Never rejects. */
export function pause(timers: Pick<Timers, 'after'>, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve();
      return;
    }
    const finish = (): void => {
      cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const cancel = timers.after(ms, finish);
    signal?.addEventListener('abort', finish);
  });
}
