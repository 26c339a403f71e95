/**
 * Looks now and then at what the leader's PostgreSQL is at, for whoever watches.
 *
 * Responsible for: when to look, and telling what was seen. Commits wait for moments only, so it looks when WAL has been shipped, for then their sessions wait to be released; and every `idleMs` for what takes longer.
 * Invariants: nothing is asked while nobody watches; one look at a time, at least `paceMs` after the one before; nothing is told twice in a row.
 */
import type { OperationalEvent } from '../../api/events.ts';
import type { Timers } from '../../ports/clock.ts';

export type Sample = Omit<Extract<OperationalEvent, { name: 'RunningTransactions' }>, 'name'>;

export interface TransactionSamplerOptions {
  /** Null: this replica's PostgreSQL is no primary. @throws Error */
  readonly look: () => Promise<Sample | null>;
  readonly isWatched: () => boolean;
  readonly onSample: (sample: Sample) => void;
  readonly timers: Timers;
  readonly paceMs: number;
  readonly idleMs: number;
}

export class TransactionSampler {
  private readonly options: TransactionSamplerOptions;
  private readonly stopTimer: () => void;
  private busy = false;
  private lookedAtMs = Number.NEGATIVE_INFINITY;
  private wasEmpty = true;

  constructor(options: TransactionSamplerOptions) {
    this.options = options;
    this.stopTimer = options.timers.every(options.idleMs, () => this.nudge());
  }

  /** Something is going on. Costs next to nothing if it is too early, or nobody watches. */
  nudge(): void {
    const { isWatched, timers, paceMs } = this.options;
    if (this.busy || timers.nowMs() - this.lookedAtMs < paceMs || !isWatched()) return;
    this.busy = true;
    this.lookedAtMs = timers.nowMs();
    void this.look();
  }

  stop(): void {
    this.stopTimer();
  }

  private async look(): Promise<void> {
    const { look, onSample } = this.options;
    // PostgreSQL may be on its way down: then there is nothing to see.
    const sample = (await look().catch(() => null)) ?? { transactions: [], more: 0 };
    this.busy = false;
    const isEmpty = sample.transactions.length === 0;
    if (!isEmpty || !this.wasEmpty) onSample(sample);
    this.wasEmpty = isEmpty;
  }
}
