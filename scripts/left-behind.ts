/** Behind each file of unit tests: it has left nothing to the next file in the same process that takes its processor, or changes what its time is. */
import { afterAll, vi } from 'vitest';
import { callsMade } from '../server/src/ports/testing/simulated-time.ts';

/** What was sent before the end, a few milliseconds on its way, has arrived. */
const settleMs = 30;
const turnsToLook = 50;

afterAll(async () => {
  if (vi.isFakeTimers()) {
    vi.useRealTimers();
    throw new Error('vi.useFakeTimers() was not undone: call vi.useRealTimers() behind each test');
  }
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  const before = callsMade();
  for (let turn = 0; turn < turnsToLook; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  const since = callsMade() - before;
  if (since > 0)
    throw new Error(
      `a simulated time goes on behind the last test (${since} calls in ${turnsToLook} turns): end what lets it pass`,
    );
});
