/**
 * What replicas say to each other in single-decree Paxos. Each message carries `done`: everything at or below is in the sender's database, durably.
 * The kinds are none of Multi-Paxos's, so that one transport can carry either.
 */
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Ballot, GroupId, Slot } from '../../multipaxos/types/names.ts';

interface MessageBase {
  readonly group: GroupId;
  readonly done: Slot;
}

interface BallotMessage extends MessageBase {
  readonly slot: Slot;
  readonly ballot: Ballot;
}

/** What an acceptor has voted for last: the paper's N_A and V_A. */
export interface LastVote {
  readonly ballot: Ballot;
  readonly entry: Entry;
}

/** Phase 1a: asks for a promise in one slot. */
export interface SlotPrepare extends BallotMessage {
  readonly kind: 'SlotPrepare';
}

/** Phase 1b. Leaves only once the promise is durable. */
export interface SlotPromise extends BallotMessage {
  readonly kind: 'SlotPromise';
  readonly vote: LastVote | null;
}

/** Phase 2a. */
export interface SlotAccept extends BallotMessage {
  readonly kind: 'SlotAccept';
  readonly entry: Entry;
}

/** Phase 2b. Leaves only once the vote is durable. */
export interface SlotAccepted extends BallotMessage {
  readonly kind: 'SlotAccepted';
}

/** The sender has promised `promised`, which is above `ballot`. */
export interface SlotReject extends BallotMessage {
  readonly kind: 'SlotReject';
  readonly promised: Ballot;
}

/** What `ballot` proposed in `slot` is chosen: whoever voted for that has it. */
export interface Learn extends BallotMessage {
  readonly kind: 'Learn';
}

/** Asks for decided entries from `fromSlot` up to `toSlot`. */
export interface LearnRequest extends MessageBase {
  readonly kind: 'LearnRequest';
  readonly fromSlot: Slot;
  readonly toSlot: Slot;
}

/** Decided entries, consecutive from `firstSlot`: as many as fit one message. `purgedTo`: slots at or below the sender has forgotten. */
export interface LearnReply extends MessageBase {
  readonly kind: 'LearnReply';
  readonly firstSlot: Slot;
  readonly entries: readonly Entry[];
  readonly purgedTo: Slot;
}

/** Now and then: the sender knows everything at or below `commitPoint` to be decided. */
export interface Status extends MessageBase {
  readonly kind: 'Status';
  readonly commitPoint: Slot;
}

export type PaxosMessage =
  | SlotPrepare
  | SlotPromise
  | SlotAccept
  | SlotAccepted
  | SlotReject
  | Learn
  | LearnRequest
  | LearnReply
  | Status;
