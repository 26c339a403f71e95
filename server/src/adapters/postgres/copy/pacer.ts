/** Holds a stream of bytes to a rate that may change, or be taken away, while it runs. */
import { setTimeout as sleep } from 'node:timers/promises';

/** What was not used in the last moments may be made up for. */
const burstMs = 50;
/** Shorter waits than that are gathered: timers are no finer. */
const waitMinMs = 5;
/** So soon a change of the rate holds. */
const waitMaxMs = 500;

export interface Pacer {
  /** Resolves when as many bytes as these may have passed. */
  pass(bytes: number): Promise<void>;
}

export function createPacer(bytesPerSecondMax: () => number | null): Pacer {
  /** When the next byte is due. */
  let dueMs = performance.now();
  return {
    async pass(bytes) {
      const rate = bytesPerSecondMax();
      if (rate === null) return;
      const nowMs = performance.now();
      dueMs = Math.max(dueMs, nowMs - burstMs) + (bytes / Math.max(rate, 1)) * 1_000;
      while (dueMs - performance.now() > waitMinMs) {
        await sleep(Math.min(dueMs - performance.now(), waitMaxMs));
        if (bytesPerSecondMax() !== rate) dueMs = performance.now();
      }
    },
  };
}
