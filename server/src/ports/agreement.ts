/**
 * What a gateway needs of the replica: may I serve, agree on this transaction, may this answer leave.
 *
 * Does nothing itself. The replica implements it over the consensus core; tests implement it in memory.
 */
import type { TransactionPayload } from '../apply/effects.ts';
import type { Ballot, EntryLabel, ReplicaId, Slot } from '../multipaxos/types.ts';

/** Whom a new client is to be served by. `generation` changes whenever this replica's leadership begins or ends. */
export type Service =
  | { readonly kind: 'here'; readonly generation: number }
  | { readonly kind: 'at'; readonly leader: ReplicaId; readonly host: string; readonly port: number }
  | { readonly kind: 'nowhere'; readonly reason: string };

/**
 * `chosen`: commit now, recording `slot`. `superseded`: it will never be chosen; roll back (40001).
 * `unknown`: leadership was lost and it may yet be chosen (08007). `overloaded`: the queue is full; roll back (53000).
 * `notLeader`: nothing was proposed; roll back (57P01).
 */
export type AgreementOutcome =
  | { readonly code: 'chosen'; readonly slot: Slot; readonly label: EntryLabel }
  | { readonly code: 'superseded' | 'unknown' | 'overloaded' | 'notLeader'; readonly reason: string };

/**
 * Tells one transaction from all others when its outcome is asked for: `transaction` is that of its payload, `leadership` executed it, and
 * `above` is a slot that it can only come after.
 */
export interface ProposedMark {
  readonly transaction: string;
  readonly leadership: Ballot;
  readonly above: Slot;
}

/** `unknown`: not to be found out here, or not in the time given. */
export type TransactionOutcome = 'committed' | 'notCommitted' | 'unknown';

export interface Agreement {
  service(): Service;
  /** Calls back when `service()` changes. Returns the way to stop. */
  onServiceChange(listener: (service: Service) => void): () => void;
  /**
   * Proposes one transaction, in parts if the iterable yields several (each at most `partBytesMax` of payload). Pulls the next part
   * only when there is room: back-pressure. Resolves when the last part is chosen or cannot be.
   */
  agree(parts: AsyncIterable<TransactionPayload>, generation: number): Promise<AgreementOutcome>;
  /** The session has committed the transaction of `slot` in PostgreSQL (its pointer row with it). */
  committed(slot: Slot): void;
  /** A chosen transaction could not be committed here: the replica steps down and recovers from its log. */
  commitFailed(slot: Slot, reason: string): void;
  /**
   * True if this replica was certainly still the leader just now: what was read before this call may be answered.
   * Called for every chunk of answer that leaves, so it must be cheap.
   */
  leaseHeld(generation: number): boolean;
  /** Resolves true once the lease is held again, false once leadership has ended. */
  awaitLease(generation: number): Promise<boolean>;
  /** For a transaction that is about to be proposed under this generation; null once leadership has ended. */
  mark(generation: number): Omit<ProposedMark, 'transaction'> | null;
  /**
   * What became of a transaction that was proposed here or by another leader, as this replica's log and database have it. Waits up to `waitMs`.
   * `committed`: it is in the log with effect, and in this replica's database or on its way there. `notCommitted`: it never takes effect.
   */
  outcomeOf(proposed: ProposedMark, waitMs: number): Promise<TransactionOutcome>;
  readonly partBytesMax: number;
}
