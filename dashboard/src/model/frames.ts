/**
 * What the stream at /api/stream carries, and the check that a frame has the shape of one.
 *
 * Does not look inside statuses and events: they come from the server of the same build, by the types in server/src/api.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { LoadStatus } from '../../../server/src/api/load.ts';
import type { ClusterStatus } from '../../../server/src/api/status.ts';

/** Measured over the seconds before the frame. Latencies: until a range of WAL was chosen; 0 where there was none. */
export interface ReplicaRates {
  readonly transactionsPerSecond: number;
  readonly readsPerSecond: number;
  readonly appliedPerSecond: number;
  readonly latencyMsP50: number;
  readonly latencyMsP99: number;
}

export type Frame =
  | { readonly type: 'cluster'; readonly cluster: ClusterStatus }
  | { readonly type: 'events'; readonly events: readonly TraceEvent[] }
  /** `at`: milliseconds since the epoch. */
  | {
      readonly type: 'rates';
      readonly at: number;
      readonly perReplica: Readonly<Record<string, ReplicaRates>>;
    }
  /** Where the run has a load of its own. */
  | { readonly type: 'load'; readonly load: LoadStatus };

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** The frame, or null if `text` is none. */
export function parseFrame(text: string): Frame | null {
  try {
    return frameOf(JSON.parse(text));
  } catch {
    return null;
  }
}

/** The frame, or null if `value` is none. */
export function frameOf(value: unknown): Frame | null {
  if (!isRecord(value)) return null;
  switch (value['type']) {
    case 'cluster': {
      const cluster = value['cluster'];
      return isRecord(cluster) && Array.isArray(cluster['replicas']) ? (value as unknown as Frame) : null;
    }
    case 'events':
      return Array.isArray(value['events']) ? (value as unknown as Frame) : null;
    case 'rates':
      return typeof value['at'] === 'number' && isRecord(value['perReplica'])
        ? (value as unknown as Frame)
        : null;
    case 'load': {
      const load = value['load'];
      return isRecord(load) && isRecord(load['counts']) ? (value as unknown as Frame) : null;
    }
    default:
      return null;
  }
}
