/**
 * Rates and latencies of a replica over the last seconds, from readings of what it has counted since it started.
 *
 * Pure. Invariant: a replica that was started again in between, or does not answer, has no rates rather than wrong ones.
 */
import type { ReplicaStatus } from '../api/status.ts';
import type { LatencyBuckets } from '../gateways/http/latency-buckets.ts';

/** Over the `windowMs` before. Latencies are those of agreement on a range of WAL; 0 where there was none. */
export interface ReplicaRates {
  readonly transactionsPerSecond: number;
  readonly readsPerSecond: number;
  readonly appliedPerSecond: number;
  readonly latencyMsP50: number;
  readonly latencyMsP99: number;
}

export interface Reading {
  readonly atMs: number;
  readonly pid: number;
  readonly counters: ReplicaStatus['counters'];
  readonly latencies: LatencyBuckets;
}

/** A replica counts transactions every two seconds: a shorter window would be empty every other time. */
export const windowMs = 4000;

export const noRates: ReplicaRates = {
  transactionsPerSecond: 0,
  readsPerSecond: 0,
  appliedPerSecond: 0,
  latencyMsP50: 0,
  latencyMsP99: 0,
};

export function ratesBetween(before: Reading | null, after: Reading | null): ReplicaRates {
  if (before === null || after === null || before.pid !== after.pid || after.atMs <= before.atMs)
    return noRates;
  const seconds = (after.atMs - before.atMs) / 1000;
  const perSecond = (key: 'transactions' | 'reads' | 'appliedEntries'): number =>
    Math.max(0, (after.counters[key] - before.counters[key]) / seconds);
  const agreements = difference(before.latencies.agreements, after.latencies.agreements);
  const { upToMs } = after.latencies;
  return {
    transactionsPerSecond: perSecond('transactions'),
    readsPerSecond: perSecond('reads'),
    appliedPerSecond: perSecond('appliedEntries'),
    latencyMsP50: quantile(upToMs, agreements, 0.5),
    latencyMsP99: quantile(upToMs, agreements, 0.99),
  };
}

/** The readings of one replica within the last `windowMs`. */
export class RateWindow {
  private readings: readonly Reading[] = [];

  /** `reading` null: the replica does not answer, and what was read before says nothing of what comes. */
  next(reading: Reading | null): ReplicaRates {
    const before = this.readings;
    this.readings = reading === null ? [] : [...before.filter((one) => isOfWindow(one, reading)), reading];
    return ratesBetween(this.readings[0] ?? null, reading);
  }
}

/** The windows of all replicas. */
export class RateWindows {
  private readonly windows = new Map<string, RateWindow>();

  /** What a frame of rates tells. */
  next(readings: readonly (readonly [id: string, reading: Reading | null])[]): Record<string, ReplicaRates> {
    return Object.fromEntries(
      readings.map(([id, reading]) => {
        const window = this.windows.get(id) ?? new RateWindow();
        this.windows.set(id, window);
        return [id, window.next(reading)];
      }),
    );
  }

  clear(): void {
    this.windows.clear();
  }
}

function isOfWindow(reading: Reading, last: Reading): boolean {
  return reading.pid === last.pid && reading.atMs >= last.atMs - windowMs;
}

function difference(before: readonly number[], after: readonly number[]): number[] {
  return after.map((count, index) => Math.max(0, count - (before[index] ?? 0)));
}

/**
 * The value below which `share` of the observations lie, assuming that they spread evenly within a bucket. `cumulative[i]`: observations at
 * or below `upToMs[i]`, whose last bound is null (no bound). 0 if there are none.
 */
export function quantile(
  upToMs: readonly (number | null)[],
  cumulative: readonly number[],
  share: number,
): number {
  const total = cumulative.at(-1) ?? 0;
  if (total === 0) return 0;
  const wanted = total * share;
  const index = cumulative.findIndex((count) => count >= wanted);
  const lowMs = index === 0 ? 0 : (upToMs[index - 1] ?? 0);
  const highMs = upToMs[index] ?? lowMs;
  const below = index === 0 ? 0 : (cumulative[index - 1] ?? 0);
  const inside = (cumulative[index] ?? 0) - below;
  return inside === 0 ? highMs : lowMs + ((highMs - lowMs) * (wanted - below)) / inside;
}
