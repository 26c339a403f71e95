/** Who belongs to a group, and how that changes. */
import type { ReplicaId, Slot } from './names.ts';

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
