/** What one process says to another: it arrives in the order in which it was said, each a while later, and not at all where the other is dead. */
import type { Timers } from '../../../ports/clock.ts';

export class Wire {
  private readonly to: Timers;
  private readonly latencyMs: () => number;
  private readonly said: (() => void)[] = [];
  private lastAtMs = 0;

  /** `to`: time of the process that hears it. */
  constructor(to: Timers, latencyMs: () => number) {
    this.to = to;
    this.latencyMs = latencyMs;
  }

  say(work: () => void): void {
    const nowMs = this.to.nowMs();
    this.lastAtMs = Math.max(this.lastAtMs, nowMs + this.latencyMs());
    this.said.push(work);
    this.to.after(this.lastAtMs - nowMs, () => this.said.shift()?.());
  }
}
