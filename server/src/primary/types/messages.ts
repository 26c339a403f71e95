/** What a primary, its copies and who would be primary say to each other. An epoch is a ballot: a number, and who stood in it. */
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Ballot, GroupId, Slot } from '../../multipaxos/types/names.ts';

interface MessageBase {
  readonly group: GroupId;
  readonly epoch: Ballot;
}

/** Asks for a word in the sender's epoch; its log ends with an entry of `lastEpoch` at `lastSlot`. Leaves only once its own promise is durable. */
export interface AskWord extends MessageBase {
  readonly kind: 'AskWord';
  readonly lastEpoch: Ballot;
  readonly lastSlot: Slot;
}

/** The sender follows no epoch below this one from now on. Leaves only once that is durable. */
export interface Word extends MessageBase {
  readonly kind: 'Word';
}

/** The sender has promised `promised`, or its log has more (`hasMore`). */
export interface Refuse extends MessageBase {
  readonly kind: 'Refuse';
  readonly promised: Ballot;
  readonly hasMore: boolean;
}

export interface SentEntry {
  readonly epoch: Ballot;
  readonly entry: Entry;
}

/**
 * What comes behind the entry at `prevSlot`, which is of `prevEpoch` (the order check); none: a sign of life. `beginsAt`: where the epoch's own entries begin.
 * `isStandby`: the primary waits for this copy. `sentAtMs`: the primary's clock.
 */
export interface Operations extends MessageBase {
  readonly kind: 'Operations';
  readonly prevSlot: Slot;
  readonly prevEpoch: Ballot;
  readonly entries: readonly SentEntry[];
  readonly beginsAt: Slot;
  readonly settled: Slot;
  readonly isStandby: boolean;
  readonly sentAtMs: number;
}

/**
 * The sender's log is the primary's up to `received`, durably, and its database has executed it up to `executed`. `goOnFrom`: the order check failed; the entry behind this
 * slot is wanted next. `needsCopy`: its database is of no use. `sentAtMs`: of the newest message that it has heard.
 */
export interface Received extends MessageBase {
  readonly kind: 'Received';
  readonly received: Slot;
  readonly executed: Slot;
  readonly goOnFrom: Slot | null;
  readonly needsCopy: boolean;
  readonly sentAtMs: number;
}

export type Message = AskWord | Word | Refuse | Operations | Received;
