/** For tests that wait for what others do in their own time. */
import { vi } from 'vitest';

/** Against tests that hang. It is no expectation: a machine that is busy with other things takes its time. */
const timeoutMs = 300_000;

/** Resolves with what `check` returns once it throws no more. It is asked every `interval` milliseconds. @throws what it threw last, after five minutes */
export function eventually<T>(
  check: () => T | Promise<T>,
  { interval = 50 }: { readonly interval?: number } = {},
): Promise<T> {
  return vi.waitFor(check, { timeout: timeoutMs, interval });
}
