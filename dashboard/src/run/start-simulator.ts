/** The simulator in a Worker of this page. */
import type { FromSimulator } from './simulated/protocol.ts';
import type { SimulatorPort } from './simulated-source.ts';

export function startSimulator(): SimulatorPort {
  return portOf(new Worker(new URL('../../sim/worker.ts', import.meta.url), { type: 'module' }));
}

export function portOf(worker: Worker): SimulatorPort {
  return {
    post: (message) => worker.postMessage(message, []),
    listen(listener) {
      worker.addEventListener('message', ({ data }: MessageEvent<FromSimulator>) => listener(data));
      worker.addEventListener('error', ({ message }) =>
        listener({ kind: 'failed', text: `The simulator has failed: ${message}` }),
      );
    },
    end: () => worker.terminate(),
  };
}
