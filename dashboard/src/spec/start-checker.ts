/** The conformance check in a Worker of this page: for one verdict. */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { FromChecker, ToChecker, Verdict } from './check-protocol.ts';

export interface Check {
  readonly verdict: Promise<Verdict>;
  /** Nobody wants to know any more. */
  stop(): void;
}

export function startCheck(
  events: readonly TraceEvent[],
  onProgress: (done: number, all: number) => void,
): Check {
  const worker = new Worker(new URL('../../check/check-worker.ts', import.meta.url), { type: 'module' });
  const verdict = new Promise<Verdict>((resolve, reject) => {
    worker.addEventListener('message', ({ data }: MessageEvent<FromChecker>) => {
      if (data.kind === 'progress') onProgress(data.done, data.all);
      else if (data.kind === 'verdict') resolve(data.verdict);
      else reject(new Error(`the check has failed: ${data.message}`));
    });
    worker.addEventListener('error', ({ message }) => reject(new Error(`the check has failed: ${message}`)));
  }).finally(() => worker.terminate());
  const order: ToChecker = { kind: 'check', events };
  worker.postMessage(order, []);
  return { verdict, stop: () => worker.terminate() };
}
