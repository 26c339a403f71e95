/** The replicas' logs side by side, ready to draw: each one's pointers, and its cell for any slot. */
import type { ClusterStatus } from '../../../server/src/api/status.ts';
import { cellAt, emptyLog, pointersOf } from './replica-log.ts';
import type { Cell, LogPointers } from './replica-log.ts';
import type { TraceModel } from './trace-model.ts';

export interface Strip {
  readonly id: string;
  readonly stopped: boolean;
  readonly pointers: LogPointers;
  readonly cellAt: (slot: number) => Cell;
}

export function stripsOf(cluster: ClusterStatus, trace: TraceModel): readonly Strip[] {
  return cluster.replicas.map((replica) => {
    const log = trace.logs.get(replica.id) ?? emptyLog;
    const pointers = pointersOf(log, replica.status);
    return {
      id: replica.id,
      stopped: replica.process === 'stopped',
      pointers,
      cellAt: (slot) => cellAt(log, pointers, slot),
    };
  });
}
