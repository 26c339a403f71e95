/** What crosses the border of the pure core: its inputs, its effects, and what it is configured with. */
import type { SlotEntry } from './entries.ts';
import type { CoreLeaseEvent } from './lease-trace.ts';
import type { Configuration, ConfigurationChange, Member } from './members.ts';
import type { Message } from './messages.ts';
import type { Ballot, GroupId, ProposalId, ReplicaId, Role, Slot, StepDownReason } from './names.ts';
import type { LogRecord } from './records.ts';
import type { CoreTraceEvent, TraceLevel } from './trace.ts';

/** `nowMs` is the replica's own monotonic clock; it never goes back within one run. */
export type Input =
  /** Every few milliseconds. `random` in [0, 1) draws the next election timeout. */
  | { readonly kind: 'Tick'; readonly nowMs: number; readonly random: number }
  | { readonly kind: 'Receive'; readonly nowMs: number; readonly from: ReplicaId; readonly message: Message }
  /** Entries to append, in order: one group commit. Answered by a `proposed` or a `refused` effect for each. */
  | {
      readonly kind: 'Propose';
      readonly nowMs: number;
      readonly proposals: readonly { readonly proposal: ProposalId; readonly payload: Uint8Array }[];
    }
  /** All records of `persist` effects up to `seq` are durable (the spec's Fsync). */
  | { readonly kind: 'Persisted'; readonly nowMs: number; readonly seq: number }
  /** The database has applied everything up to `slot`; up to `durableSlot` it survives a crash. */
  | { readonly kind: 'Applied'; readonly nowMs: number; readonly slot: Slot; readonly durableSlot: Slot }
  | { readonly kind: 'StepDown'; readonly nowMs: number; readonly reason: StepDownReason }
  /** Asks this leader to resign, and to have `successor` lead instead. Answered by a `handOver` effect. */
  | { readonly kind: 'HandOver'; readonly nowMs: number; readonly successor: ReplicaId }
  /** Asks this leader to change the members. Answered by a `reconfigured` effect with the same `id`. */
  | {
      readonly kind: 'Reconfigure';
      readonly nowMs: number;
      readonly id: number;
      readonly change: ConfigurationChange;
    }
  /**
   * The database came up (again) with everything up to `slot` in it, durably, and `configuration` is the newest at or below. It may have come from another
   * replica: if the log does not reach `slot`, it goes on from there; what the log does hold is not taken for chosen on its word. Until it comes, and from a
   * `StepDown` for `databaseFailed` on, nothing is purged.
   */
  | {
      readonly kind: 'Restored';
      readonly nowMs: number;
      readonly slot: Slot;
      readonly configuration: Configuration;
    }
  /** The database came up and holds the beginning of the leader of `ballot`, the newest that it knows: this replica leads in no lower ballot. */
  | { readonly kind: 'LeadershipKnown'; readonly nowMs: number; readonly ballot: Ballot }
  /**
   * The database is given up, and a copy of another's is to take its place: it will not go on from this log, which may leave behind what nobody has as a log any
   * more (leave-behind.ts), and leads nothing meanwhile. Until the next `Restored` or `Applied`.
   */
  | { readonly kind: 'CopyAwaited'; readonly nowMs: number }
  /**
   * The log nears its bound: what this replica has applied, durably, goes, though others may still want it. Two windows of what it knows to be chosen stay, unless it
   * is so near that there is no room for them (`isUrgent`).
   */
  | { readonly kind: 'LogPressure'; readonly nowMs: number; readonly isUrgent: boolean }
  /** The host of this replica, not of one incarnation, says that its process is gone. A hint, which may be wrong: it may hasten an election, and decides nothing. */
  | { readonly kind: 'PeerGone'; readonly nowMs: number; readonly replica: ReplicaId }
  /** Somebody begins to listen, or nobody does any more. */
  | { readonly kind: 'Trace'; readonly nowMs: number; readonly level: TraceLevel };

export type HandOverCode = 'handedOver' | 'notLeader' | 'busy' | 'behind' | 'noVoter';

/**
 * What the shell must do, in the order of the list. The core never emits a `send` that reveals a promise or a vote
 * before the `Persisted` input for it has come, so a shell may send at once.
 */
