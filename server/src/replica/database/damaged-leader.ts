/**
 * A database that is found damaged while its replica leads, and serves clients with it: another replica leads first, and only then it is given up.
 *
 * Responsible for: the order, and how often it is tried. A hand-over finds out whether another replica has a database that answers: that is what is to be known before this one is stopped.
 * Invariants: as long as this replica serves and nobody else could, it serves on; a replica that does not serve gives its damaged database up at once; one attempt at a time, ever more seldom.
 */
import type { Logger } from 'pino';
import type { Timers } from '../../ports/clock.ts';
import type { Loss } from '../../ports/database-directory.ts';
import type { HandOverOutcome, HandOverWishes } from '../consensus/hand-over.ts';

export interface DamagedLeaderOptions {
  /** Clients are served here, with this database. */
  readonly serves: () => boolean;
  readonly handOver: (wishes: HandOverWishes) => Promise<HandOverOutcome>;
  /** The database is given up. */
  readonly lose: (loss: Loss) => void;
  readonly timers: Pick<Timers, 'after' | 'nowMs'>;
  readonly logger: Logger;
}

/** Open transactions may meet the damage, too. */
const transactionMs = 2_000;
const againMsMin = 2_000;
const againMsMax = 60_000;

export class DamagedLeader {
  private readonly options: DamagedLeaderOptions;
  private loss: Loss | null = null;
  private doubt: string | null = null;
  private whyNot: string | null = null;
  private isTrying = false;
  private againMs = againMsMin;
  private stopWaiting: (() => void) | null = null;

  constructor(options: DamagedLeaderOptions) {
    this.options = options;
  }

  /** What is wrong with the database with which it serves, for people; null: nothing, or it does not serve. */
  get word(): string | null {
    const reason = this.loss?.reason ?? this.doubt;
    if (reason === null || !this.options.serves()) return null;
    const why =
      this.whyNot === null ? 'It is being handed over.' : `No other replica can lead: ${this.whyNot}`;
    return `The database is damaged, and serves on: ${reason}. ${why}`;
  }

  /** Damage is known, or presumed. */
  found(loss: Loss): void {
    if (!this.options.serves()) this.options.lose(loss);
    else {
      this.loss ??= loss;
      void this.attempt();
    }
  }

  /** Something may be wrong with its files; null: nothing is. */
  doubted(reason: string | null): void {
    this.doubt = reason;
    if (reason !== null && this.options.serves()) void this.attempt();
  }

  /** Another PostgreSQL has been started, perhaps over another database. */
  renew(): void {
    this.loss = null;
    this.doubt = null;
    this.whyNot = null;
    this.againMs = againMsMin;
    this.stopWaiting?.();
    this.stopWaiting = null;
  }

  private async attempt(): Promise<void> {
    if (this.isTrying || this.stopWaiting !== null) return;
    this.isTrying = true;
    const { handOver, logger, timers, serves } = this.options;
    const outcome = await handOver({ to: null, transactionMs });
    this.isTrying = false;
    const { loss } = this;
    if (loss === null && this.doubt === null) return;
    if (!serves()) {
      this.loss = null;
      if (loss !== null) this.options.lose(loss);
      return;
    }
    const reason = 'reason' in outcome ? outcome.reason : 'leadership was not handed over.';
    if (reason !== this.whyNot)
      logger.warn({ damage: loss?.reason ?? this.doubt, reason }, 'a damaged database serves on');
    this.whyNot = reason;
    this.stopWaiting = timers.after(this.againMs, () => {
      this.stopWaiting = null;
      void this.attempt();
    });
    this.againMs = Math.min(2 * this.againMs, againMsMax);
  }
}
