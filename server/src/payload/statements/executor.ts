/**
 * What executes operations at one replica: the interface between the payload (statements-payload.ts) and PostgreSQL (serial-executor.ts).
 *
 * Invariants that each implementation keeps: operations take effect in slot order, one at a time; all replicas that were given the same operations have the same data and the same results; `pointer` only rises, and so does `durablePointer`, which is never above it.
 */
import type { Slot } from '../../multipaxos/types/names.ts';
import type { TransactionStatus } from '../../pgwire/message-types.ts';
import type { Operation, SessionId } from './operation.ts';

/**
 * What an operation came to at this replica. `executed`: here and now. `repeated`: it had been executed before, and this is the answer that was kept. `notKept`: it had been executed before, and its answer is not known any more;
 * `answer` is an error that says so. Of calls (calls.ts) alone, whose answer then is empty: `superseded`: passed over, for another
 * request came ahead of it; `unmet`: the session did not stand where it had to; `differs`: another request had its name.
 */
export interface OperationResult {
  readonly outcome: 'executed' | 'repeated' | 'notKept' | 'superseded' | 'unmet' | 'differs';
  /** What the client is told: messages of PostgreSQL's protocol. Of a request up to and with ReadyForQuery; of `open` from AuthenticationOk on, without BackendKeyData; empty of the others. */
  readonly answer: Buffer;
  /** Of the session from now on. */
  readonly status: TransactionStatus | 'closed';
  /** Of what must be the same at all replicas: tags, rows (in whatever order), SQLSTATEs. Null: this replica cannot say. */
  readonly digest: string | null;
  /** Of calls: the session behind it; undefined: there is none. */
  readonly session?: SessionFacts;
}

/** What whoever gives the next call of a session has to know. */
export interface SessionFacts {
  /** Of its last request. */
  readonly seq: number;
  readonly status: TransactionStatus;
  /** By which its texts are read. */
  readonly settings: TextSettings;
  /** A request of it had answers that may differ between replicas, and may have left something that does. */
  readonly hadUncompared: boolean;
}

export interface TextSettings {
  readonly client_encoding: string;
  readonly standard_conforming_strings: string;
}

export interface ExecutorListener {
  /** `at`: the slot at which it took effect, above its own where it has waited. Told once for each operation, in the order in which they took effect: one that waits for another session's transaction takes effect behind that one's end. */
  finished(slot: Slot, operation: Operation, result: OperationResult, at: Slot): void;
  /** A pause begins: what would begin a transaction is held back. */
  pausing?(name: string): void;
  /** It is over. */
  resumed?(name: string): void;
  /** Everything up to the slot is executed, durably, and no transaction is open; what is held back is written down. Nothing is executed here until it resolves. Never rejects. */
  atRest(slot: Slot): Promise<void>;
  /** A notification, for the session's client, if that is here. `at`: the slot at which it came; half a slot more behind a moment of rest. */
  notified?(session: SessionId, message: Buffer, at: number): void;
}

/**
 * `exact`: the database is what executing everything up to `pointer` makes of it, and the sessions are there. `inexact`: only a copy helps. `reason`: `openTransactions`: transactions were open at the pointer; `sequences`: a crash
 * has moved sequences on; `halfDone`: a statement that cannot be taken back was under way; `sessions`: a session could not be opened again as it was; `differs`: what it answered differs from what a majority did; `adopted`: the group goes on from another replica's database; `copyUseless`: the copy that took its place is of no use; `damaged`: PostgreSQL says so
 * of its files; `presumedDamaged`: no attempt brings it up, for whatever reason.
 */
export type StartOutcome =
  | { readonly code: 'exact'; readonly pointer: Slot }
  | { readonly code: 'inexact'; readonly pointer: Slot; readonly reason: InexactReason };

export type InexactReason =
  | 'openTransactions'
  | 'sequences'
  | 'halfDone'
  | 'sessions'
  | 'differs'
  | 'adopted'
  | 'lost'
  | 'copyUseless'
  | 'behind'
  | 'damaged'
  | 'presumedDamaged';

/** A process of PostgreSQL that is no session of the group, such as an operator's. */
export interface ForeignProcess {
  readonly pid: number;
  readonly application: string;
}

export interface StatementExecutor {
  /** @throws Error: PostgreSQL cannot be reached */
  start(): Promise<StartOutcome>;
  /** The slot above the last one. Null: what the slot holds is no operation. Resolves when everything is done that it brings about, but for what waits for other sessions. @throws Error: this replica cannot go on; it begins again with `start` */
  execute(slot: Slot, operation: Operation | null): Promise<void>;
  /** Behind `start`, once: what was held back when it stopped. */
  goOn(): Promise<void>;
  /** Not within `execute`. True: no transaction is open, nothing waits, and everything up to the pointer is durable. */
  rest(): Promise<boolean>;
  /** Everything at or below has been executed, or waits for other sessions. */
  readonly pointer: Slot;
  /** What is in the database and survives a crash. */
  readonly durablePointer: Slot;
  /** Sessions that are in a transaction block. */
  openTransactions(): number;
  /** Sessions that hold what outlives their transactions: while there are any no pause can bring a moment of rest. */
  boundSessions(): readonly SessionId[];
  /** All that are open. */
  openSessions(): Iterable<SessionId>;
  /** Those that could not be opened again when this replica was restarted, and are open at others. */
  lostSessions(): Iterable<SessionId>;
  /** It is a request of one of those: others have executed it, or will, and this replica cannot. */
  lacks(operation: Operation): boolean;
  /** As this replica sees it now; null: it knows no such session. `isWaiting`: a request of it waits for others. */
  factsOf(session: SessionId): (SessionFacts & { readonly isWaiting: boolean }) | null;
  /** Who keeps the request that is being executed waiting. @throws whatever PostgreSQL says */
  blockedBy(): Promise<readonly ForeignProcess[]>;
  stop(): Promise<void>;
}
