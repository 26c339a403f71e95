/** How long each stage took between an election and the moment in which clients may be served: for the log, where somebody looks for time without service. */
import type { Timers } from '../../../ports/clock.ts';

export class Stages {
  private readonly timers: Pick<Timers, 'nowMs'>;
  private readonly took: Record<string, number> = {};
  private atMs: number;

  constructor(timers: Pick<Timers, 'nowMs'>) {
    this.timers = timers;
    this.atMs = timers.nowMs();
  }

  /** This one ends now, and the next one begins. */
  done(stage: string): void {
    const nowMs = this.timers.nowMs();
    this.took[stage] = Math.round(nowMs - this.atMs);
    this.atMs = nowMs;
  }

  /** Milliseconds. */
  get all(): Readonly<Record<string, number>> {
    return this.took;
  }
}
