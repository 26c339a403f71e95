/** A benchmark that Ctrl-C ends in order, and that says what it is doing. */
import { BenchError } from './bench-error.ts';

export interface Shell {
  readonly signal: AbortSignal;
  /** Of `performance.now()`. */
  readonly startedMs: number;
  readonly progress: (line: string) => void;
}

/** @throws Error in plain words, a BenchError if a signal ended it */
export async function interruptible<T>(run: (shell: Shell) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const stop = (): void => {
    if (!abort.signal.aborted) console.error('\nending everything that was started');
    abort.abort(new BenchError('The benchmark was ended before it was done.'));
  };
  // They stay in place: a second Ctrl-C must not cut the ending short.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop);
  try {
    const startedMs = performance.now();
    const progress = (line: string): void => {
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(0).padStart(4);
      console.error(`${seconds} s  ${line}`);
    };
    return await run({ signal: abort.signal, startedMs, progress });
  } catch (error) {
    // What fails because everything is being ended is not worth a word of its own.
    throw abort.signal.aborted ? (abort.signal.reason as Error) : error;
  } finally {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(name, stop);
  }
}

const lastWordsMs = 10_000;

/** `work`, or the signal's reason some seconds after the signal, even if the work waits for somebody who never answers. */
export function heeding<T>(signal: AbortSignal, work: Promise<T>, graceMs = lastWordsMs): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const giveUp = (): void => {
      timer = setTimeout(() => reject(signal.reason as Error), graceMs);
    };
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp, { once: true });
    const over = (): void => {
      signal.removeEventListener('abort', giveUp);
      clearTimeout(timer);
    };
    work.then(resolve, reject).finally(over);
  });
}
