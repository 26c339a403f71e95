/**
 * The SQL that the gateway weaves into a client's own session, and how to read its answer.
 *
 * The postgres adapter implements it. `secret` arguments go as bind parameters only: a client may read the text of
 * statements in its session, never their parameters, and without the secret the functions refuse to work.
 */
import type { Effect } from '../apply/effects.ts';

/**
 * One row of the harvest. `position` rows tell where the sequences stand (only those that the transaction moved past what
 * the replicas have agreed on become effects). `serializable`: PostgreSQL may still refuse at COMMIT, so use PREPARE.
 */
export type HarvestRow =
  | { readonly kind: 'effect'; readonly effect: Effect; readonly sql: string | null }
  | { readonly kind: 'serializable' }
  /** The client has named the transaction; the name is claimed. */
  | { readonly kind: 'request'; readonly role: string; readonly id: string }
  /** A transaction of this name has been committed before: this one must be rolled back. `slot`: null if not known here. */
  | { readonly kind: 'committedBefore'; readonly slot: number | null; readonly tag: string }
  /** The transaction did something that cannot be replicated; it must be rolled back with this error. */
  | { readonly kind: 'refused'; readonly sqlState: string; readonly message: string; readonly hint: string };

export interface SessionSql {
  /** Start-up parameters to force on every client session, such as a GUC that clients may not choose. */
  readonly startupParameters: Readonly<Record<string, string>>;
  /** Users that may never come through the gateway. */
  readonly reservedUsers: readonly string[];
  /** Where this replica's PostgreSQL listens: the path of its Unix socket. */
  readonly socketPath: string;
  /**
   * Harvests the transaction: run after SET CONSTRAINTS ALL IMMEDIATE. One bytea column, asked for in binary; no rows:
   * nothing to agree on. Also shields the transaction from time-outs from here on. Parameter $1 = secret.
   */
  readonly harvest: string;
  /** Records the slot inside the transaction, just before COMMIT: $1 = secret, $2 = slot, as text. */
  readonly recordSlot: string;
  /**
   * For a serializable transaction, which PostgreSQL may refuse as late as COMMIT: records its id instead of its slot, then the gateway
   * runs PREPARE TRANSACTION '<id>', agrees, and runs COMMIT PREPARED '<id>'. $1 = secret, $2 = transaction id.
   */
  readonly recordTransaction: string;
  /** Before a statement of its own runs: fails with RQ001 if a transaction of the same name has been committed; `DETAIL` is its slot and tag. $1 = secret. */
  readonly beginRequest: string;
  /** Records how the client is told of success: $1 = secret, $2 = slot (empty: not known yet), $3 = tag (empty: it cannot be told again). */
  readonly recordRequest: string;
  /** The name is used up. */
  readonly forgetRequest: string;
  readonly secret: string;
  decodeHarvestRow(row: Uint8Array): HarvestRow;
}
