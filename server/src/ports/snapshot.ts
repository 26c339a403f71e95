/**
 * State transfer: a copy of a healthy replica's PostgreSQL, taken while it serves, for one that has none.
 *
 * The application pointer is a row in the copy, and so is the configuration at it: a copy without its pointer cannot exist.
 * Invariants: what is half received is never started; the directory that it replaces is set aside, not deleted.
 */
import type { Readable } from 'node:stream';
import type { ReplicaId, Slot } from '../multipaxos/types.ts';

/**
 * A tar stream of a data directory. `bytesTotal` is an estimate made at the beginning; null: unknown. The application pointer in it is `pointer` or above; left
 * out: unknown until it is started.
 */
export interface SnapshotStream {
  readonly pointer?: Slot;
  readonly bytesTotal: number | null;
  readonly stream: Readable;
}

/** Offered by a replica to its peers. */
export interface SnapshotSource {
  /** Begins a copy. @throws SnapshotError */
  open(): Promise<SnapshotStream>;
}

/** Fetches from a peer. */
export interface SnapshotFetcher {
  /** @throws SnapshotError; the stream ends in an error if the source dies midway */
  fetch(from: ReplicaId, signal: AbortSignal): Promise<SnapshotStream>;
}

/**
 * `sourceDamaged`: PostgreSQL found damaged pages while it made the copy. `snapshotInvalid`: what was received is not a whole, unaltered copy.
 * `noSpace`: here; nothing of it is kept.
 */
export type SnapshotErrorCode =
  | 'sourceUnavailable'
  | 'sourceBusy'
  | 'sourceDamaged'
  | 'transferFailed'
  | 'snapshotInvalid'
  | 'noSpace';

export class SnapshotError extends Error {
  override readonly name = 'SnapshotError';
  readonly code: SnapshotErrorCode;
  constructor(code: SnapshotErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
