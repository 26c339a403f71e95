import { describe, expect, it } from 'vitest';
import { noRates, quantile, type Reading, ratesBetween, RateWindow, windowMs } from './rates.ts';

const upToMs = [1, 2, 4, null];
const reading = (atMs: number, transactions: number, buckets: number[], pid = 7): Reading => ({
  atMs,
  pid,
  counters: {
    transactions,
    reads: transactions / 2,
    appliedEntries: 0,
    droppedEvents: 0,
    readIndexes: 0,
    shownQuestions: 0,
    readsRefused: 0,
  },
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

describe('a window of readings', () => {
  const count = (window: RateWindow, atMs: number, transactions: number, pid = 7): number =>
    window.next(reading(atMs, transactions, [0, 0, 0, 0], pid)).transactionsPerSecond;

  it('makes the rate of what is counted in steps steady, and forgets what is long ago', () => {
    const window = new RateWindow();
    const rates = Array.from({ length: 12 }, (_, second) =>
      count(window, 1000 * second, 20 * Math.floor(second / 2)),
    );
    expect(rates.slice(4)).toEqual(Array.from({ length: 8 }, () => 10));
    expect(count(window, 11_000 + windowMs, 100)).toBe(0);
  });

  it('begins anew when the replica was started again, or has not answered', () => {
    const window = new RateWindow();
    count(window, 1000, 50);
    expect(count(window, 2000, 10, 8)).toBe(0);
    expect(count(window, 3000, 30, 8)).toBe(20);
    expect(window.next(null)).toEqual(noRates);
    expect(count(window, 4000, 90, 8)).toBe(0);
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
