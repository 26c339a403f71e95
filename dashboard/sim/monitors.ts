/**
 * What the supervisor knows of one simulated replica, asked without a network: its last status, its readings for rates, and the faults of its links.
 *
 * Responsible for: what server/src/demo/replica-monitor.ts is responsible for, but for events. Invariant: one that is dead or stands still answers nothing; what is known of it stays, with its age.
 */
import type { ReplicaStatus } from '../../server/src/api/status.ts';
import type { ReplicaPlan } from '../../server/src/demo/layout.ts';
import type { Reading } from '../../server/src/demo/rates.ts';
import type { ReplicaMonitor } from '../../server/src/demo/replica-monitor.ts';
import type { LatencyCounts } from '../../server/src/gateways/http/latency-buckets.ts';
import type { HttpReplica } from '../../server/src/gateways/http/http-gateway.ts';

/** What one life of a replica can be asked. */
export interface Life {
  readonly replica: HttpReplica;
  readonly latencies: LatencyCounts;
}

export interface SimulatedMonitor extends ReplicaMonitor {
  /** Asks it, for the supervisor, which may do something about it; false: it does not answer. */
  look(): boolean;
  /** The same for people alone. */
  glance(): boolean;
  reading(): Reading | null;
}

export function createSimulatedMonitor(
  plan: ReplicaPlan,
  { life, nowMs }: { readonly life: () => Life | null; readonly nowMs: () => number },
  onStatus: (status: ReplicaStatus) => void,
): SimulatedMonitor {
  let status: ReplicaStatus | null = null;
  let statusAtMs = 0;
  const glance = (): boolean => {
    const now = life()?.replica.status() ?? null;
    if (now === null) return false;
    status = now;
    statusAtMs = nowMs();
    return true;
  };
  const look = (): boolean => {
    if (!glance() || status === null) return false;
    onStatus(status);
    return true;
  };
  const reading = (): Reading | null => {
    const now = life();
    if (now === null || status === null) return null;
    const { pid, counters } = status;
    return { atMs: statusAtMs, pid, counters, latencies: now.latencies.buckets() };
  };
  return {
    plan,
    status: () => status,
    ageMs: () => (status === null ? null : Math.round(nowMs() - statusAtMs)),
    look,
    glance,
    reading,
    ask: () => Promise.resolve(look() ? status : null),
    read: () => Promise.resolve(reading()),
    async setFaults(faults) {
      const now = life();
      if (now === null) throw new Error(`${plan.id} does not answer`);
      try {
        now.replica.setFaults(faults, true);
        return null;
      } catch (error) {
        if (error instanceof RangeError) return error.message;
        throw error;
      }
    },
    streamEvents: () => undefined,
    close: () => undefined,
  };
}
