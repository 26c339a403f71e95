/**
 * The events of the layer `apply`, when WAL is what travels: see specs/ordered-apply.md for what each means and asserts.
 *
 * Pure. Positions are bytes of WAL, transaction ids decimal text.
 */
import type { Ballot, EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types.ts';

export type DirectoryRoleName = 'founder' | 'standby' | 'promoting' | 'primary' | 'copying';

interface LeadershipFields {
  readonly leadership: Ballot;
  readonly timeline: number;
  readonly fork: number;
  readonly nextXid: string;
  readonly resumes: boolean;
}

interface RangeFields {
  readonly label: EntryLabel;
  readonly leadership: Ballot;
  readonly timeline: number;
  readonly start: number;
  readonly end: number;
}

export type WalTraceEvent =
  | ({ readonly name: 'Ship'; readonly commits: readonly string[] } & RangeFields)
  | { readonly name: 'Release'; readonly slot: number; readonly position: number }
  | ({ readonly name: 'Feed'; readonly slot: number } & RangeFields)
  | { readonly name: 'Skip'; readonly slot: number; readonly label: EntryLabel; readonly why: string }
  | { readonly name: 'Replay'; readonly flushed: number; readonly replayed: number }
  | { readonly name: 'FlushStandby'; readonly slot: number; readonly position: number }
  | ({ readonly name: 'ProposeLeadership'; readonly label: EntryLabel } & LeadershipFields)
  | ({
      readonly name: 'BeginLeadership';
      readonly slot: number;
      readonly label: EntryLabel;
      readonly role: DirectoryRoleName;
    } & LeadershipFields)
  | {
      readonly name: 'Promote';
      readonly leadership: Ballot;
      readonly timeline: number;
      readonly fork: number;
    }
  | {
      readonly name: 'Resume';
      readonly leadership: Ballot;
      readonly timeline: number;
      readonly position: number;
    }
  | { readonly name: 'Open'; readonly leadership: Ballot; readonly slot: number; readonly position: number }
  | { readonly name: 'Depose'; readonly leadership: Ballot; readonly reason: string }
  | { readonly name: 'DatabaseDown'; readonly reason: string }
  | {
      readonly name: 'DatabaseUp';
      readonly role: 'standby' | 'founder';
      readonly slot: number;
      readonly position: number;
      readonly timeline: number;
    }
  | {
      readonly name: 'CheckPrefix';
      readonly outcome: 'standby' | 'parted' | 'undecided';
      readonly slot: number;
      readonly timeline: number;
      readonly position: number;
    }
  | { readonly name: 'BeginCopy'; readonly source: ReplicaId }
  | {
      readonly name: 'EndCopy';
      readonly source: ReplicaId;
      readonly slot: number;
      readonly position: number;
      readonly timeline: number;
    }
  | { readonly name: 'EndWait' }
  | { readonly name: 'Barrier'; readonly position: number }
  | {
      readonly name: 'TellOutcome';
      readonly xid: string;
      readonly leadership: Ballot;
      readonly outcome: 'committed' | 'notCommitted' | 'unknown';
    }
  | { readonly name: 'Purge'; readonly slot: number; readonly why: 'everybody' | 'pressure' };

export type WalEventName = WalTraceEvent['name'];

/** One name for each member of the union; the compiler minds one that is missing. */
const names: Readonly<Record<WalEventName, true>> = {
  Ship: true,
  Release: true,
  Feed: true,
  Skip: true,
  Replay: true,
  FlushStandby: true,
  ProposeLeadership: true,
  BeginLeadership: true,
  Promote: true,
  Resume: true,
  Open: true,
  Depose: true,
  DatabaseDown: true,
  DatabaseUp: true,
  CheckPrefix: true,
  BeginCopy: true,
  EndCopy: true,
  EndWait: true,
  Barrier: true,
  TellOutcome: true,
  Purge: true,
};
export const walEventNames = Object.keys(names) as readonly WalEventName[];

/**
 * What happened in a group, in an order that causality allows. `begins`, `ends`: a process of the replica. `elected`: `startSlot` is the slot of the leader's own first entry.
 * `chosen`: the group can know that this slot is chosen.
 */
export type ApplyItem =
  | { readonly kind: 'begins' | 'ends'; readonly replica: ReplicaId }
  | {
      readonly kind: 'elected';
      readonly replica: ReplicaId;
      readonly leadership: Ballot;
      readonly startSlot: number;
    }
  | { readonly kind: 'chosen'; readonly slot: number; readonly label: EntryLabel }
  | { readonly kind: 'event'; readonly replica: ReplicaId; readonly event: WalTraceEvent };

export type ApplyEventItem = Extract<ApplyItem, { kind: 'event' }>;
