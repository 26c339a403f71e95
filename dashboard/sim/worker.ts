/** The simulator in a Worker of the browser. */
import './browser/globals.ts';
import type { ToSimulator } from '../src/run/simulated/protocol.ts';
import { Simulator } from './simulator.ts';

/** As much of a Worker's own scope as is needed here. */
interface WorkerScope {
  addEventListener(name: 'message', listener: (event: { readonly data: ToSimulator }) => void): void;
  postMessage(message: object, transfer: readonly never[]): void;
}

const scope = globalThis as unknown as WorkerScope;
const simulator = new Simulator((message) => scope.postMessage(message, []));
scope.addEventListener('message', ({ data }) => simulator.hear(data));
