/** Holds the run of a page to the specifications, in a Worker: that takes seconds, which the page goes on in. */
import '../sim/browser/globals.ts';
import type { FromChecker, ToChecker } from '../src/spec/check-protocol.ts';
import { answer } from './answer.ts';

/** As much of a Worker's own scope as is needed here. */
interface WorkerScope {
  addEventListener(name: 'message', listener: (event: { readonly data: ToChecker }) => void): void;
  postMessage(message: FromChecker, transfer: readonly never[]): void;
}

const scope = globalThis as unknown as WorkerScope;
scope.addEventListener('message', ({ data }) => {
  void answer(data.events, (message) => scope.postMessage(message, []));
});
