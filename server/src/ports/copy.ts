/**
 * Copies of a replica's database for one that needs it: what differs is sent, what is equal is not.
 *
 * Both sides talk over a channel of bytes between the two replicas; what they say is the postgres adapter's business, how it travels the transport's.
 * Invariants: nobody is given a copy of WAL that was not chosen; what has begun to be received is no database, and says so durably, until it is complete with the WAL of the time in which it was
 * made.
 */
import type { Duplex } from 'node:stream';
import type { Configuration } from '../multipaxos/types/members.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import type { WalPosition } from '../wal/position.ts';

/** What a complete copy holds: everything up to `position`, durably; the log of the replica that received it must go on from there. */
export interface CopiedDatabase {
  readonly from: ReplicaId;
  readonly position: WalPosition;
  readonly configuration: Configuration | null;
  /** Bytes that came over the channel, and what the database has in all, with the WAL that belongs to it. */
  readonly bytesReceived: number;
  readonly bytesTotal: number;
  /** Blocks of 8 KB that differed, or were not here. */
  readonly blocksReceived: number;
}

/** While a copy is received. `bytesToCompare`: an estimate; the WAL, which comes last, is not in it. */
export interface CopyProgress {
  readonly bytesCompared: number;
  readonly bytesToCompare: number;
  readonly bytesReceived: number;
}

/** Offered by a replica whose database is healthy. */
export interface CopySource {
  /** Serves one copy over this channel; resolves when it has ended, well or not: what was written before an `end` still reaches the other side, nothing else does. Never rejects: the other side is told what went wrong. */
  serve(channel: Duplex): Promise<void>;
}

/** Opens a channel to a peer's CopySource. */
export interface CopyFetcher {
  /** @throws CopyError if the peer cannot be reached or refuses */
  open(from: ReplicaId, signal: AbortSignal): Promise<Duplex>;
}

/**
 * `sourceUnavailable`, `sourceBusy`: ask another one, or later. `sourceDamaged`: its PostgreSQL found damaged pages. `unlike`: the source's PostgreSQL is of another major version, architecture or locale.
 * `copyInvalid`: what was received is no whole, unaltered copy. `tooOld`: this replica's log does not go on from it. `noSpace`: here.
 */
export type CopyErrorCode =
  | 'sourceUnavailable'
  | 'sourceBusy'
  | 'sourceDamaged'
  | 'unlike'
  | 'transferFailed'
  | 'copyInvalid'
  | 'tooOld'
  | 'noSpace';

export class CopyError extends Error {
  override readonly name = 'CopyError';
  readonly code: CopyErrorCode;
  constructor(code: CopyErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
