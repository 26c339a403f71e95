/** What crosses the border of the pure core of single-decree Paxos: its inputs, its effects, and what it is configured with. */
import type { SlotEntry } from '../../multipaxos/types/entries.ts';
import type { GroupId, ProposalId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { LogRecord } from '../../multipaxos/types/records.ts';
import type { PaxosMessage } from './messages.ts';
import type { PaxosTraceEvent } from './trace.ts';

export interface PaxosProposal {
  readonly proposal: ProposalId;
  readonly payload: Uint8Array;
}

/** `nowMs` is the replica's own monotonic clock; it never goes back within one run. */
export type PaxosInput =
  /** Every few milliseconds. `random` in [0, 1) seeds what is drawn until the next one. */
  | { readonly kind: 'Tick'; readonly nowMs: number; readonly random: number }
  | {
      readonly kind: 'Receive';
      readonly nowMs: number;
      readonly from: ReplicaId;
      readonly message: PaxosMessage;
    }
  /** To be chosen, each in a slot. Answered by a `refused` effect, or by a `proposed` one each time that it is given a slot: the entry that is chosen in one tells the end. */
  | { readonly kind: 'Propose'; readonly nowMs: number; readonly proposals: readonly PaxosProposal[] }
  /** All records of `persist` effects up to `seq` are durable (the spec's Fsync). */
  | { readonly kind: 'Persisted'; readonly nowMs: number; readonly seq: number }
  /** The database has executed everything up to `slot`; up to `durableSlot` it survives a crash. */
  | { readonly kind: 'Applied'; readonly nowMs: number; readonly slot: Slot; readonly durableSlot: Slot }
  /** The database came up with everything up to `slot` in it, durably: this replica's own, which may be ahead of the log, or a copy. */
  | { readonly kind: 'Restored'; readonly nowMs: number; readonly slot: Slot };

/**
 * What the shell must do, in the order of the list. The core never emits a `send` that reveals a promise or a vote before the `Persisted` input for it
 * has come, so a shell may send at once.
 */
export type PaxosEffect =
  /** Append to the log in the order of `seq`, then answer with `Persisted`. */
  | { readonly kind: 'persist'; readonly seq: number; readonly records: readonly LogRecord[] }
  | { readonly kind: 'send'; readonly to: ReplicaId; readonly message: PaxosMessage }
  /** These became known as chosen; consecutive, in slot order, each slot once in the life of the process. A database that came up may have some of them. */
  | { readonly kind: 'chosen'; readonly entries: readonly SlotEntry[] }
  /** The proposal stands in `slot` now; in no other any more, where it lost. */
  | { readonly kind: 'proposed'; readonly proposal: ProposalId; readonly slot: Slot }
  /**
   * `windowFull`: ask again later. `duplicate`: it is under way. `forgotten`: its slot is one that a copied database has settled, so nobody can tell whether it
   * was chosen; it is not proposed any more.
   */
  | {
      readonly kind: 'refused';
      readonly proposal: ProposalId;
      readonly code: 'windowFull' | 'duplicate' | 'forgotten';
    }
  /** Read entries [fromSlot, toSlot] from the log and send them to `to` as one bounded LearnReply (`learnReply` in step.ts). */
  | { readonly kind: 'serveCatchUp'; readonly to: ReplicaId; readonly fromSlot: Slot; readonly toSlot: Slot }
  /** What the database needs next all have forgotten, or this replica has: up to `purgedTo`. It must get a copy of another's, and then `Restored`. */
  | { readonly kind: 'forgotten'; readonly peer: ReplicaId; readonly purgedTo: Slot }
  /** The log at or below may be dropped. */
  | { readonly kind: 'purge'; readonly upTo: Slot }
  | { readonly kind: 'trace'; readonly event: PaxosTraceEvent };

/** Fixed for the life of a core. All times in milliseconds of the replica's own clock. */
export interface PaxosConfig {
  readonly group: GroupId;
  readonly id: ReplicaId;
  /** All who vote, this replica among them: 1 to 7. They are not changed. */
  readonly members: readonly ReplicaId[];
  readonly retransmitMs: number;
  /** How often a replica tells how far it is. */
  readonly statusMs: number;
  /** Whoever was rejected waits a random part of this, which doubles each time up to the maximum. */
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
  /** For how long a slot must be in use, and nothing be heard of it, before anybody may finish it. */
  readonly holeMs: number;
  /** Proposals of its own that a replica takes on at a time, and their bytes. */
  readonly windowSlotsMax: number;
  readonly windowBytesMax: number;
  readonly catchUpSlotsMax: number;
  readonly catchUpBytesMax: number;
  /** Whether `trace` effects are emitted. */
  readonly trace: boolean;
}
