/**
 * What became of the transactions of the log's last stretch: for clients whose COMMIT was in flight when their leader went away.
 *
 * Holds facts of the log, which never change, so nothing that happens to a database is undone here. Bounded: what is asked about an older
 * stretch is unknown. Does no I/O. Invariant: an answer is given only if it is true for ever.
 */
import { ballotNone, compareBallots, higherBallot } from '../multipaxos/ballot.ts';
import type { Ballot, Slot } from '../multipaxos/types.ts';
import type { ProposedMark, TransactionOutcome } from '../ports/agreement.ts';

export const outcomesMax = 100_000;

type Known = Exclude<TransactionOutcome, 'unknown'>;

export class RecentOutcomes {
  private readonly outcomesMax: number;
  private readonly outcomes = new Map<string, { readonly slot: Slot; outcome: Known }>();
  /** Every slot above `horizon` and at or below `passed` has been taken in and is remembered. */
  private horizon = 0 as Slot;
  private passed = 0 as Slot;
  private newest: Ballot = ballotNone;
  private readonly waiting = new Set<() => void>();

  constructor(entriesMax = outcomesMax) {
    this.outcomesMax = entriesMax;
  }

  /** A database begins at `pointer`: `newest` is the newest leader that began at or below. */
  startAt(pointer: Slot, newest: Ballot): void {
    if (pointer <= this.passed) return;
    this.outcomes.clear();
    this.horizon = pointer;
    this.passed = pointer;
    this.newest = higherBallot(this.newest, newest);
    this.wake();
  }

  /**
   * One slot has been passed: its transaction, if it ends one, and whether that takes effect; `newest` as of this slot. A slot that was
   * passed before says nothing new.
   */
  pass(
    slot: Slot,
    newest: Ballot,
    ended: { readonly transaction: string; readonly effect: boolean } | null,
  ): void {
    if (slot <= this.passed) return;
    if (slot !== this.passed + 1) {
      this.outcomes.clear();
      this.horizon = (slot - 1) as Slot;
    }
    this.passed = slot;
    this.newest = higherBallot(this.newest, newest);
    if (ended !== null) this.remember(slot, ended.transaction, ended.effect ? 'committed' : 'notCommitted');
    this.wake();
  }

  private remember(slot: Slot, transaction: string, outcome: Known): void {
    // Proposed again by a later leader, it may stand twice in the log: it takes effect in one of the slots at most.
    const known = this.outcomes.get(transaction);
    if (known?.outcome === 'committed') return;
    this.outcomes.delete(transaction);
    this.outcomes.set(transaction, { slot, outcome });
    if (this.outcomes.size <= this.outcomesMax) return;
    const [oldest] = this.outcomes;
    if (oldest === undefined) return;
    this.outcomes.delete(oldest[0]);
    if (oldest[1].slot > this.horizon) this.horizon = oldest[1].slot;
  }

  /** `unknown`: not yet, or not any more. */
  outcomeOf({ transaction, leadership, above }: ProposedMark): TransactionOutcome {
    const known = this.outcomes.get(transaction)?.outcome;
    if (known === 'committed') return known;
    // It may take effect only below the beginning of any newer leader, and that has been passed.
    const over = compareBallots(leadership, this.newest) < 0;
    return over && this.horizon <= above ? 'notCommitted' : 'unknown';
  }

  /** Waits up to `waitMs` for what is not known yet. */
  async awaitOutcome(mark: ProposedMark, waitMs: number): Promise<TransactionOutcome> {
    const deadline = performance.now() + waitMs;
    for (;;) {
      const outcome = this.outcomeOf(mark);
      const left = deadline - performance.now();
      if (outcome !== 'unknown' || left <= 0) return outcome;
      await this.change(left);
    }
  }

  private change(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, waitMs);
      this.waiting.add(done);
    });
  }

  private wake(): void {
    for (const done of this.waiting) done();
  }
}
