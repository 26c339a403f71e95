/**
 * The durable log of one replica's acceptor, as the rest of the server sees it.
 *
 * Invariants that every adapter keeps (log-store-contract.ts tests them):
 * - `append` resolves only when its records survive a crash of the process and of the machine; records become durable
 *   in the order of the calls, so what a crash leaves is a prefix of what was appended.
 * - A record that cannot be read back exactly is never returned as data.
 */
import type { Entry } from '../multipaxos/types/entries.ts';
import type { Configuration } from '../multipaxos/types/members.ts';
import type { Ballot, ReplicaId, Slot } from '../multipaxos/types/names.ts';
import type { LogRecord, RecoveredLog } from '../multipaxos/types/records.ts';

/**
 * `logCorrupt`: a record in the middle of the log fails its checksum; the message names file and offset. The replica must not vote.
 * `logLocked`: another process has this directory. `logFull`: no space; nothing of the failed append is visible, and the same
 * append may be tried again. `logMissing`: there is no log, and none was to be created: it was never founded here, or it is lost. `logExists`: it was to be
 * created and is there. `logFailed`: any other I/O error, with its cause. `logClosed`: used after close.
 */
export type LogStoreErrorCode =
  | 'logCorrupt'
  | 'logLocked'
  | 'logFull'
  | 'logMissing'
  | 'logExists'
  | 'logFailed'
  | 'logClosed';

export class LogStoreError extends Error {
  override readonly name = 'LogStoreError';
  readonly code: LogStoreErrorCode;
  constructor(code: LogStoreErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** Whose log it is: written when the log is created, never changed. */
export interface LogIdentity {
  /** Drawn at random when the group was founded: a log of another group of the same name is told apart. */
  readonly cluster: string;
  /** The incarnation whose promises and votes it holds, such as `r2.2`. */
  readonly member: ReplicaId;
}

/**
 * What a new log begins with: `identity`, the configuration in force, and `base`: entries at or below are chosen, in the replica's
 * database, and purged from the beginning (0: the log begins with slot 1). `promised`: as if it had been promised before; not `ballotNone` where that
 * database knows of leaderships of its own. It is all there as soon as there is a log, since nobody makes up for what a crash would leave out.
 * Creating is explicit: opening never creates.
 */
export interface NewLog {
  readonly identity: LogIdentity;
  readonly configuration: Configuration;
  readonly base: Slot;
  readonly promised: Ballot;
}

export interface LogStore {
  readonly identity: LogIdentity;
  /** What was recovered when the store was opened. */
  readonly recovered: RecoveredLog;
  /** Appends records as one group. Calls may overlap; the store writes waiting groups together. @throws LogStoreError */
  append(records: readonly LogRecord[]): Promise<void>;
  /**
   * Entries of slots [fromSlot, toSlot], the last written of each, stopping at the first slot that is missing and after
   * `bytesMax` bytes (at least one entry is returned if the first slot is there). @throws LogStoreError
   */
  read(fromSlot: Slot, toSlot: Slot, bytesMax: number): Promise<Entry[]>;
  /** Slots at or below `upTo` may be forgotten, but never the promise. Frees whole segments, so perhaps fewer go. Works when the log is full. */
  purge(upTo: Slot): Promise<void>;
  /** Highest slot forgotten for certain, and the bytes on disk. */
  stats(): { readonly purgedTo: Slot; readonly bytes: number; readonly segments: number };
  close(): Promise<void>;
}
