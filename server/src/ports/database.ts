/**
 * The replica's own PostgreSQL, as ordered apply and the replica see it.
 *
 * Invariant: the application pointer moves in the same PostgreSQL transaction as what it stands for.
 */
import type { TransactionPayload } from '../apply/effects.ts';
import type { Ballot, Configuration, Slot } from '../multipaxos/types.ts';

/**
 * `above`: slots beyond the pointer that are in already (a leader's sessions commit out of slot order).
 * `aboveTransactions`: ids of transactions that are in, too, but were prepared before their slot was known.
 */
export interface ApplicationPointer {
  readonly pointer: Slot;
  readonly above: readonly Slot[];
  readonly aboveTransactions: readonly string[];
  readonly keep: KeptWithPointer;
}

/** What is stored with the pointer, because the log below it may be gone when it is needed. */
export interface KeptWithPointer {
  /** Lowest slot that applying what is above the pointer may still read: below pointer + 1 while parts of a transaction wait. */
  readonly keepFrom: Slot;
  /** Ballot of the newest leader whose beginning is at or below the pointer: what an older one executed takes no effect above. */
  readonly leadership: Ballot;
  /** The newest one at or below the pointer; null only in a database that has applied none yet. */
  readonly configuration: Configuration | null;
}

/** One slot to apply: `transaction` has its parts put together; null for an entry that changes nothing. */
export interface SlotToApply {
  readonly slot: Slot;
  readonly transaction: AsyncIterable<TransactionPayload> | readonly TransactionPayload[] | null;
}

/**
 * `databaseDown`: PostgreSQL is away or went away; nothing of the batch is in, or all of it (ask the pointer).
 * `applyFailed`: PostgreSQL refused an effect: this replica differs from the others and must stop applying.
 * `databaseFull`: no space, memory or connections; nothing of the batch is in. PostgreSQL itself is well: try again after a while, do not restart it.
 * `databaseLost`: its files are damaged; the replica restores it from another.
 */
export type DatabaseErrorCode = 'databaseDown' | 'applyFailed' | 'databaseFull' | 'databaseLost';

export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';
  readonly code: DatabaseErrorCode;
  readonly sqlState: string | null;
  constructor(
    code: DatabaseErrorCode,
    message: string,
    options?: { cause?: unknown; sqlState?: string | null },
  ) {
    super(message, options);
    this.code = code;
    this.sqlState = options?.sqlState ?? null;
  }
}

export interface Database {
  /** Reads the pointer as it stands (not yet durable perhaps). @throws DatabaseError */
  applicationPointer(): Promise<ApplicationPointer>;
  /** Applies in slot order in one PostgreSQL transaction, moves the pointer to the last slot and stores `keep` with it. @throws DatabaseError */
  apply(batch: readonly SlotToApply[], keep: KeptWithPointer): Promise<void>;
  /** Leader: every slot at or below `upTo` is in; forgets their ids, moves the pointer, stores `keep` with it. @throws DatabaseError */
  movePointer(upTo: Slot, keep: KeptWithPointer): Promise<void>;
  /**
   * Makes everything committed so far durable; returns the pointer that is durable then. Also where damage shows that anybody met, such as a
   * client's query. @throws DatabaseError
   */
  flush(): Promise<Slot>;
  /** Ends every client session and rolls back what is prepared or open, so that the log can be applied. */
  endSessions(): Promise<void>;
}
