/** What slots hold. */
import type { Member } from './members.ts';
import type { Ballot, GroupId, ProposalId, Slot } from './names.ts';

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
