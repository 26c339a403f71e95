/**
 * The vocabulary of the Multi-Paxos core: identifiers, log entries, peer messages, durable records, inputs and effects.
 *
 * Responsible for: the shapes that cross the border of the pure core. Does nothing itself.
 * Names are those of specs/MultiPaxos.tla; docs/glossary.md defines each word.
 */

declare const brand: unique symbol;
type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/**
 * A replica's name within its group, such as `r1`, or the name of one of its incarnations (configuration.ts): a replica that lost its log is
 * another acceptor from then on, `r1.2` and so on; the name of the first incarnation is the replica's own. Inside the core, and in every
 * ballot, it is always an incarnation. Never empty.
 */
export type ReplicaId = Brand<string, 'ReplicaId'>;
/** A position in the log of a group. The first is 1; 0 means "none". A safe integer. */
export type Slot = Brand<number, 'Slot'>;
/** The name of a group of replicas (one replicated log). */
export type GroupId = Brand<string, 'GroupId'>;

/** Orders leaderships: by round, then by replica name. `{ round: 0, replica: '' }` is below every real ballot. */
export interface Ballot {
  readonly round: number;
  readonly replica: ReplicaId;
}

/** Names one proposal for ever: `client` is unique to one run of one gateway session, `request` counts within it. */
export interface ProposalId {
  readonly client: string;
  readonly request: number;
}

/** Where a member is reached. Opaque to the core. */
export interface MemberAddress {
  readonly host: string;
  readonly port: number;
  readonly pgwire: { readonly host: string; readonly port: number };
}

/**
 * One replica of the group. Only voters count for quorums; a learner receives everything. `incarnation` counts the lives of the
 * replica's log: 0 while it is expected and has never asked to join. `nonce` was drawn by the life that asked to join with it; of an expected
 * replica it is the version of the configuration that added it, where its incarnations begin (empty at the founding: they begin with 1).
 */
export interface Member {
  readonly replica: ReplicaId;
  readonly incarnation: number;
  readonly role: 'voter' | 'learner';
  readonly nonce: string;
  readonly address: MemberAddress;
}

/**
 * Who the members are from some slot on. `version` counts up by one with each change; `slot` is where it was chosen (0: at the
 * founding). Consecutive configurations differ by at most one voter, so their majorities intersect.
 */
export interface Configuration {
  readonly version: number;
  readonly slot: Slot;
  /** One for each replica, by name. */
  readonly members: readonly Member[];
}

/**
 * One step of a change of the members. `join`: the replica lost its log, or was never here: its voter, if it has one, goes, and a learner with
 * the next incarnation takes its place. `promote` makes a learner that has caught up a voter: the leader does it by itself. `add` expects a new
 * replica. `remove` takes one away, whatever its role.
 */
export type ConfigurationChange =
  | {
      readonly kind: 'join';
      readonly replica: ReplicaId;
      readonly nonce: string;
      readonly address: MemberAddress;
    }
  | { readonly kind: 'promote'; readonly replica: ReplicaId; readonly incarnation: number }
  | { readonly kind: 'add'; readonly replica: ReplicaId; readonly address: MemberAddress }
  | { readonly kind: 'remove'; readonly replica: ReplicaId };

/**
 * What a slot holds. `noop` fills a hole. `leaderStart` is the first entry that a new leader adds of its own: what
 * an earlier leader has proposed has no effect above it. `command` carries bytes that mean
 * something to the payload only. `configuration` decides who votes in the slots above its own: its leader proposes nothing above it until it is
 * chosen. `ballot` is that of the leader who made it; with `version` it names the entry.
 */
export type Entry =
  | { readonly kind: 'noop'; readonly group: GroupId }
  | { readonly kind: 'leaderStart'; readonly group: GroupId; readonly ballot: Ballot }
  | {
      readonly kind: 'configuration';
      readonly group: GroupId;
      readonly ballot: Ballot;
      readonly version: number;
      readonly members: readonly Member[];
    }
  | {
      readonly kind: 'command';
      readonly group: GroupId;
      readonly proposal: ProposalId;
      readonly payload: Uint8Array;
    };

export interface SlotEntry {
  readonly slot: Slot;
  readonly entry: Entry;
}

/** One acceptor's vote. */
export interface Vote {
  readonly slot: Slot;
  readonly ballot: Ballot;
  readonly entry: Entry;
}

// ------------------------------------------------------------------------------------------------- peer messages

interface MessageBase {
  readonly group: GroupId;
  readonly ballot: Ballot;
}

