import { describe, expect, it } from 'vitest';
import { noRates, quantile, type Reading, ratesBetween } from './rates.ts';

const upToMs = [1, 2, 4, null];
const reading = (atMs: number, transactions: number, buckets: number[], pid = 7): Reading => ({
  atMs,
  pid,
  counters: { transactions, reads: transactions / 2, appliedEntries: 0, droppedEvents: 0 },
  latencies: { upToMs, agreements: buckets },
});

describe('rates', () => {
  it('are what was counted between two readings, over the time between them', () => {
    const rates = ratesBetween(reading(1000, 100, [10, 10, 10, 10]), reading(1500, 150, [10, 60, 60, 60]));
    expect(rates).toMatchObject({ transactionsPerSecond: 100, readsPerSecond: 50, appliedPerSecond: 0 });
    expect(rates.latencyMsP50).toBeCloseTo(1.5);
    expect(rates.latencyMsP99).toBeCloseTo(1.99);
  });

  it('are none across a restart, without an earlier reading, or without an answer', () => {
    const later = reading(2000, 500, [50, 50, 50, 50], 8);
    expect(ratesBetween(reading(1000, 100, [9, 9, 9, 9]), later)).toEqual(noRates);
    expect(ratesBetween(null, later)).toEqual(noRates);
    expect(ratesBetween(later, null)).toEqual(noRates);
    expect(ratesBetween(later, later)).toEqual(noRates);
  });
});

describe('a quantile of a histogram', () => {
  it('lies within the bucket, spread evenly', () => {
    expect(quantile(upToMs, [10, 20, 20, 20], 0.25)).toBeCloseTo(0.5);
    expect(quantile(upToMs, [0, 0, 10, 10], 0.5)).toBeCloseTo(3);
  });
  it('is the last bound for what is beyond all bounds, and 0 for nothing', () => {
    expect(quantile(upToMs, [0, 0, 0, 10], 0.5)).toBe(4);
    expect(quantile(upToMs, [0, 0, 0, 0], 0.5)).toBe(0);
  });
});
