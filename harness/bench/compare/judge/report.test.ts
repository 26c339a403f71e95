import { describe, expect, test } from 'vitest';
import { readConnectingMs, readPgbench } from '../loads/client-tools.ts';
import { format } from './report.ts';
import { summarize } from './summarize.ts';
import { lengthOfRun, type Run } from '../rounds.ts';
import type { SystemId } from '../systems/system.ts';
import { workload } from '../loads/workloads.ts';

const output = (processed: number): string =>
  [
    'transaction type: update-by-key.sql',
    `number of transactions actually processed: ${processed}`,
    'number of failed transactions: 0 (0.000%)',
    'latency average = 2.500 ms',
    'tps = 6451.25 (without initial connection time)',
  ].join('\n');

describe('what pgbench printed', () => {
  test('rate, number and latency are read', () => {
    expect(readPgbench(output(19_354))).toEqual({ tps: 6451.25, transactions: 19_354, latencyMs: 2.5 });
  });

  test('a run without a transaction is no run', () => {
    expect(() => readPgbench(output(0))).toThrow('not one transaction');
  });

  test('clients that take long to connect make a short run longer, and a long one not', () => {
    const connectingMs = readConnectingMs(`${output(1)}\ninitial connection time = 796.152 ms\n`);
    expect([1, 3, 5].map((seconds) => lengthOfRun(seconds, connectingMs))).toEqual([2, 4, 5]);
    expect(lengthOfRun(1, readConnectingMs(output(1)))).toBe(1);
  });
});

describe('a summary', () => {
  const run = (system: SystemId, tps: number): Run => ({
    round: 1,
    system,
    tps,
    transactions: 100,
    latencyMs: 1,
    percentilesMs: { p50: 1, p95: 2, p99: 3 },
    cpuMsByPart: { 'leader node': tps / 100 },
    costs: null,
    cpuMsPerTransaction: 0.1,
    coresOfOthers: 0,
  });

  test('names the ratio to what was measured, and none to what was not', () => {
    const { systems } = summarize({
      workload: workload('update', 1),
      runs: [run('barista', 50), run('plain', 200)],
      failures: [],
    });
    expect(systems.map(({ system, ofPlain, ofNative }) => [system, ofPlain, ofNative])).toEqual([
      ['plain', 1, null],
      ['barista', 0.25, null],
    ]);
  });
});

describe('a figure', () => {
  test('is shown with its unit', () => {
    expect([format(0.456, 'ratio'), format(0.456, 'ms'), format(1234.5, 'ms'), format(4.25, '%')]).toEqual([
      '0.46',
      '0.46 ms',
      '1235 ms',
      '4.3%',
    ]);
  });
});