/** Asks, without any promise, whether an election would succeed. `ballot` is the one it would use. Not in the spec. */
export interface PreVote extends MessageBase {
  readonly kind: 'PreVote';
}
export interface PreVoteReply extends MessageBase {
  readonly kind: 'PreVoteReply';
  readonly granted: boolean;
  /** The newest one that the sender knows to be chosen: how a removed or replaced replica learns of it. */
  readonly configuration: Configuration;
}
/** Phase 1a for every slot above `commitPoint`. */
export interface Prepare extends MessageBase {
  readonly kind: 'Prepare';
  readonly commitPoint: Slot;
}
/** Phase 1b: the sender's votes above the higher of both commit points. Leaves only once the promise is durable. */
export interface Promise_ extends MessageBase {
  readonly kind: 'Promise';
  readonly commitPoint: Slot;
  /** The newest one that the sender knows to be chosen: that of its commit point at least. */
  readonly configuration: Configuration;
  readonly votes: readonly Vote[];
}
/** The sender has promised `promised`, which is above `ballot`. */
export interface Reject extends MessageBase {
  readonly kind: 'Reject';
  readonly promised: Ballot;
}
/** Phase 2a for consecutive slots from `firstSlot`; the commit point rides along. `sentAtMs`: leader's clock. */
export interface Accept extends MessageBase {
  readonly kind: 'Accept';
  readonly firstSlot: Slot;
  readonly entries: readonly Entry[];
  readonly commitPoint: Slot;
  readonly sentAtMs: number;
}
/** Phase 2b for all slots of one Accept. Leaves only once the votes are durable. Echoes `sentAtMs`. */
export interface Accepted extends MessageBase {
  readonly kind: 'Accepted';
  readonly firstSlot: Slot;
  readonly lastSlot: Slot;
  readonly commitPoint: Slot;
  readonly sentAtMs: number;
}
/** Keeps the lease and carries the commit point when there is nothing to propose. */
export interface Heartbeat extends MessageBase {
  readonly kind: 'Heartbeat';
  readonly commitPoint: Slot;
  readonly sentAtMs: number;
  /** Everything at or below is applied and durable on every replica: the log below may go. */
  readonly globalApplicationPointer: Slot;
  readonly configuration: Configuration;
}
export interface HeartbeatAck extends MessageBase {
  readonly kind: 'HeartbeatAck';
  readonly sentAtMs: number;
  readonly commitPoint: Slot;
  /** The sender's application pointer as far as its PostgreSQL has made it durable. */
  readonly durableApplicationPointer: Slot;
}
/** Asks for chosen entries from `fromSlot` up to `toSlot`. */
export interface CatchUpRequest extends MessageBase {
  readonly kind: 'CatchUpRequest';
  readonly fromSlot: Slot;
  readonly toSlot: Slot;
}
/** Chosen entries, consecutive from `firstSlot`: as many as fit one message. `purgedTo`: slots that the sender no longer has. */
export interface CatchUpReply extends MessageBase {
  readonly kind: 'CatchUpReply';
  readonly firstSlot: Slot;
  readonly entries: readonly Entry[];
  readonly commitPoint: Slot;
  readonly purgedTo: Slot;
  readonly configuration: Configuration;
}

export type Message =
  | PreVote
  | PreVoteReply
  | Prepare
  | Promise_
  | Reject
  | Accept
  | Accepted
  | Heartbeat
  | HeartbeatAck
  | CatchUpRequest
  | CatchUpReply;

// ------------------------------------------------------------------------------------------------ durable records

/**
 * What the log store keeps. A `vote` implies a promise of its ballot. `chosen` is an entry that was learnt as chosen
 * without a vote. `commitPoint` is a hint that never needs a flush of its own: it only shortens recovery. `configuration` is one that is known to be
 * chosen; it is written before a `commitPoint` at or above its slot. `base`: all up to `slot` is chosen and in the database, and what the log
 * lacks below is purged.
 */
export type LogRecord =
  | { readonly kind: 'promise'; readonly ballot: Ballot }
  | ({ readonly kind: 'vote' } & Vote)
  | { readonly kind: 'chosen'; readonly slot: Slot; readonly entry: Entry }
  | { readonly kind: 'commitPoint'; readonly slot: Slot }
  | { readonly kind: 'configuration'; readonly configuration: Configuration }
  | { readonly kind: 'base'; readonly slot: Slot; readonly configuration: Configuration };

/** What a log store returns when it opens: all that the acceptor must remember. */
export interface RecoveredLog {
  readonly promised: Ballot;
  readonly commitPoint: Slot;
  /** Entries at or below have been purged. */
  readonly purgedTo: Slot;
  /** The newest one that was recorded, or the one that the log was created with. */
  readonly configuration: Configuration;
  /** Votes and learnt entries above `commitPoint`, by slot, the last record of each slot. */
  readonly tail: readonly (Vote | { readonly slot: Slot; readonly ballot: null; readonly entry: Entry })[];
}

