/**
 * The part of a turn of the thread that is given to reading what clients send: what is beyond it waits for the next turn, so that no number of busy connections keeps the others, and everything else that the thread does, waiting for long.
 *
 * Responsible for: how long may be worked in a turn, and who is next. Those that have had nothing yet come first, then the others, a piece each.
 * Invariant: what waits is worked off in the order in which it came, but for that.
 */

/** Somebody who waits for a turn, once at a time. Works off a piece; true: there is more, which can be worked off now. */
export type Piece = () => boolean;

const turnMs = 5;

export class ThreadShare {
  /** As performance.now(). */
  readonly nowMs: () => number;
  private spentMs = 0;
  private isScheduled = false;
  private fresh: Piece[] = [];
  private again: Piece[] = [];

  constructor(nowMs: () => number = () => performance.now()) {
    this.nowMs = nowMs;
  }

  /** Whether something may be worked off at once. */
  get hasTime(): boolean {
    return this.spentMs < turnMs && this.fresh.length === 0;
  }

  /** So long was worked. */
  spend(ms: number): void {
    this.spentMs += ms;
    this.schedule();
  }

  /** `isFresh`: nothing of it has been worked off in this turn. */
  wait(piece: Piece, isFresh: boolean): void {
    (isFresh ? this.fresh : this.again).push(piece);
    this.schedule();
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.turn();
    });
  }

  private turn(): void {
    this.spentMs = 0;
    const { fresh, again } = this;
    this.fresh = [];
    this.again = [];
    // One of each kind at least, however long it takes.
    const freshLeft = this.work(fresh);
    const againLeft = this.work(again);
    // Who has not had a turn comes before who has.
    this.again = [...freshLeft, ...againLeft, ...this.again];
    if (this.again.length > 0) this.schedule();
  }

  /** Returns those for whom there was no time. */
  private work(waiting: readonly Piece[]): readonly Piece[] {
    let next = 0;
    for (; next < waiting.length && (next === 0 || this.spentMs < turnMs); next += 1)
      if (waiting[next]!()) this.again.push(waiting[next]!);
    return waiting.slice(next);
  }
}
