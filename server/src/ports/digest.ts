/**
 * Comparing the data of replicas: a digest of one replica's database as of one slot, made while it goes on.
 *
 * Invariant: rows, schema and positions of sequences are all those of the moment at which the snapshot was opened, if nothing was applied and no
 * session ended (records its slot) between that slot and the end of `open`.
 */
import type { DataDigest } from './control.ts';
import type { ApplicationPointer } from './database.ts';

export interface DigestSource {
  /** Connects, so that opening takes one round trip. @throws DatabaseError */
  prepare(): Promise<PreparedDigest>;
}

export interface PreparedDigest {
  /** Takes the snapshot now and reads where the sequences stand, which no snapshot holds; its pointer tells what is in it. Once. @throws DatabaseError */
  open(): Promise<DigestSnapshot>;
  close(): Promise<void>;
}

export interface DigestSnapshot {
  readonly pointer: ApplicationPointer;
  /**
   * Reads everything; takes as long as it takes. Writers go on; whoever truncates or alters a table waits only while that one is read. Once. Its slot is the
   * pointer's, and may be below the one that the caller knows: a leader's pointer lags. @throws DatabaseError, DigestError, or the signal's reason
   */
  digest(signal: AbortSignal): Promise<DataDigest>;
  close(): Promise<void>;
}

/** The schema was changed, or a table truncated, after the snapshot was taken: nothing can be said of it any more. Compare again. */
export class DigestError extends Error {
  override readonly name = 'DigestError';
  readonly code = 'schemaChanged';
}
