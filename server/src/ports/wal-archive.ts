/**
 * Where a replica keeps chosen WAL beyond what its log and its PostgreSQL need, for restoring a group as it was at a point in time.
 *
 * Does nothing itself.
 */
import type { Lsn, Timeline } from '../wal/lsn.ts';

export interface ArchivedRange {
  readonly timeline: Timeline;
  readonly start: Lsn;
  /** Not changed until it is written. */
  readonly data: Uint8Array;
}

export interface ArchiveStatus {
  /** Of what is archived last; null: nothing is. */
  readonly timeline: Timeline | null;
  /** What follows here leaves no gap; null: nothing is there yet, or nothing that can be gone on with. */
  readonly end: Lsn | null;
  readonly durable: Lsn | null;
  /** On the disk. */
  readonly bytes: number;
  /** Since it was opened. */
  readonly gaps: number;
  readonly problem: string | null;
}

export interface WalArchive {
  /** The next range of the chosen WAL. Resolves when another may be given. Never rejects: a disk that fails stops the archive only, and is told by `status`. */
  append(range: ArchivedRange): Promise<void>;
  /** Nobody needs what lies below: whole segments of it go. Never rejects. */
  forgetBelow(lsn: Lsn): Promise<void>;
  status(): ArchiveStatus;
  /** Durable is then what was given. */
  close(): Promise<void>;
}

export interface ArchiveSource {
  /** PostgreSQL's identifier of the cluster. */
  readonly system: bigint;
  /** What the history file of a timeline holds; empty: it comes from nowhere. */
  readonly history: (timeline: Timeline) => string;
  /** Chosen WAL of one segment that was not given, such as the beginning of the first one, or what was lost with the archive's last seconds; null: it is not to be had. */
  readonly missing: (from: Lsn, to: Lsn, timeline: Timeline) => Promise<Uint8Array | null>;
}
