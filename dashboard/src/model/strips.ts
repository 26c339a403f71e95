/** The replicas' logs side by side, ready to draw: each one's pointers, and its cell for any slot. */
import type { ClusterStatus } from '../../../server/src/api/status.ts';
import { formatCount } from './format.ts';
import type { EntryLabel } from '../../../server/src/multipaxos/types/names.ts';
import { cellAt, emptyLog, pointersOf } from './replica-log.ts';
import type { Cell, LogPointers } from './replica-log.ts';
import type { TraceModel } from './trace-model.ts';

export interface Strip {
  readonly id: string;
  readonly stopped: boolean;
  /** Nobody has told where it stands: its process has just been started. */
  readonly isUnknown: boolean;
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
      isUnknown: replica.status === null && (log.run === null || log.isOver),
      pointers,
      cellAt: (slot) => cellAt(log, pointers, slot),
    };
  });
}

/** What stands in a slot: chosen, if a replica knows of it, else what one has voted for. Null: nobody told. */
export function labelAt(strips: readonly Strip[], slot: number): EntryLabel | null {
  let found: EntryLabel | null = null;
  for (const strip of strips) {
    const { kind, vote } = strip.cellAt(slot);
    if (vote === null) continue;
    if (kind === 'chosen' || kind === 'applied') return vote.label;
    found ??= vote.label;
  }
  return found;
}

/** How far behind what is chosen its PostgreSQL is, in a few characters. */
export function lagText({ stopped, isUnknown, pointers }: Strip, chosen: number): string {
  if (stopped) return 'down';
  if (isUnknown) return 'no word';
  const slots = chosen - pointers.applicationPointer;
  return slots <= 0 ? 'in step' : `−${formatCount(slots)}`;
}
