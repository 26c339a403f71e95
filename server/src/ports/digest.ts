/**
 * Comparing the data of replicas: a digest of one replica's databases as of one position of the WAL, made while it goes on.
 *
 * Does nothing itself.
 * Invariant: all that is digested is of the moment at which the snapshots were opened, or is said to be left out.
 */
import type { Slot } from '../multipaxos/types/names.ts';
import type { DataDigest } from './control.ts';

/** Which transactions a snapshot shows: those whose full id is below `end` and not in `running`, if they have committed. */
export interface SnapshotView {
  readonly end: bigint;
  readonly running: ReadonlySet<bigint>;
}

export interface DigestSource {
  /** Opens the connections that snapshots need, so that taking them is quick. Holds nothing in place. @throws Error if PostgreSQL is away */
  prepare(): Promise<PreparedDigest>;
}

export interface PreparedDigest {
  /**
   * Takes a snapshot of every database now. `isMissing` is asked about each of them: true if a transaction that ought to be shown is not; then they are taken again. Databases that are too many for one comparison
   * take turns by `slot`. Once: afterwards the connections are the snapshot's, or closed if it failed.
   * @throws DigestError; Error if PostgreSQL is away; the signal's reason
   */
  open(slot: Slot, isMissing: (view: SnapshotView) => boolean, signal: AbortSignal): Promise<DigestSnapshot>;
  close(): Promise<void>;
}

export interface DigestSnapshot {
  /** What the snapshot of each database shows. */
  readonly views: readonly SnapshotView[];
  /**
   * Reads everything; what is not read within `msMax` (default: a day) is left out, and so is a database whose catalogs cannot be read. Writers go on; whoever truncates or alters a table waits only while that one is read. Once.
   * Given up, it ends what PostgreSQL does for it at once.
   * @throws DigestError; Error if PostgreSQL goes away; the signal's reason
   */
  digest(signal: AbortSignal, msMax?: number): Promise<DataDigest>;
  /** On a primary its snapshots keep VACUUM from removing what the snapshots of standbys still need: best closed when all are done. */
  close(): Promise<void>;
}

/** `unreadable`: PostgreSQL finds a table damaged, or cannot read it for another reason that is its own. `interrupted`: a snapshot was lost while it was read, to the replay of a standby say: compare again. */
export class DigestError extends Error {
  override readonly name = 'DigestError';
  readonly code: 'unreadable' | 'interrupted';
  constructor(code: 'unreadable' | 'interrupted', message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
