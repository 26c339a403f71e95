/**
 * What a replica does whose answers were found to differ, or may be wrong.
 *
 * Responsible for: that its clients are told nothing more from that moment on, and hear that their sessions are over; that a database which is wrong is durably said to be before another takes its place; that somebody learns of it.
 * Invariant: while it is closed no verdict counts: the database that it is about is being replaced.
 */
import type { Logger } from 'pino';
import type { Timers } from '../../ports/clock.ts';
import type { Verdict } from '../../payload/statements/answer-comparison.ts';

export interface AnswerFenceOptions {
  /** What its status says, and why no session is opened; null: nothing. */
  readonly database: { divergence: string | null };
  readonly condemn: (reason: string) => Promise<void>;
  readonly endSessions: (reason: string) => void;
  readonly replace: () => Promise<void>;
  readonly timers: Pick<Timers, 'after'>;
  readonly logger: Logger;
  readonly onFatal: (error: Error) => void;
}

/** So long others may take to tell what they have answered: until then a difference may as well be theirs. */
const graceMs = 2_000;

export class AnswerFence {
  /** The database is being replaced. */
  isClosed = false;
  private readonly options: AnswerFenceOptions;
  private doubted: Extract<Verdict, { code: 'doubt' }> | null = null;

  constructor(options: AnswerFenceOptions) {
    this.options = options;
  }

  judged(verdict: Verdict): void {
    if (this.isClosed) return;
    const { database, logger } = this.options;
    if (verdict.code !== 'doubt' || verdict.isFinal) this.doubted = null;
    switch (verdict.code) {
      case 'right':
        if (database.divergence !== null) logger.info('what this replica answers is no longer in doubt');
        database.divergence = null;
        return;
      case 'wrong':
        void this.replace(verdict.slot, verdict.equal);
        return;
      case 'doubt':
        if (verdict.isFinal) this.doubt(verdict);
        else if (this.doubted === null) {
          this.doubted = verdict;
          this.options.timers.after(graceMs, () => {
            if (this.doubted === verdict && !this.isClosed) this.doubt(verdict);
          });
        }
        return;
      default:
        verdict satisfies never;
    }
  }

  /** Another database is here. */
  open(): void {
    this.isClosed = false;
  }

  private doubt({ slot, differing, isFinal }: Extract<Verdict, { code: 'doubt' }>): void {
    const who = differing.join(', ');
    const reason = isFinal
      ? `The answers of ${who} to slot ${slot} differ, and no majority agrees: none of them serves. Find out whose database is right, and start the group anew from that one.`
      : `The answers of ${who} to slot ${slot} differ: none of them serves until another replica has answered it.`;
    const { database, logger, endSessions } = this.options;
    if (database.divergence === reason) return;
    database.divergence = reason;
    logger.error({ slot, differing, isFinal }, reason);
    endSessions(reason);
  }

  private async replace(slot: number, equal: readonly string[]): Promise<void> {
    const { database, logger, endSessions, condemn, replace, onFatal } = this.options;
    this.isClosed = true;
    const reason = `What this replica answered to slot ${slot} differs from what ${equal.join(' and ')} did: its database is replaced.`;
    database.divergence = reason;
    logger.error({ slot, equal }, reason);
    endSessions(reason);
    try {
      await condemn(reason);
      await replace();
    } catch (error) {
      onFatal(error instanceof Error ? error : new Error(String(error)));
    }
  }
}