// ---------------------------------------------------------------------------------------------- inputs and effects

export type StepDownReason =
  | 'databaseFailed'
  | 'logFailed'
  | 'quorumLost'
  | 'higherBallot'
  | 'requested'
  /** It is no voter any more. */
  | 'removed';

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
  /** The log has outgrown its bound: what this replica has applied, durably, goes, though others may still want it. */
  | { readonly kind: 'LogPressure'; readonly nowMs: number }
  /** Somebody begins to listen, or nobody does any more. */
  | { readonly kind: 'Trace'; readonly nowMs: number; readonly level: TraceLevel };

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
   * `wouldLoseQuorum`: too few voters have been heard lately to choose the change, or too few that would be left to go on. `unknownReplica`, `exists`: it is (not) a member.
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
  | { readonly kind: 'trace'; readonly event: CoreTraceEvent };

export type Role = 'follower' | 'candidate' | 'leader';

/** Names of the spec's actions that the core takes; harness and dashboard use the same. */
export type ActionName =
  | 'StartElection'
  | 'HandlePrepare'
  | 'HandlePromise'
  | 'BecomeLeader'
  | 'Propose'
  | 'HandleAccept'
  | 'HandleAccepted'
  | 'AdvanceCommitPoint'
  | 'HandleHeartbeat'
  | 'HandleCatchUpReply'
  | 'HandleReject'
  | 'Serve'
  | 'StepDown'
  /** Proposes a configuration. */
  | 'Reconfigure'
  /** Comes to know a chosen configuration that a message, or the database, carries: a step of its own, before what the message means. */
  | 'LearnConfiguration'
  /** Takes on what the database holds beyond the log. */
  | 'Restored'
  | 'Fsync'
  | 'Crash'
  | 'Restart';

/** A short name for what a slot holds: `noop`, `start:<ballot>`, `members:<version>:<ballot>` or `<client>/<request>`. Unique to the entry. */
export type EntryLabel = string;

/** The state after an action, as far as the spec has it; compared with the spec's variables on every event. */
export interface CoreSnapshot {
  readonly role: Role;
  readonly ballot: Ballot;
  readonly promised: Ballot;
  readonly durablePromised: Ballot;
  readonly commitPoint: Slot;
  readonly lastSlot: Slot;
  readonly serving: boolean;
  /** Version of the newest configuration that it knows to be chosen. */
  readonly configuration: number;
}

/** Which actions are told: building the events of those that come with every entry costs as much as the actions. */
export type TraceLevel = 'none' | 'rare' | 'all';

export interface CoreTraceEvent {
  readonly name: ActionName;
  /** The peer whose message was handled. */
  readonly from?: ReplicaId;
  /** The message handled, entries replaced by their labels. */
  readonly message?: TraceMessage;
  /** Messages sent by this very action (not those still waiting for an Fsync). */
  readonly sent?: readonly { readonly to: ReplicaId; readonly message: TraceMessage }[];
  /** Log slots that this action wrote or made durable: [slot, ballot of the vote or null if learnt chosen, label]. */
  readonly votes?: readonly (readonly [Slot, Ballot | null, EntryLabel])[];
  readonly reason?: StepDownReason;
  /** Configurations that this action proposed, found in a message or came to know as chosen: what the labels and versions stand for. */
  readonly configurations?: readonly TraceConfiguration[];
  readonly state: CoreSnapshot;
}

/** `voters` are member names such as `r1` and `r2.2`. */
export interface TraceConfiguration {
  readonly version: number;
  /** 0 while it is only proposed. */
  readonly slot: Slot;
  readonly voters: readonly ReplicaId[];
  readonly learners: readonly ReplicaId[];
}

/** A message with each entry replaced by its label and clock values left out: what the trace and the dashboard show. */
export interface TraceMessage {
  readonly kind: Message['kind'];
  readonly ballot: Ballot;
  readonly commitPoint?: Slot;
  readonly promised?: Ballot;
  readonly firstSlot?: Slot;
  readonly lastSlot?: Slot;
  readonly labels?: readonly EntryLabel[];
  readonly votes?: readonly (readonly [Slot, Ballot | null, EntryLabel])[];
  /** Version of the configuration that it carries. */
  readonly configuration?: number;
}

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
  /** Which `trace` effects to emit, until a `Trace` input says otherwise. */
  readonly trace: TraceLevel;
}
