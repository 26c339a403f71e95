/**
 * The directory of a replica's database: what is in it, and what may be done with it while PostgreSQL does not run.
 *
 * Does nothing itself.
 */
import type { RecoveryProgress } from '../api/status.ts';
import type { Configuration } from '../multipaxos/types/members.ts';
import type { Ballot, ReplicaId } from '../multipaxos/types/names.ts';
import type { Lsn, Timeline } from '../wal/lsn.ts';
import type { WalPosition } from '../wal/position.ts';

/**
 * `founder`: a primary in whose group no leadership has begun; `isNew`: its database was made for it, and holds nothing yet. `standby`: holds chosen WAL and nothing else, up to the position at least. `promoting`: a standby that may have become a
 * primary for this leadership. `primary`: may hold WAL that was never chosen, and hints of it in any block. `copying`: half of it is another replica's: not a database.
 */
export type DirectoryRole =
  | { readonly kind: 'founder'; readonly isNew: boolean }
  | { readonly kind: 'standby' }
  | { readonly kind: 'promoting'; readonly leadership: Ballot }
  | { readonly kind: 'primary'; readonly leadership: Ballot }
  | { readonly kind: 'copying'; readonly from: ReplicaId };

/** What a directory says, durably, of what is in it. `position`, `configuration`: of the slot up to which everything is in it, durably, or (`copying`) was before. */
export interface DirectoryState {
  readonly role: DirectoryRole;
  readonly position: WalPosition;
  readonly configuration: Configuration | null;
}

/** Why the database that is there must not be used any more, or only after others' blocks have taken the place of its own. */
export interface Loss {
  readonly cause: Exclude<RecoveryProgress['cause'], 'logLost' | 'noLog'>;
  readonly reason: string;
  /** Found by a comparison: who had what the majority had. Left out: nobody was compared. */
  readonly equal?: readonly ReplicaId[];
  /** Nothing says that the files are damaged, but no attempt brings up the database: what is here is kept in its place until another replica has begun to send a copy. */
  readonly isPresumed?: boolean;
}

/** `foreign`: of another group's data. */
export type DirectoryContents =
  | { readonly kind: 'usable'; readonly state: DirectoryState }
  | { readonly kind: 'missing' }
  | { readonly kind: 'lost' | 'foreign'; readonly reason: string };

export interface DatabaseDirectory {
  /** Looks at the files, starts nothing. */
  inspect(): Promise<DirectoryContents>;
  /** Durable when it resolves. */
  write(state: DirectoryState): Promise<void>;
  /** A new database, whose replica founds a group: its role is `founder`. @throws LaunchError; the signal's reason, when nothing of it is left */
  create(ended: AbortSignal): Promise<DirectoryState>;
  /** Where the WAL on this timeline ends, as PostgreSQL would find it after a crash. `from` is at most that, and the directory has the WAL from there on, or from a later checkpoint on. @throws Error if it cannot be read */
  endOfWal(timeline: Timeline, from: Lsn): Promise<Lsn>;
  /**
   * Of a promotion to `timeline` that was interrupted. `done`: PostgreSQL has come to it. `none`: it has not; what it had begun of it is removed, and the directory is the standby's that it was. `other`: it has come to
   * another one.
   */
  settlePromotion(from: Timeline, timeline: Timeline): Promise<'done' | 'none' | 'other'>;
  /** WAL that is there, to the end of the segment at most; empty: it is not there. @throws Error if it cannot be read */
  readWal(from: Lsn, timeline: Timeline, bytesMax: number): Promise<Buffer>;
  /** What is missing of the WAL that a standby needs to begin with, or cannot be read, where everything up to `position` has been received; null: nothing. @throws Error if it cannot be looked at */
  missingWal(position: WalPosition): Promise<string | null>;
  /** Notes, durably, that what is here is lost, until a copy has taken its place. */
  condemn(loss: Loss): Promise<void>;
  condemned(): Promise<Loss | null>;
  /** What was condemned is moved out of the way, if it is here and is a database; a copy that was begun in its place is left. */
  setAside(): Promise<void>;
  /** Forgets that anything was condemned: another database has taken its place. */
  acquit(): Promise<void>;
}
