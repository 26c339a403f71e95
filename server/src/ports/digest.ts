/**
 * Comparing the data of replicas: a digest of one replica's databases as of one position of the WAL, made while it goes on.
 *
 * Invariant: all that is digested is of the moment at which the snapshot was opened.
 */
import type { Slot } from '../multipaxos/types.ts';
import type { DataDigest } from './control.ts';

export interface DigestSource {
  /**
   * Takes a snapshot of every database now. `isMissing` is asked about transactions (full ids) that the snapshots take for running: true if one of them ought to be in them; then they are taken again.
   * @throws Error if PostgreSQL is away, or the signal's reason
   */
  open(isMissing: (running: readonly bigint[]) => boolean, signal: AbortSignal): Promise<DigestSnapshot>;
}

export interface DigestSnapshot {
  /**
   * Reads everything; takes as long as it takes. Writers go on; whoever truncates or alters a table waits only while that one is read. Once.
   * @throws DigestError; Error; the signal's reason
   */
  digest(slot: Slot, signal: AbortSignal): Promise<DataDigest>;
  close(): Promise<void>;
}

/** A table was rewritten or removed after the snapshot was taken: nothing can be said of it any more. Compare again. */
export class DigestError extends Error {
  override readonly name = 'DigestError';
  readonly code = 'schemaChanged';
}
