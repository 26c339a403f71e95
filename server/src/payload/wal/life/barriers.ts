/**
 * Commits of a leader's own: answers wait behind them, and a new leader serves when its first one is chosen.
 *
 * Responsible for: waiting until what a barrier stands for is chosen, whoever ends the wait of its commit in PostgreSQL (an operator, a timeout); making it again when PostgreSQL could not; and telling when PostgreSQL cannot make
 * any. Spec: Open and Barrier of OrderedApply.tla.
 * Invariant: one is passed only when everything that was visible when it began is chosen, by this leadership.
 */
import type { PrimaryDatabase } from '../../../ports/database-server.ts';
import { pause } from '../../pause.ts';
import type { Lsn } from '../../../wal/lsn.ts';
import type { Shipper } from '../shipper.ts';
import type { LifeContext } from './context.ts';
import { inTime } from './in-time.ts';

const retryMs = 20;
/** A barrier that waits behind a record of a gigabyte takes as long as the disk does: so many times the patience is it waited for while WAL comes. */
const patiencesMax = 12;

export class Barriers {
  private readonly context: LifeContext;
  private readonly primary: PrimaryDatabase;
  private readonly shipper: Shipper;
  private brokenBecause: string | null = null;

  constructor(context: LifeContext, primary: PrimaryDatabase, shipper: Shipper) {
    this.context = context;
    this.primary = primary;
    this.shipper = shipper;
  }

  /** Why no barrier will be passed any more, and so nobody be answered. */
  get trouble(): string | null {
    return this.brokenBecause;
  }

  /** Resolves when everything that is visible now is chosen, and PostgreSQL has been told so. @throws Error if it makes no barrier for too long, or is no primary any more */
  async pass(): Promise<void> {
    const position = await this.begin();
    while (this.shipper.releasedTo < position) {
      if (this.isOver()) throw new Error('PostgreSQL is no primary any more');
      await this.context.signal.wait();
    }
  }

  /** The primary that this one stands for is stopped, or about to be. */
  private readonly isOver = (): boolean => this.context.shipper !== this.shipper;

  private async begin(): Promise<Lsn> {
    const { isOver, context } = this;
    const { timers, timings, logger } = context.options;
    const { patienceMs, hangMs } = timings;
    const beganMs = timers.nowMs();
    let deadlineMs = beganMs + patienceMs;
    let received = this.shipper.received;
    // The last try may end with the patience, and has nothing to say.
    let said: string | null = null;
    let hasFailed = false;
    for (let tryMs = hangMs; ; tryMs *= 2) {
      const untilMs = Math.min(deadlineMs, timers.nowMs() + tryMs);
      try {
        return await inTime(context, { what: 'a barrier', untilMs, isOver }, this.primary.barrier());
      } catch (error) {
        if (isOver()) throw error;
        const reason = error instanceof Error ? error.message : String(error);
        const nowMs = timers.nowMs();
        hasFailed ||= nowMs < untilMs;
        if (nowMs >= deadlineMs) {
          const hasCome = this.shipper.isPaused || this.shipper.received > received;
          if (hasCome && !hasFailed && nowMs < beganMs + patiencesMax * patienceMs) {
            ({ received } = this.shipper);
            deadlineMs = nowMs + patienceMs;
            logger.warn('a barrier waits behind much WAL, which goes on coming');
            continue;
          }
          this.brokenBecause = `PostgreSQL has made no barrier for ${Math.round(nowMs - beganMs)} ms: ${said ?? reason}`;
          context.signal.notify();
          throw error;
        }
        said = reason;
        logger.warn({ err: error }, 'a barrier was not made, and is made again');
        await pause(timers, retryMs);
      }
    }
  }
}
