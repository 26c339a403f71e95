/** Waiting: for a time, or for an answer. A signal ends it early, and nothing is left behind on a signal that outlives it. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // It rejects for the signal only.
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

/** What `work` comes to. @throws its error; Error if it has not come to anything within the time; the signal's reason */
export async function within<T>(work: Promise<T>, maxMs: number, signal: AbortSignal): Promise<T> {
  // Not AbortSignal.any: what that makes stays with the signals that it was made of.
  const over = new AbortController();
  const end = (): void => over.abort();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  const late = pause(maxMs, over.signal).then(() => {
    signal.throwIfAborted();
    throw new Error(`there was no answer within ${maxMs} ms`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    signal.removeEventListener('abort', end);
    late.catch(() => undefined);
    end();
  }
}
