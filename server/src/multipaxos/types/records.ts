/** What an acceptor keeps in its log. */
import type { Entry, Vote } from './entries.ts';
import type { Configuration } from './members.ts';
import type { Ballot, Slot } from './names.ts';

/**
 * What the log store keeps. A `vote` implies a promise of its ballot. `chosen` is an entry that was learnt as chosen
 * without a vote. `commitPoint` is a hint that never needs a flush of its own: it only shortens recovery. `configuration` is one that is known to be
 * chosen; it is written before a `commitPoint` at or above its slot. `base`: all up to `slot` is chosen and in the database, and what the log
 * lacks below is purged. `slotPromise` binds in its slot only: single-decree Paxos (server/src/paxos) has one for each slot, and there a `chosen` record
 * says nothing of the slots below.
 */
export type LogRecord =
  | { readonly kind: 'promise'; readonly ballot: Ballot }
  | ({ readonly kind: 'vote' } & Vote)
  | { readonly kind: 'chosen'; readonly slot: Slot; readonly entry: Entry }
  | { readonly kind: 'commitPoint'; readonly slot: Slot }
  | { readonly kind: 'configuration'; readonly configuration: Configuration }
  | { readonly kind: 'base'; readonly slot: Slot; readonly configuration: Configuration }
  | ({ readonly kind: 'slotPromise' } & SlotBallot);

/** A promise for one slot. */
export interface SlotBallot {
  readonly slot: Slot;
  readonly ballot: Ballot;
}

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
  /** The highest `slotPromise` of each slot above `commitPoint`, by slot. Absent: there is none, as in every log of Multi-Paxos. */
  readonly slotPromises?: readonly SlotBallot[];
}
