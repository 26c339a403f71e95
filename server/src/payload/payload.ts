/**
 * The seam between consensus and what travels through it: what a leader proposes, what a follower does with what was chosen, what a new leader must do before it serves.
 *
 * Does nothing itself. A payload is one implementation of `Payload`; the replica gives it a `PayloadHost`. The consensus core knows of neither.
 */
import type { ApplyTraceEvent } from '../api/events.ts';
import type { SlotEntry } from '../multipaxos/types/entries.ts';
import type { Configuration } from '../multipaxos/types/members.ts';
import type { Ballot, EntryLabel, ReplicaId, Slot } from '../multipaxos/types/names.ts';

/** `windowFull`: try again when slots have been chosen. `notLeader`: not under this leadership. */
export type ProposeResult =
  | { readonly code: 'proposed'; readonly label: EntryLabel }
  | { readonly code: 'windowFull' | 'notLeader' };

/** What a payload may ask of its replica. */
export interface PayloadHost {
  /** The incarnation that this replica is. */
  readonly member: ReplicaId;
  commitPoint(): Slot;
  /** True while this replica is about to lead, and waits for its database to have everything. */
  isAwaited(): boolean;
  /** The newest that is known to be chosen. */
  configuration(): Configuration;
  /** At once: it has a slot, or it was not proposed. */
  propose(payload: Uint8Array): ProposeResult;
  /** The log is being written to: what is proposed now is written behind that, and `room` says when it is over. */
  isWriting(): boolean;
  /** So far apart what is proposed is to be, where it is not much; null: as far as the log is written to. */
  groupIntervalMs(): number | null;
  /** What is in the database; up to `durableSlot` it survives a crash. */
  applied(slot: Slot, durableSlot: Slot): void;
  /** The database came up with everything up to `slot`, which this replica's log may not reach. */
  restored(slot: Slot, configuration: Configuration): void;
  /** The database is given up, and a copy is to take its place: the log need not reach back to what it had, and until then this replica leads nothing. */
  copyAwaited(): void;
  /** The database knows of this leadership: this replica leads in no lower ballot. */
  leadershipKnown(ballot: Ballot): void;
  /** A replica whose database is not in order must not lead. */
  stepDown(): void;
  /** PostgreSQL is the primary of this leadership, and answers: what must be done in it before clients are served may be begun. */
  opening(ballot: Ballot): void;
  /** Under this leadership clients may be served from now on. */
  ready(ballot: Ballot): void;
  /** They may not any more. Told before anything else is done about it. */
  unready(reason: string): void;
  event(event: ApplyTraceEvent): void;
  /** Events are recorded for the conformance check: they are to have what only that needs. */
  readonly isTraced: boolean;
  /** A broken invariant: the process cannot go on. */
  fatal(error: Error): void;
}

export interface Payload {
  start(): void;
  /** Consecutive entries that have just been chosen. */
  chosen(entries: readonly SlotEntry[]): void;
  /** There may be room for proposals again. */
  room(): void;
  /** This replica leads under this ballot, and everything that it found is chosen and applied. */
  lead(ballot: Ballot): void;
  /** It does not any more. */
  follow(): void;
  /** The log lets go of slots, at most up to `durablePointer`. */
  purged(): void;
  /** Everything at or below is in the database; and survives a crash. */
  readonly pointer: Slot;
  readonly durablePointer: Slot;
  stop(): Promise<void>;
}
