/**
 * Lets work begin no more often than it may: a first few at once, and then one after the other, and no two in one turn of the thread: where it is busy, fewer begin. Sources take turns (by-source.ts), and nothing begins for a
 * client that has gone.
 *
 * Agreeing on TLS is work for the thread that does everything else, and anybody may ask for it: a crowd that does must not cost a leader its leadership.
 */
import { BySource } from '../../by-source.ts';

export interface PaceOptions {
  /** That may begin at once. */
  readonly burst: number;
  readonly everyMs: number;
}

interface Waiting {
  readonly begin: () => void;
  readonly isGone: () => boolean;
}

const sweepMin = 1000;

export class Pace {
  private readonly options: PaceOptions;
  private readonly waiting = new BySource<Waiting>();
  /** How many may begin now. */
  private allowed: number;
  private timer: NodeJS.Timeout | null = null;
  /** With so many waiting, those that have gone are let go of. */
  private sweepAt = sweepMin;

  constructor(options: PaceOptions) {
    this.options = options;
    this.allowed = options.burst;
  }

  /** How many wait, some of which may have gone. */
  get waitingCount(): number {
    return this.waiting.size;
  }

  /** Calls `begin` at once or later; not at all if it `isGone` by then. */
  turn(source: string, begin: () => void, isGone: () => boolean): void {
    this.waiting.add(source, { begin, isGone });
    if (this.waiting.size >= this.sweepAt) {
      this.waiting.retain((one) => !one.isGone());
      this.sweepAt = Math.max(sweepMin, 2 * this.waiting.size);
    }
    this.begin();
  }

  private begin(): void {
    const { burst, everyMs } = this.options;
    while (this.allowed >= 1) {
      const next = this.waiting.takeNext();
      if (next === undefined) break;
      if (next.isGone()) continue;
      this.allowed -= 1;
      next.begin();
    }
    if (this.allowed >= burst) return;
    // By ticks and not by the clock: what a tick is late by the thread was not idle.
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.allowed += 1;
      this.begin();
    }, everyMs).unref();
  }
}
