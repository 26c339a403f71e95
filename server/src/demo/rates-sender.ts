/** Sends the rates of all replicas to whoever watches the demo, once at each call of the function that it makes. */
import { RateWindows } from './rates.ts';
import type { StreamHub } from './stream-hub.ts';
import type { Supervisor } from './supervisor.ts';

export function createRatesSender(hub: StreamHub, supervisor: Supervisor): () => void {
  const windows = new RateWindows();
  let busy = false;
  const send = async (): Promise<void> => {
    const readings = await Promise.all(
      supervisor.monitors().map(async (monitor) => [monitor.plan.id, await monitor.read()] as const),
    );
    const perReplica = windows.next(readings);
    hub.broadcast(JSON.stringify({ type: 'rates', at: Date.now(), perReplica }));
  };
  return () => {
    if (hub.clients() === 0) windows.clear();
    // A replica that is frozen answers late: then a frame is left out rather than asked for twice at a time.
    if (busy || hub.clients() === 0) return;
    busy = true;
    void send().finally(() => {
      busy = false;
    });
  };
}
