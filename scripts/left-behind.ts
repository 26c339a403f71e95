/** Behind each file of unit tests: it has left nothing to the next file in the same process that takes its processor, or changes what its time is. */
import { performance } from 'node:perf_hooks';
import { afterAll, vi } from 'vitest';

/** In each look a process with nothing to do rests at some time. */
const lookMs = 20;
/** What was under way at the end may take so many looks. */
const looksMax = 100;

afterAll(async () => {
  if (vi.isFakeTimers()) {
    vi.useRealTimers();
    throw new Error('vi.useFakeTimers() was not undone: call vi.useRealTimers() behind each test');
  }
  for (let look = 0; look < looksMax; look += 1) {
    const before = performance.eventLoopUtilization();
    await new Promise((resolve) => setTimeout(resolve, lookMs));
    if (performance.eventLoopUtilization(before).idle > 0) return;
  }
  throw new Error('something goes on without a rest behind the last test: end it with the test');
});
