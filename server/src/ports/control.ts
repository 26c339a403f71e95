/**
 * What replicas tell each other beside the consensus protocol: joining, and comparing their data. Sent like any message: may be lost, late or doubled.
 */
import type { Configuration, MemberAddress, ReplicaId, Slot } from '../multipaxos/types.ts';

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

/** One replica's data as of one slot. `digest` of each table, sequence and schema object does not depend on the order of rows. */
export interface DataDigest {
  readonly slot: Slot;
  readonly objects: readonly {
    readonly kind: 'table' | 'sequence' | 'schema';
    readonly name: string;
    readonly rows: number;
    readonly digest: string;
  }[];
}

/** Sent to the leader when a comparison that was asked for in the log is done here. */
export interface VerifyReport {
  readonly kind: 'VerifyReport';
  readonly check: string;
  readonly digest: DataDigest | null;
  /** Why there is none. */
  readonly reason: string;
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

export type ControlMessage = JoinRequest | JoinReply | VerifyReport | VerifyVerdict;
