/**
 * Ends processes of PostgreSQL that wait for a lock before their session has begun. They do not look whether anybody is there: without this, clients that come and go would take all places for as long as the lock is held.
 *
 * Responsible for: asking, while some linger whose clients have gone. What is asked is the adapter's. Invariant: one question at a time, and none while nothing lingers.
 */
import type { PostgresDoor } from '../../../ports/client-service.ts';

export interface EntryEnderOptions {
  /** How many there are whose clients have gone. */
  readonly lingering: () => number;
  readonly door: () => Pick<PostgresDoor, 'endEntries'> | null;
  readonly lookMs: number;
  /** Those are ended that have waited for so long. */
  readonly slowMs: number;
  readonly warn: (fields: object, message: string) => void;
}

const warnEveryMs = 60_000;

export class EntryEnder {
  private readonly options: EntryEnderOptions;
  private timer: NodeJS.Timeout | null = null;
  private isAsking = false;
  private isStopped = false;
  /** That no line has told of. */
  private untold = 0;
  private toldAtMs = -Infinity;

  constructor(options: EntryEnderOptions) {
    this.options = options;
  }

  /** Looks again and again, as long as some linger. */
  start(): void {
    if (this.timer !== null || this.isAsking || this.isStopped) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      void this.look();
    }, this.options.lookMs).unref();
  }

  stop(): void {
    this.isStopped = true;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  private async look(): Promise<void> {
    const { lingering, door, slowMs } = this.options;
    if (lingering() === 0) return;
    this.isAsking = true;
    try {
      this.untold += (await door()?.endEntries(slowMs)) ?? 0;
    } catch {
      // PostgreSQL has gone, or does not answer: the next look is another question.
    }
    this.isAsking = false;
    this.tell();
    if (lingering() > 0) this.start();
  }

  private tell(): void {
    const nowMs = performance.now();
    if (this.untold === 0 || nowMs - this.toldAtMs < warnEveryMs) return;
    this.options.warn(
      { ended: this.untold },
      'clients have gone while PostgreSQL began their sessions, which waited for a lock: these were ended. Look in pg_locks for who holds it',
    );
    this.untold = 0;
    this.toldAtMs = nowMs;
  }
}
