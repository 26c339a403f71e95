/**
 * Comparing the data of replicas: a digest of one replica's database as of one slot, made while it goes on.
 *
 * Invariant: rows, schema and positions of sequences are all those of the moment at which the snapshot was opened, if nothing was applied and no
 * session ended (records its slot) between that slot and the end of `open`.
 */
import type { ApplicationPointer } from './database.ts';
import type { DataDigest } from './control.ts';

export interface DigestSource {
  /** Connects, so that opening takes one round trip. @throws DatabaseError */
  prepare(): Promise<PreparedDigest>;
}

export interface PreparedDigest {
  /** Takes the snapshot now; its pointer tells what is in it. Once. @throws DatabaseError */
  open(): Promise<DigestSnapshot>;
  close(): Promise<void>;
}

export interface DigestSnapshot {
  readonly pointer: ApplicationPointer;
  /** Reads everything, blocks nobody; takes as long as it takes. Once. Its slot is that of the pointer. @throws DatabaseError, or the signal's reason */
  digest(signal: AbortSignal): Promise<DataDigest>;
  close(): Promise<void>;
}
