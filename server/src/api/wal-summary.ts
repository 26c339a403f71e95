/**
 * What a slot of the log holds, for people: `GET /api/log/SLOT` of a replica and of the demo, and what the leader's PostgreSQL is at work on. Positions are as PostgreSQL writes them, such as `0/3000060`.
 *
 * Every list is bounded; what was left out is counted beside it.
 */
import type { Ballot, EntryLabel, ReplicaId, Slot } from '../multipaxos/types/names.ts';

/** What a file of a relation is called now. `table`: that an index or a TOAST table belongs to. */
export interface RelationName {
  readonly name: string;
  readonly kind: 'table' | 'index' | 'toast' | 'sequence' | 'other';
  readonly table: string | null;
  /** One of PostgreSQL's own, such as `pg_class`. */
  readonly isSystem: boolean;
}

/** Changes to one file. `relation`: its `relfilenode`. `database` 0: shared by all databases. */
export interface WalChange {
  readonly tablespace: number;
  readonly database: number;
  readonly relation: number;
  /** Null: not known, such as after it was dropped or written anew. */
  readonly name: RelationName | null;
  /** Rows of a table. */
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  /** Records that are about its blocks, those that change no rows included. */
  readonly records: number;
}

export type TransactionEndKind = 'commit' | 'abort' | 'prepare' | 'commitPrepared' | 'abortPrepared';

/** What one transaction did in this slot, its subtransactions included as far as they can be told. */
export interface WalTransaction {
  /** The lower 32 bits of its id. */
  readonly xid: number;
  /** Null: it goes on, or it ended in another slot. */
  readonly ends: TransactionEndKind | null;
  /** When it ended: microseconds since 1970. */
  readonly endsAtUs: number | null;
  /** Its name, if it was prepared under one. */
  readonly name: string | null;
  readonly records: number;
  readonly bytes: number;
  readonly changes: readonly WalChange[];
  readonly changesMore: number;
}

/** Records of one kind, such as `Btree` `INSERT_LEAF`. */
export interface WalOperationCount {
  readonly manager: string;
  readonly operation: string;
  readonly records: number;
  readonly bytes: number;
}

/** A range of WAL. Records are counted where they end. */
export interface RangeContent {
  readonly kind: 'range';
  readonly leadership: Ballot;
  readonly timeline: number;
  readonly start: string;
  readonly end: string;
  readonly bytes: number;
  readonly records: number;
  /** Images of whole blocks, which the first change after a checkpoint brings along. */
  readonly images: number;
  readonly imageBytes: number;
  /** Of a record that began in an earlier slot. */
  readonly bytesBefore: number;
  /** Of a record that goes on in a later slot. */
  readonly bytesAfter: number;
  /** In the order of their first records. */
  readonly transactions: readonly WalTransaction[];
  readonly transactionsMore: number;
  /** Changes that belong to no transaction: vacuum, hints, checkpoints. */
  readonly background: readonly WalChange[];
  readonly backgroundMore: number;
  /** The most frequent first. */
  readonly operations: readonly WalOperationCount[];
  readonly operationsMore: number;
  /** What is wrong with the bytes; null: they are WAL. What is above was found before. */
  readonly fault: string | null;
}

/** The beginning of a leadership: `timeline` leaves the one before at `fork`. `resumes`: the same replica goes on with its timeline. */
export interface LeadershipContent {
  readonly kind: 'leadership';
  readonly leadership: Ballot;
  readonly timeline: number;
  readonly fork: string;
  /** No transaction with this id or a higher one has effect from before. */
  readonly nextXid: string;
  readonly resumes: boolean;
}

/** What an operation is, where statements travel; of a request by its text. */
export type OperationWord =
  | 'open'
  | 'begin'
  | 'execute'
  | 'commit'
  | 'rollback'
  | 'close'
  | 'closeAll'
  | 'cancelOpen'
  | 'pause'
  | 'resume'
  | 'hold'
  | 'goOn'
  | 'adopt';

/** The session of a client: digits of its name, too few to act in it. `at`: the replica that its client came to; null: any, or one that is not known. */
export interface ShownSession {
  readonly name: string;
  readonly at: ReplicaId | null;
}

/** One operation, where statements travel. `session` null: it is about all of them. */
export interface OperationContent {
  readonly kind: 'operation';
  readonly what: OperationWord;
  readonly session: ShownSession | null;
  /** Whose proposal it was. */
  readonly proposer: ReplicaId;
  /** Counts the requests of the session from 1 on. Null: it is no request. */
  readonly request: number | null;
  /** When its client is answered, where it asked for more or less than the group does. */
  readonly level: string | null;
  /** Of what opens a session. */
  readonly user: string | null;
  readonly database: string | null;
  /** Its statements as they are executed, cut. Null: the replica is configured not to tell them. */
  readonly sql: readonly string[] | null;
  readonly bytes: number;
}

export type SlotContent =
  | RangeContent
  | OperationContent
  | LeadershipContent
  | { readonly kind: 'verify'; readonly check: string }
  | { readonly kind: 'noop' }
  | { readonly kind: 'leaderStart'; readonly ballot: Ballot }
  | { readonly kind: 'members'; readonly version: number; readonly members: readonly string[] }
  /** A command that this version cannot read. */
  | { readonly kind: 'unreadable'; readonly reason: string };

export interface SlotAnswer {
  readonly slot: Slot;
  readonly label: EntryLabel;
  readonly content: SlotContent;
}

/** `purged`: the log does not have it any more. `notChosen`: it is not known to be chosen here. `unavailable`: nobody can be asked now. */
export interface SlotRefusal {
  readonly error: {
    readonly code: 'badRequest' | 'purged' | 'notChosen' | 'unavailable' | 'failed';
    readonly message: string;
  };
}

/**
 * A transaction that is open in the leader's PostgreSQL, as it was found while somebody watched. `waiting`: its COMMIT waits to be chosen. `idle`: its client says nothing. `xid`: the lower 32 bits; null: it has changed
 * nothing. `sql`: its last statement, cut; null: the replica is configured not to tell it.
 */
export interface RunningTransaction {
  readonly pid: number;
  readonly xid: number | null;
  readonly state: 'running' | 'waiting' | 'idle';
  readonly user: string;
  readonly database: string;
  readonly sql: string | null;
  /** Since it began. */
  readonly sinceMs: number;
}
