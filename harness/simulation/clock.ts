/** A replica's own clock: starts anywhere, never goes back, and runs faster than the simulated time by a rate that may change. */

export class SimulatedClock {
  private readonly trueNowMs: () => number;
  private baseTrueMs: number;
  private baseLocalMs: number;
  private rate = 1;

  constructor(trueNowMs: () => number, startMs: number) {
    this.trueNowMs = trueNowMs;
    this.baseTrueMs = trueNowMs();
    this.baseLocalMs = startMs;
  }

  nowMs(): number {
    return this.baseLocalMs + (this.trueNowMs() - this.baseTrueMs) * this.rate;
  }

  /** At least 1: between two clocks the difference of rates is then at most the larger drift. */
  setRate(rate: number): void {
    this.baseLocalMs = this.nowMs();
    this.baseTrueMs = this.trueNowMs();
    this.rate = rate;
  }
}
