/** For tests that wait for what others do in their own time. */
import { vi } from 'vitest';

type Waiting = { readonly timeout?: number; readonly interval?: number };

/** A machine that is busy with other things takes its time. */
const timeoutMs = 10_000;

/** Resolves with what `check` returns once it throws no more. @throws what it threw last */
export function eventually<T>(check: () => T | Promise<T>, waiting: Waiting | number = {}): Promise<T> {
  const { timeout = timeoutMs, interval = 50 } = typeof waiting === 'number' ? { timeout: waiting } : waiting;
  return vi.waitFor(check, { timeout, interval });
}
