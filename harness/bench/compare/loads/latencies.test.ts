import { describe, expect, test } from 'vitest';
import { percentilesOf, percentilesOfHistogram, readTransactionLog, requireWhole } from './latencies.ts';
import { partsOf } from './pgbench-load.ts';
import { readSysbench } from './sysbench-load.ts';

describe('percentiles', () => {
  test('are times that were there, whatever the order', () => {
    const timesMs = Array.from({ length: 200 }, (_, at) => 200 - at);
    expect(percentilesOf(timesMs)).toEqual({ p50: 100, p95: 190, p99: 198, meanMs: 100.5 });
    expect(percentilesOf([7])).toEqual({ p50: 7, p95: 7, p99: 7, meanMs: 7 });
  });

  test('of nothing are an error', () => {
    expect(() => percentilesOf([])).toThrow('not one transaction');
    expect(() => percentilesOfHistogram([])).toThrow('not one transaction');
  });
});

test("pgbench's log tells microseconds in its third column", () => {
  const timesMs: number[] = [];
  readTransactionLog('0 199 2241 0 1175850568 995598\n1 0 500 0 1175850568 998079\n', timesMs);
  expect(timesMs).toEqual([2.241, 0.5]);
  expect(() => readTransactionLog('not a line of it\n', timesMs)).toThrow('a line that is none');
});

test('clients are divided as equally as they can be, and none is lost', () => {
  expect([partsOf(16, 3), partsOf(1, 3), partsOf(64, 1)]).toEqual([[6, 5, 5], [1, 0, 0], [64]]);
});

describe('what sysbench printed', () => {
  const output = `Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.500 |**********                               90
       1.000 |**                                       8
      20.000 |                                         2

SQL statistics:
    transactions:                        100    (1234.50 per sec.)
    ignored errors:                      0      (0.00 per sec.)

Latency (ms):
         min:                                    0.40
         avg:                                    0.93
`;

  test('rate, number, mean and percentiles are read', () => {
    expect(readSysbench(output)).toEqual({
      tps: 1234.5,
      transactions: 100,
      latencyMs: 0.93,
      percentilesMs: { p50: 0.5, p95: 1, p99: 20 },
      connectingMs: 0,
    });
  });

  test('a run without an end is an error', () => {
    expect(() => readSysbench('FATAL: unable to connect')).toThrow('did not say its rate');
  });
});

test('a log that lost some of its transactions is not taken for all of them', () => {
  expect(() => requireWhole([1, 2], 2)).not.toThrow();
  expect(() => requireWhole([1, 2], 3)).toThrow(/tells of 2 transactions, of 3/);
});
