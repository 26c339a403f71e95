/**
 * What a gateway needs of the replica: who serves, the way to its PostgreSQL, whether an answer may leave, and what became of a transaction in doubt.
 *
 * Does nothing itself. The replica implements it; tests of the gateway implement it in memory.
 */
import type { StandbyReads } from './standby-reads.ts';
import type { FunctionsLook } from './client-functions.ts';
import type { Ballot, ReplicaId } from '../multipaxos/types/names.ts';

/** Whom a new client is to be served by. `generation` changes whenever this replica's leadership, or the life of its PostgreSQL as a primary, begins or ends. */
export type Service =
  | { readonly kind: 'here'; readonly generation: number }
  | { readonly kind: 'at'; readonly leader: ReplicaId; readonly host: string; readonly port: number }
  /** `drains`: sessions of that generation may end what they have begun, and begin nothing more. */
  | { readonly kind: 'nowhere'; readonly reason: string; readonly drains?: number };

/** How to reach the PostgreSQL that serves. */
export interface PostgresDoor {
  readonly socketPath: string;
  /** Roles that may not log in through the gateway. */
  readonly reservedUsers: readonly string[];
  /** @throws Error if PostgreSQL cannot be asked */
  readonly findLogin: FindLogin;
  readonly lookAtLeft: LookAtLeft;
}

/** Ends PostgreSQL's processes that have waited for a lock for so long before their session has begun, and resolves with how many these were, and which of `pids` are still there, with what PostgreSQL says that they wait for (null: for nothing). */
export type LookAtLeft = (
  slowMs: number,
  pids: readonly number[],
) => Promise<{
  readonly ended: number;
  readonly living: readonly { readonly pid: number; readonly waitsFor: string | null }[];
}>;

export type FindLogin = (role: string) => Promise<LoginRecord>;

/** What PostgreSQL has on record about a role that wants to log in. */
export interface LoginRecord {
  readonly isKnown: boolean;
  /** `rolpassword`, which is never the password. Null: there is none. */
  readonly secret: string | null;
  /** The time that `VALID UNTIL` names is over. */
  readonly isExpired: boolean;
  /** With how many iterations a new password would be kept. */
  readonly iterations: number;
}

/** A transaction that was open in a session: `leadership` ran it; `xid` is PostgreSQL's full (64 bit) transaction id. */
export interface OpenTransaction {
  readonly leadership: Ballot;
  readonly xid: bigint;
}

/** `unknown`: not to be found out here, or not in the time given. */
export type TransactionOutcome = 'committed' | 'notCommitted' | 'unknown';

/** A transaction that its client has named (`barista.request_id`), in its database, for the role that logged in. */
export interface NamedRequest {
  readonly database: string;
  /** Object ids of the role and of the database, with a colon between: their names may be others' by the time that it is asked about. */
  readonly owner: string;
  readonly name: string;
}

/** A session, by what it may do: the role that logged in, and its database. */
export interface SessionPlace {
  readonly database: string;
  readonly role: string;
  /** Their object ids, as in `NamedRequest`; null: not known. */
  readonly owner: string | null;
}

/** `tag`: the command tag of the first time, such as `INSERT 0 1`; null: it was not kept. */
export type RequestOutcome =
  | { readonly code: 'committed'; readonly tag: string | null }
  | { readonly code: 'notCommitted' | 'unknown' };

export interface ClientService {
  /** For sessions that ask to be answered by this replica's own standby. */
  readonly reads: StandbyReads;
  service(): Service;
  /** Calls back when `service()` changes. Returns the way to stop. */
  onServiceChange(listener: (service: Service) => void): () => void;
  /** A session of this generation has begun. Returns the way to tell that it asks nothing more. */
  enter(generation: number): () => void;
  /** Null while PostgreSQL does not serve. */
  door(): PostgresDoor | null;

  /**
   * True if what was read from PostgreSQL's sockets before this call may leave now: this replica was certainly still the leader, and nothing
   * is visible in its PostgreSQL that is not chosen. Cheap (some microseconds): meant to be asked once for all that one turn of the event loop has brought.
   */
  mayAnswer(generation: number): boolean;
  /** Resolves true as soon as what was read before this call may leave, false once the generation has ended. Never rejects. */
  awaitAnswer(generation: number): Promise<boolean>;
  /**
   * A session is about to do something after which its commits may not wait to be chosen (it turns `synchronous_commit` down). From this call until the
   * returned function is called, `mayAnswer` is false: every answer, of every session, waits for a barrier by `awaitAnswer`.
   */
  distrust(): () => void;
  /** Resolves when everything that is visible in PostgreSQL now is chosen; false if the generation ends before. A commit of its own: milliseconds. */
  barrier(generation: number): Promise<boolean>;

  /**
   * The transactions that the sessions with these backend process ids have open, asked of PostgreSQL in one query on a connection of its own. For sessions whose answer is late: what is not known
   * when the leader dies can never be asked. Missing: it has none with an id. Never rejects.
   */
  openTransactions(
    pids: readonly number[],
    generation: number,
  ): Promise<ReadonlyMap<number, OpenTransaction>>;
  /**
   * Has PostgreSQL cancel what this backend executes, unless that is at the end of its transaction: a cancel there would end the wait of a commit that is not chosen. `committing`: nothing was cancelled.
   * Never rejects.
   */
  cancel(pid: number, generation: number): Promise<'done' | 'committing'>;
  /** What became of it, as the log and this replica's PostgreSQL have it. What is committed is told while its leadership goes on, what is not by its leader alone; else this waits up to `waitMs` for another leadership to begin, and for its beginning to be replayed here. Never rejects. */
  outcomeOf(transaction: OpenTransaction, waitMs: number): Promise<TransactionOutcome>;
  /** The same for a transaction that has a name: `leadership` is that of the session in which it was being decided. Never rejects. */
  outcomeOfRequest(request: NamedRequest, leadership: Ballot, waitMs: number): Promise<RequestOutcome>;
  /**
   * Whether such a session may have had effects that are not in its database, so that it tells little that its transaction is not committed there: as this replica's PostgreSQL knows once it has everything of that
   * leadership; null: as it knows now. True if that is not found out in time. Never rejects.
   */
  mayActElsewhere(session: SessionPlace, leadership: Ballot | null, waitMs: number): Promise<boolean>;
  /**
   * The functions of a database's clients, as all know them who were answered before: this replica's PostgreSQL is asked once it has that. `known`: the mark of what is known of them. Null: it cannot be asked in time. Never rejects.
   */
  lookAtFunctions(database: string, known: string | null, waitMs: number): Promise<FunctionsLook | null>;
  /** The ballot under which this generation serves; null once it has ended. */
  leadership(generation: number): Ballot | null;
  /** Makes the tables and functions for named transactions in this database, if they are not there. @throws Error with the reason */
  prepareRequests(database: string, generation: number): Promise<void>;
}
