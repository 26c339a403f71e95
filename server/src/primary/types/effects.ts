/** What crosses the border of this protocol's pure core: its inputs, its effects, and what it is configured with. */
import type { SlotEntry, Vote } from '../../multipaxos/types/entries.ts';
import type { Ballot, GroupId, ProposalId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { LogRecord } from '../../multipaxos/types/records.ts';
import type { Message } from './messages.ts';
import type { PrimaryTraceEvent } from './trace.ts';

/** When a client may be answered, the weakest first; docs/primary-and-copies.md says what each may lose. */
export const levels = ['none', 'async', 'majority', 'semi', 'sync'] as const;
export type Level = (typeof levels)[number];

export type PrimaryRole = 'recovering' | 'standby' | 'primary';

export interface Proposal {
  readonly proposal: ProposalId;
  readonly payload: Uint8Array;
  /** Of this request; the group's own if it is left out. */
  readonly level?: Level;
}

/** `nowMs` is the replica's own monotonic clock; it never goes back within one run. */
export type Input =
  /** Every few milliseconds. `random` in [0, 1) draws the next time-out of the failure detector. */
  | { readonly kind: 'Tick'; readonly nowMs: number; readonly random: number }
  | { readonly kind: 'Receive'; readonly nowMs: number; readonly from: ReplicaId; readonly message: Message }
  /** Operations to append, in order. Each is answered by `proposed` or `refused`, and a proposed one later by `acknowledged` or `unacknowledged`. */
  | { readonly kind: 'Propose'; readonly nowMs: number; readonly proposals: readonly Proposal[] }
  /** All records of `persist` effects up to `seq` are durable. */
  | { readonly kind: 'Persisted'; readonly nowMs: number; readonly seq: number }
  /** The database has executed everything up to `slot`; up to `durableSlot` it survives a crash. */
  | { readonly kind: 'Applied'; readonly nowMs: number; readonly slot: Slot; readonly durableSlot: Slot }
  /** The database came up with everything up to `slot` in it. Nothing is executed before. `isMarked`: a `copyNeeded` was noted and no copy has come since. `isSettled`: what it has is settled, all of it. */
  | {
      readonly kind: 'Restored';
      readonly nowMs: number;
      readonly slot: Slot;
      readonly isMarked: boolean;
      readonly isSettled?: boolean;
    }
  /** A copy of the primary's database has come, with what the `paused` effect told. */
  | {
      readonly kind: 'Copied';
      readonly nowMs: number;
      readonly epoch: Ballot;
      readonly entries: readonly Vote[];
    }
  /** State transfer: this primary orders nothing, and keeps requests waiting, until `Resume` or for `pauseMsMax`. Answered by `paused` when all that it ordered is executed. */
  | { readonly kind: 'Pause'; readonly nowMs: number }
  | { readonly kind: 'Resume'; readonly nowMs: number }
  | { readonly kind: 'StepDown'; readonly nowMs: number }
  | { readonly kind: 'Trace'; readonly nowMs: number; readonly isTold: boolean };

export type RefusalCode =
  | 'notLeader'
  /** Too few others are heard: to answer might contradict another primary. */
  | 'alone'
  | 'windowFull'
  | 'duplicate'
  /** `none` is a matter of the whole group: a request asked for it in a group that replicates, or for another level in one that does not. */
  | 'levelNotOffered';

/**
 * What the host must do, in the order of the list. What reveals something is never emitted before it is durable, so a host may send at once. A
 * `copyNeeded` must be noted durably before the `persist` behind it is carried out: from then on the log may lack what the database has executed.
 */
export type Effect =
  | { readonly kind: 'persist'; readonly seq: number; readonly records: readonly LogRecord[] }
  | { readonly kind: 'send'; readonly to: ReplicaId; readonly message: Message }
  /** To execute, in slot order, each slot once in the life of a database. */
  | { readonly kind: 'chosen'; readonly entries: readonly SlotEntry[] }
  | { readonly kind: 'proposed'; readonly proposal: ProposalId; readonly slot: Slot }
  | { readonly kind: 'refused'; readonly proposal: ProposalId; readonly code: RefusalCode }
  /** Its client may be answered as soon as this replica has executed it. */
  | {
      readonly kind: 'acknowledged';
      readonly proposal: ProposalId;
      readonly slot: Slot;
      readonly level: Level;
    }
  /** Whether it is done nobody knows: the client hears so. */
  | {
      readonly kind: 'unacknowledged';
      readonly proposal: ProposalId;
      readonly slot: Slot;
      readonly code: 'timedOut' | 'deposed';
    }
  /** `ballot` is the epoch. `serving`: clients are answered here. */
  | {
      readonly kind: 'leadership';
      readonly role: PrimaryRole;
      readonly ballot: Ballot;
      readonly leader: ReplicaId | null;
      readonly serving: boolean;
    }
  /** The database has executed what the log has not: it is to be replaced by a copy of the primary's. */
  | { readonly kind: 'copyNeeded' }
  /** To the primary's host: `to` cannot go on without a copy of the database. */
  | { readonly kind: 'transferNeeded'; readonly to: ReplicaId }
  /** Answer to `Pause`: the database may be copied as it is, and `entries` go along: the log from its first settled entry to what was executed last. */
  | { readonly kind: 'paused'; readonly epoch: Ballot; readonly entries: readonly Vote[] }
  /** The pause has lasted as long as it may, or the primary is one no more. */
  | { readonly kind: 'resumed' }
  /** semi and sync wait for this copy no more, or again. */
  | { readonly kind: 'waitsFor'; readonly copy: ReplicaId; readonly isWaitedFor: boolean }
  | { readonly kind: 'purge'; readonly upTo: Slot }
  | { readonly kind: 'trace'; readonly event: PrimaryTraceEvent };

/** Fixed for the life of a core. All times in milliseconds of the replica's own clock. */
export interface PrimaryConfig {
  readonly group: GroupId;
  readonly id: ReplicaId;
  /** All replicas, two to five, in the same order everywhere: the first stands first. */
  readonly replicas: readonly ReplicaId[];
  readonly replication: Level;
  readonly heartbeatMs: number;
  /** So long unheard of, a replica is suspected. */
  readonly failureTimeoutMs: number;
  readonly retransmitMs: number;
  /** After so long an operation that its level does not allow to answer is given up with a true error, or a silent copy is dropped. */
  readonly acknowledgeMsMax: number;
  readonly pauseMsMax: number;
  /** semi and sync do not wait for a copy that is silent; what stays is in so many logs that no majority lacks it. */
  readonly dropSilentCopies: boolean;
  /** Two replicas: a standby that suspects the primary takes over by itself. Acknowledged operations may be lost, and two may answer at once. */
  readonly promoteAloneRiskingSplitBrain: boolean;
  /** Bounds on what is ordered and not settled, on what waits while the primary pauses, and on what one message carries. */
  readonly windowSlotsMax: number;
  readonly windowBytesMax: number;
  readonly batchBytesMax: number;
  /** So much of the log is kept for copies that lag. */
  readonly keepSlots: number;
  /** Where it is larger than this, only what is needed is kept. */
  readonly keepBytesMax: number;
  readonly isTold: boolean;
}
