/** The machine's monotonic clock, and the timers of the process. Invariant: never goes back, whatever happens to the wall clock. */
import { performance } from 'node:perf_hooks';
import type { Timers } from '../ports/clock.ts';

export const systemClock: Timers = {
  nowMs: () => performance.now(),
  after(ms, work) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
  every(ms, work) {
    const timer = setInterval(work, ms);
    return () => clearInterval(timer);
  },
  soon(work) {
    setImmediate(work);
  },
};
