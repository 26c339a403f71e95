import { expect, test } from 'vitest';
import type { Failover, Loss } from '../compare/failover.ts';
import { failoverText } from './failover-report.ts';

test('gives the spread of each kind of loss at each time-out', () => {
  const lost = (loss: Loss, ...gaps: readonly number[]): Failover[] =>
    gaps.map((withoutServiceMs, index) => ({
      loss,
      number: index + 1,
      lost: 'r1',
      successor: 'r2',
      withoutServiceMs,
      wholeAgainMs: 1000,
      coresOfOthers: 0,
    }));
  const all = (base: number): Failover[] => [
    ...lost('kill', base + 30, base + 10, base + 20),
    ...lost('freeze', base + 1, base + 2, base + 3),
    ...lost('cut', base + 7, base + 7, base + 7),
  ];
  const text = failoverText({
    machine: { cores: 2, cpu: 'one', memoryGiB: 1, kernel: 'Linux', node: '20', loadBefore: 0 },
    commit: null,
    options: { timeoutsMs: [600, 1200], failovers: 3, patient: false },
    results: [
      { timeoutMs: 600, failovers: all(500) },
      { timeoutMs: 1200, failovers: all(1000) },
    ],
  });
  const cells = text.split('\n').map((row) => row.trim().split(/\s{2,}/));
  expect(cells).toContainEqual(['kill -9 of the leader', '600', '510', '520', '530', '530']);
  expect(cells).toContainEqual(['the leader frozen', '1200', '1001', '1002', '1003', '1003']);
  expect(cells).toContainEqual(['the leader cut off', '600', '507', '507', '507', '507']);
});
