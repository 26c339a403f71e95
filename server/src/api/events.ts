/**
 * The one event format: what a replica did, for the dashboard's live stream, the recorded NDJSON trace (one event a
 * line) and the conformance check. Also produced by the simulator.
 */
import type { CoreTraceEvent, EntryLabel, ReplicaId, Slot } from '../multipaxos/types.ts';
import type { RecoveryProgress, VerifyResult } from './status.ts';

/** What ordered apply does; names of specs/OrderedApply.tla. */
export type ApplyTraceEvent =
  /** A client transaction was harvested and is about to be proposed. */
  | { readonly name: 'Harvest'; readonly label: EntryLabel; readonly sql: readonly string[] }
  /** The leader committed a chosen transaction of one of its own sessions, its slot recorded in the same transaction. */
  | { readonly name: 'CommitChosen'; readonly slot: Slot; readonly label: EntryLabel }
  /** The leader moved its pointer over slots that its sessions had committed out of order. */
  | { readonly name: 'MovePointer'; readonly applicationPointer: Slot }
  /** Chosen entries applied from the log, in slot order, in one PostgreSQL transaction with the pointer. */
  | {
      readonly name: 'ApplyBatch';
      readonly fromSlot: Slot;
      readonly toSlot: Slot;
      readonly applied: readonly (readonly [Slot, EntryLabel])[];
      readonly sql: readonly string[];
    }
  /** Everything up to the pointer is flushed in PostgreSQL. */
  | { readonly name: 'FlushDatabase'; readonly durableApplicationPointer: Slot }
  | { readonly name: 'AbortTransaction'; readonly label: EntryLabel }
  | { readonly name: 'DatabaseDown'; readonly reason: string }
  /** PostgreSQL is up (again): the pointer that it came up with, and the slots above it that are in already. */
  | { readonly name: 'DatabaseUp'; readonly applicationPointer: Slot; readonly above: readonly Slot[] };

/** Things worth showing that no spec knows. */
export type OperationalEvent =
  | { readonly name: 'ReplicaStarted'; readonly pid: number }
  | { readonly name: 'PeerConnected' | 'PeerLost'; readonly peer: ReplicaId }
  | { readonly name: 'FaultChanged'; readonly description: string }
  /** A recovery began, entered its next phase, began afresh or (phase null) is done. */
  | { readonly name: 'RecoveryPhase'; readonly progress: RecoveryProgress | null }
  | { readonly name: 'VerifyDone'; readonly result: VerifyResult }
  | { readonly name: 'LogFull' | 'LogResumed' | 'LogRefused'; readonly reason: string };

export type TraceEvent = {
  /** Counts up from 1 for one run of one replica. */
  readonly seq: number;
  /** Identifies the run of the replica's process. */
  readonly run: string;
  /** The incarnation, such as `r2.2`. */
  readonly replica: ReplicaId;
  /** Microseconds of the machine's monotonic clock: orders events of replicas on one machine. */
  readonly atUs: number;
} & (
  | ({ readonly layer: 'consensus' } & CoreTraceEvent)
  | ({ readonly layer: 'apply' } & ApplyTraceEvent)
  | ({ readonly layer: 'operation' } & OperationalEvent)
);
