/** The machine's monotonic clock. Invariant: never goes back, whatever happens to the wall clock. */
import { performance } from 'node:perf_hooks';
import type { Clock } from '../ports/clock.ts';

export const systemClock: Clock = {
  nowMs: () => performance.now(),
};
