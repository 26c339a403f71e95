/** What the members of a group say to each other. */
import type { Entry, Vote } from './entries.ts';
import type { Configuration } from './members.ts';
import type { Ballot, GroupId, ReplicaId, Slot } from './names.ts';

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

/** What the shell of a leader tells the shells of others with a heartbeat. Cores neither write nor read it. */
export interface LeaderNote {
  /** Clients are served at the leader: it takes them in, and its database answers. */
  readonly serves: boolean;
  /** Others are to measure how far they are from each other: the leader is far from its quorum. */
  readonly asksLinks?: true;
}

/**
 * How fast a replica would commit if it led. Medians in milliseconds; null: not known. `logMs`: a flush of its log. `databaseMs`: a flush of its PostgreSQL's WAL. `quorumMs`: until so many voters have
 * answered it as it needs beside itself.
 */
export interface Pace {
  readonly logMs: number | null;
  readonly databaseMs: number | null;
  readonly quorumMs: number | null;
}

/** Keeps the lease and carries the commit point when there is nothing to propose. `note`: absent within a core, and from replicas that do not write it. */
export interface Heartbeat extends MessageBase {
  readonly kind: 'Heartbeat';
  readonly commitPoint: Slot;
  readonly sentAtMs: number;
  /** Everything at or below is applied and durable on every replica: the log below may go. */
  readonly globalApplicationPointer: Slot;
  readonly configuration: Configuration;
  readonly note?: LeaderNote;
}

/** `pace`: of the sender, from its shell to that of the leader. Absent within a core, and from replicas that do not write it. */
export interface HeartbeatAck extends MessageBase {
  readonly kind: 'HeartbeatAck';
  readonly sentAtMs: number;
  readonly commitPoint: Slot;
  /** The sender's application pointer as far as its PostgreSQL has made it durable. */
  readonly durableApplicationPointer: Slot;
  readonly pace?: Pace;
}

/** The leader of `ballot` leads no more, and answers nothing under it: whoever gave it its word need not keep that any longer. `successor` stands at once. */
export interface Resigned extends MessageBase {
  readonly kind: 'Resigned';
  readonly successor: ReplicaId;
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
  | Resigned
  | CatchUpRequest
  | CatchUpReply;