export type Effect =
  /** Append to the log in the order of `seq`, then answer with `Persisted`. */
  | { readonly kind: 'persist'; readonly seq: number; readonly records: readonly LogRecord[] }
  | { readonly kind: 'send'; readonly to: ReplicaId; readonly message: Message }
  /** These became known as chosen; consecutive, in slot order, each slot once in the life of the process. */
  | { readonly kind: 'chosen'; readonly entries: readonly SlotEntry[] }
  | { readonly kind: 'proposed'; readonly proposal: ProposalId; readonly slot: Slot }
  | {
      readonly kind: 'refused';
      readonly proposal: ProposalId;
      readonly code: 'notLeader' | 'windowFull' | 'duplicate';
    }
  /** Read chosen entries [fromSlot, toSlot] from the log and send them to `to` as one bounded CatchUpReply. */
  | { readonly kind: 'serveCatchUp'; readonly to: ReplicaId; readonly fromSlot: Slot; readonly toSlot: Slot }
  /** The role or the known leader changed, or a leader became able to serve. */
  | {
      readonly kind: 'leadership';
      readonly role: Role;
      readonly ballot: Ballot;
      readonly leader: ReplicaId | null;
      readonly serving: boolean;
      readonly reason: StepDownReason | null;
    }
  /** A newer configuration is known to be chosen, or one was just proposed (`pending`): whom the transport must reach. */
  | {
      readonly kind: 'configuration';
      readonly configuration: Configuration;
      readonly pending: readonly Member[] | null;
    }
  /**
   * `proposed`: it is on its way, and done when the `configuration` effect tells it. `done`: it was so already. `busy`: another change is under way, or
   * the life of the replica that a `join` would replace was heard just now; ask again.
   * `wouldLoseQuorum`: too few voters have been heard lately, and lack nothing that the leader's log has let go of, to choose the change, or too few that would be left to go on. `unknownReplica`, `exists`: it is (not) a member.
   * `tooMany`: no more members than `replicasMax` (quorum.ts).
   */
  | {
      readonly kind: 'reconfigured';
      readonly id: number;
      readonly code:
        | 'proposed'
        | 'done'
        | 'notLeader'
        | 'busy'
        | 'wouldLoseQuorum'
        | 'unknownReplica'
        | 'exists'
        | 'tooMany';
    }
  /**
   * `handedOver`: it leads no more, and has told the others. `busy`: something that it proposed is not chosen yet, or a change of the members waits. `behind`: the successor has not acknowledged all
   * that is chosen, or was not heard lately. `noVoter`: it is none, or this replica itself.
   */
  | { readonly kind: 'handOver'; readonly code: HandOverCode }
  /**
   * A member says that all up to `claimed` is chosen, and this leader, whom nobody can have deposed, has proposed nothing above `lastSlot`. It is not heard while
   * the leadership lasts, and told once.
   */
  | {
      readonly kind: 'disbelieved';
      readonly member: ReplicaId;
      readonly claimed: Slot;
      readonly lastSlot: Slot;
    }
  /** The log at or below may be dropped. */
  | { readonly kind: 'purge'; readonly upTo: Slot }
  | { readonly kind: 'trace'; readonly event: CoreTraceEvent }
  | { readonly kind: 'traceLease'; readonly event: CoreLeaseEvent };

/**
 * When a leader writes its commit point to its log, and tells the others (low-overhead-paxos-replication.txt, 4.2 and 6). `piggyback`: with the next group of entries, or the next heartbeat. `synchronous`: in a write and a message of
 * their own, whenever it has moved. `asynchronous`: the same, at regular times.
 */
export type CommitPointMode =
  | { readonly kind: 'piggyback' | 'synchronous' }
  | { readonly kind: 'asynchronous'; readonly everyMs: number };

/** Fixed for the life of a core. All times in milliseconds of the replica's own clock. */
export interface CoreConfig {
  readonly group: GroupId;
  /** The incarnation that this log belongs to. Who the members are is in the log. */
  readonly id: ReplicaId;
  readonly heartbeatMs: number;
  readonly electionTimeoutMinMs: number;
  readonly electionTimeoutMaxMs: number;
  /** How long after hearing from a leader a replica promises nothing to others. Below electionTimeoutMinMs. */
  readonly leaseMs: number;
  /** Bound on how much faster one clock may run than another: 0.05 is 5 %. */
  readonly clockDriftMax: number;
  readonly retransmitMs: number;
  /** Bounds on what is proposed but not yet chosen. */
  readonly windowSlotsMax: number;
  readonly windowBytesMax: number;
  readonly acceptBatchBytesMax: number;
  readonly catchUpSlotsMax: number;
  /** Absent: piggyback. */
  readonly commitPoint?: CommitPointMode;
  /** A leader serves when what it found is chosen, applied or not: for proposals whose effect follows from the log alone. */
  readonly servesUnapplied?: boolean;
  /** Which `trace` effects to emit, until a `Trace` input says otherwise. */
  readonly trace: TraceLevel;
}
