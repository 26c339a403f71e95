/**
 * What replicas tell each other beside the consensus protocol: joining, comparing their data, read indexes, and what the leader's PostgreSQL shows. Sent like any message: may be lost, late or doubled.
 */
import type { Configuration, MemberAddress } from '../multipaxos/types/members.ts';
import type { ReplicaId, Slot } from '../multipaxos/types/names.ts';

/** Asks whoever leads for an incarnation. `nonce` names this life of the replica: asking twice is asking once. */
export interface JoinRequest {
  readonly kind: 'JoinRequest';
  readonly replica: ReplicaId;
  readonly nonce: string;
  readonly address: MemberAddress;
}

/**
 * `admitted`: the replica is `member` from `configuration` on, its first life if it `isNew` (as far as the sender has seen); whoever sent it has purged its log up to `purgedTo`. `notLeader`: ask `leader`, if it is known.
 * `waiting`: asked for, not chosen yet; ask again. `refused`: the group does not expect this replica, or cannot admit it; `reason` is for people.
 */
export interface JoinReply {
  readonly kind: 'JoinReply';
  readonly nonce: string;
  readonly code: 'admitted' | 'notLeader' | 'waiting' | 'refused';
  readonly reason: string;
  readonly leader: ReplicaId | null;
  readonly admission: {
    readonly cluster: string;
    readonly member: ReplicaId;
    readonly configuration: Configuration;
    readonly purgedTo: Slot;
    readonly isNew: boolean;
  } | null;
}

/**
 * One replica's data as of one slot. What is neither in `objects` nor in `skipped` is not there. `hasSequences`: where sequences stand was compared; a primary's run ahead of what is chosen, so it leaves them out.
 */
export interface DataDigest {
  readonly slot: Slot;
  readonly objects: readonly DigestObject[];
  readonly skipped: readonly SkippedObject[];
  readonly hasSequences: boolean;
}

/** `database` is empty for what all databases share. `name` has its schema, quoted where it must be. Names that differ in a byte differ here. The `digest` of a table is of its rows in the order in which they lie, which is the same on all replicas. */
export interface DigestObject {
  readonly database: string;
  readonly kind: 'table' | 'sequence';
  readonly name: string;
  readonly rows: number;
  readonly digest: string;
}

/** The reason of what is in the catalog of this database, and has its rows on other servers. */
export const storedElsewhere = 'its rows are not stored here';

/** The name of all sequences of a database, where they were left out. */
export const sequencesName = 'sequences';

/** Left out of this comparison: it was altered meanwhile, say. Without a `name` the whole database was, but for objects that are there; without a `database` either, what all databases share. */
export interface SkippedObject {
  readonly database: string;
  readonly name: string;
  readonly reason: string;
}

/** Sent by the leader, again and again, to those that have not reported yet. Answered with the report, if it is there, and by a replica that will have none. */
export interface VerifyQuestion {
  readonly kind: 'VerifyQuestion';
  readonly check: string;
  readonly slot: Slot;
}

/** Sent to the leader when a comparison that was asked for in the log is done here. `isFenced`: this replica knows of itself that it differs; then there is no digest. */
export interface VerifyReport {
  readonly kind: 'VerifyReport';
  readonly check: string;
  readonly digest: DataDigest | null;
  /** Why there is none. */
  readonly reason: string;
  readonly isFenced: boolean;
}

/** The leader's verdict for one replica that differs from the majority: it fences itself; with `repair` it restores its database. */
export interface VerifyVerdict {
  readonly kind: 'VerifyVerdict';
  readonly check: string;
  readonly slot: Slot;
  readonly differing: readonly string[];
  readonly repair: boolean;
  /** Who has what the majority has: whom to copy from. */
  readonly equal: readonly ReplicaId[];
}

/** A follower asks the leader how far the log is chosen. `run`, a life of its process, and a number in it name the question. */
export interface ReadIndexQuestion {
  readonly kind: 'ReadIndexQuestion';
  readonly run: string;
  readonly number: number;
}

/** Sent by a leader that serves, under its lease: all that any client knew at that moment lies at or below `index`. */
export interface ReadIndexAnswer {
  readonly kind: 'ReadIndexAnswer';
  readonly run: string;
  readonly number: number;
  readonly index: Slot;
}

/**
 * A follower asks the leader whether its PostgreSQL shows what the follower's own does. `run` and a number in it names the question. Transactions are named by their full ids, in decimal: `end` is above each that the standby shows, `committed` are some that it shows.
 */
export interface ShownQuestion {
  readonly kind: 'ShownQuestion';
  readonly run: string;
  readonly number: number;
  readonly end: string;
  readonly committed: readonly string[];
}

/** Sent by a leader that serves, under its lease, once its snapshot ends at the question's `end` or above, and shows all of `committed`: the end of that snapshot, and what of it is `running`. */
export interface ShownAnswer {
  readonly kind: 'ShownAnswer';
  readonly run: string;
  readonly number: number;
  readonly end: string;
  readonly running: readonly string[];
}

/** A leader that is to hand over asks who could lead. `run` and a number in it name the question. */
export interface LeadQuestion {
  readonly kind: 'LeadQuestion';
  readonly run: string;
  readonly number: number;
}

/** `reason`: why it had better not, for people; empty: it could. `applied`: what its database has. */
export interface LeadAnswer {
  readonly kind: 'LeadAnswer';
  readonly run: string;
  readonly number: number;
  readonly reason: string;
  readonly applied: Slot;
}

/** For what runs beside the default protocol and payload: whose like says it at another replica, in bytes that only that one reads. */
export interface Carried {
  readonly kind: 'Carried';
  readonly channel: Channel;
  readonly bytes: Uint8Array;
}

/** `persistence`: how long a group took to become durable. `operations`: of statements, for whoever proposes. `paxos`: messages of single-decree Paxos. `digests`: what a replica's database answered. `adoptions`: whose database goes on where all differ. `primary`: of a primary and its copies. */
export type Channel = 'persistence' | 'links' | 'operations' | 'paxos' | 'digests' | 'adoptions' | 'primary';

export type ControlMessage =
  | JoinRequest
  | JoinReply
  | VerifyQuestion
  | VerifyReport
  | VerifyVerdict
  | ReadIndexQuestion
  | ReadIndexAnswer
  | ShownQuestion
  | ShownAnswer
  | LeadQuestion
  | LeadAnswer
  | Carried;
