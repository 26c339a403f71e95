/**
 * What happened in a group at the layer `apply`, in an order that causality allows: see specs/ordered-apply.md for what each event means and asserts.
 *
 * Types only. A replica is named by its host (`r2`), whatever its incarnation (`r2.2`): it is the data directory that goes on.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { Ballot, EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';

export type ApplyEvent = Extract<TraceEvent, { layer: 'apply' }>;

/**
 * `begins`: a process of the replica starts; whatever ran there before is gone. `elected`: `startSlot` is the slot of the leader's own first entry. `resigned`: its core leads no more.
 * `chosen`: the group can know that this slot is chosen.
 */
export type ApplyItem =
  | { readonly kind: 'begins'; readonly replica: ReplicaId }
  | {
      readonly kind: 'elected';
      readonly replica: ReplicaId;
      readonly leadership: Ballot;
      readonly startSlot: number;
    }
  | { readonly kind: 'resigned'; readonly replica: ReplicaId; readonly leadership: Ballot }
  | { readonly kind: 'chosen'; readonly slot: number; readonly label: EntryLabel }
  | {
      readonly kind: 'event';
      readonly replica: ReplicaId;
      readonly event: ApplyEvent;
      /** Of a Purge. */
      readonly told?: ToldAtPurge;
    };

/** What the consensus layer tells of a log that is dropped. */
export interface ToldAtPurge {
  /** Null: no configuration has been told. */
  readonly members: readonly ReplicaId[] | null;
  /** Its log begins behind this slot by a record of this run; 0: by none. */
  readonly base: number;
}

export type ApplyEventItem = Extract<ApplyItem, { kind: 'event' }>;
