/** How latencies are counted: by the bound that they stay below. */

/** Numbers of observations at or below each bound, in milliseconds; the last bound is Infinity (null in JSON). */
export interface LatencyBuckets {
  readonly upToMs: readonly (number | null)[];
  readonly agreements: readonly number[];
}

export const bucketsMs = [
  0.1, 0.15, 0.25, 0.4, 0.6, 1, 1.5, 2.5, 4, 6, 10, 15, 25, 40, 60, 100, 150, 250, 400, 600, 1000, 1500, 2500,
  4000, 6000, 10_000,
];

/** Counts, for whoever needs no more than that. */
export class LatencyCounts {
  private readonly counts = [...bucketsMs, null].map(() => 0);

  observe(ms: number): void {
    const index = bucketsMs.findIndex((bound) => ms <= bound);
    const at = index === -1 ? bucketsMs.length : index;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
  }

  buckets(): LatencyBuckets {
    let sum = 0;
    return { upToMs: [...bucketsMs, null], agreements: this.counts.map((count) => (sum += count)) };
  }
}
