import { describe, expect, test } from 'vitest';
import { ratePerSecond, spread, table } from './summary.ts';

const output = (failed: number): string =>
  [
    'transaction type: <builtin: TPC-B (sort of)>',
    `number of failed transactions: ${failed} (0.000%)`,
    'latency average = 1.234 ms',
    'initial connection time = 3.210 ms',
    'tps = 6451.25 (without initial connection time)',
  ].join('\n');

describe('what pgbench printed', () => {
  test('the rate is read', () => {
    expect(ratePerSecond(output(0))).toBe(6451.25);
  });

  test('a run with failed transactions has no rate', () => {
    expect(() => ratePerSecond(output(3))).toThrow('3 failed transactions');
  });

  test('output without a rate is refused', () => {
    expect(() => ratePerSecond('pgbench: error: connection refused')).toThrow('no rate');
  });
});

describe('summary of rounds', () => {
  test('the median of an even number of rounds lies between the middle two', () => {
    expect(spread([4, 1, 3, 10])).toEqual({ min: 1, median: 3.5, max: 10 });
    expect(spread([5, 1, 9])).toEqual({ min: 1, median: 5, max: 9 });
    expect(spread([7])).toEqual({ min: 7, median: 7, max: 7 });
  });

  test('ratios start anew with each workload and number of clients', () => {
    const rows = [
      { workload: 'tpcb', clients: 1, system: 'plain', ratesPerSecond: [100] },
      { workload: 'tpcb', clients: 1, system: 'other', ratesPerSecond: [150] },
      { workload: 'tpcb', clients: 8, system: 'plain', ratesPerSecond: [300] },
      { workload: 'tpcb', clients: 8, system: 'other', ratesPerSecond: [150] },
    ];
    const ratios = table(rows)
      .split('\n')
      .slice(1)
      .filter((line) => line !== '')
      .map((line) => line.trim().split(/\s+/).at(-1));
    expect(ratios).toEqual(['1.00', '1.50', '1.00', '0.50']);
  });
});
