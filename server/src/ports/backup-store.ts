/**
 * Where backups of a group are kept that are made on a schedule. Replicas that share one take turns.
 *
 * Does nothing itself.
 */
import type { Slot } from '../multipaxos/types/names.ts';
import type { Lsn } from '../wal/lsn.ts';

/** What a restore test has found. `message`: for people. */
export interface RestoreTestResult {
  readonly ok: boolean;
  /** In ISO 8601. */
  readonly at: string;
  readonly message: string;
}

/** A whole backup of this replica's cluster. `takenAtMs`, by its maker's clock, and `end`: where it was when it began. */
export interface KeptBackup {
  readonly name: string;
  /** The file. */
  readonly path: string;
  readonly takenAtMs: number;
  readonly slot: Slot;
  readonly end: Lsn;
  readonly bytes: number;
  /** Null: it was not tested. */
  readonly test: RestoreTestResult | null;
}

/** `heldBy`: who is making a backup, or was when it died. The text changes while they are at it. */
export type ClaimOutcome =
  | { readonly kind: 'held'; readonly claim: BackupClaim }
  | { readonly kind: 'taken'; readonly heldBy: string };

/** One at a time: a hint to the others. That two make a backup at once does no harm, since each has a name of its own. */
export interface BackupClaim {
  /** Tells the others now and then that its holder lives. Never rejects. */
  beat(): Promise<void>;
  release(): Promise<void>;
}

export interface BackupStore {
  /** In no order. What is not whole, or of another cluster, is not among them. @throws the file system's error */
  list(): Promise<readonly KeptBackup[]>;
  /** @throws the file system's error */
  claim(): Promise<ClaimOutcome>;
  /** Of one whose holder seems to have died; not if it was beaten or taken by another meanwhile. */
  breakClaim(heldBy: string): Promise<void>;
  /** Makes one, which is listed only if it was read again and found whole; after any failure nothing is left of it. @throws Error with the reason */
  take(signal: AbortSignal): Promise<void>;
  noteTest(name: string, result: RestoreTestResult): Promise<void>;
  /** Gone is gone: not an error. */
  remove(name: string): Promise<void>;
}
