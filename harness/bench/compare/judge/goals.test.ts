import { describe, expect, test } from 'vitest';
import { judge, ratioOf, verdictOf, type Goal } from './goals.ts';
import { rotated, type Run } from '../rounds.ts';
import { workload } from '../loads/workloads.ts';
import type { SystemId } from '../systems/system.ts';

const run = (system: SystemId, round: number, tps: number, cpuMsPerTransaction = 1): Run => ({
  round,
  system,
  tps,
  cpuMsPerTransaction,
  transactions: 1,
  latencyMs: 1,
  percentilesMs: { p50: 1, p95: 1, p99: 1 },
  cpuMsByPart: {},
  costs: null,
  coresOfOthers: 0,
});

const ratio: Goal = { id: 'x', label: 'x', unit: 'ratio', must: 0.5, aim: 0.9 };
const time: Goal = { id: 'y', label: 'y', unit: 'ms', must: 2000, aim: 1000 };

describe('a goal', () => {
  test.each([
    { goal: ratio, value: 0.9, verdict: 'aim' },
    { goal: ratio, value: 0.89, verdict: 'must' },
    { goal: ratio, value: 0.5, verdict: 'must' },
    { goal: ratio, value: 0.49, verdict: 'short' },
    { goal: time, value: 1000, verdict: 'aim' },
    { goal: time, value: 1001, verdict: 'must' },
    { goal: time, value: 2000, verdict: 'must' },
    { goal: time, value: 2001, verdict: 'short' },
  ])('$goal.unit: $value is judged $verdict', ({ goal, value, verdict }) => {
    expect(verdictOf(goal, value)).toBe(verdict);
  });

  test('what was not measured is not judged', () => {
    expect(judge({ workloads: [], copies: [], idle: null, failovers: [] })).toEqual([]);
  });
});

describe('a ratio', () => {
  const runs = [
    run('native', 1, 100),
    run('native', 2, 200),
    run('native', 3, 300),
    run('barista', 1, 90),
    run('barista', 2, 100),
    run('barista', 3, 120),
  ];

  test('is of medians, and its spread is that of each round with itself', () => {
    expect(ratioOf(runs, 'barista', 'native', ({ tps }) => tps)).toEqual({ value: 0.5, min: 0.4, max: 0.9 });
  });

  test('UPDATEs are held against standbys, SELECTs against one PostgreSQL', () => {
    const judged = judge({
      workloads: [
        { workload: workload('update', 16), runs: [...runs, run('plain', 1, 1000)], failures: [] },
        {
          workload: workload('select', 16),
          runs: [run('plain', 1, 1000), run('native', 1, 1), run('barista', 1, 800), run('readers', 1, 1000)],
          failures: [],
        },
      ],
      copies: [],
      idle: null,
      failovers: [],
    });
    expect(judged.map(({ id, figure, verdict }) => [id, figure.value, verdict])).toEqual([
      ['update-16', 0.5, 'short'],
      ['select-16', 0.8, 'aim'],
      ['select-16-readers-barista', 1.25, 'must'],
      ['cpu', 1, 'short'],
    ]);
  });

  test('of times is turned round, so that more is better for every ratio', () => {
    const copy = (system: SystemId, everywhereMs: number) => ({
      system,
      round: 1,
      acknowledgedMs: 1,
      coresOfOthers: 0,
      everywhereMs,
    });
    const judged = judge({
      workloads: [],
      copies: [copy('native', 1000), copy('barista', 2000)],
      idle: null,
      failovers: [],
    });
    expect(judged.map(({ id, figure, verdict }) => [id, figure.value, verdict])).toEqual([
      ['copy', 0.5, 'short'],
    ]);
  });
});

describe('time without service', () => {
  test('of those that were killed is judged by its median and by its worst', () => {
    const failovers = (
      [
        ['kill', 500],
        ['kill', 700],
        ['kill', 3000],
        ['cut', 9000],
      ] as const
    ).map(([loss, withoutServiceMs], at) => ({
      loss,
      number: at + 1,
      lost: 'r1',
      successor: 'r2',
      withoutServiceMs,
      wholeAgainMs: 1,
      coresOfOthers: 0,
    }));
    const judged = judge({ workloads: [], copies: [], idle: null, failovers });
    expect(judged.map(({ id, figure, verdict }) => [id, figure.value, verdict])).toEqual([
      ['outage-median', 700, 'must'],
      ['outage-worst', 3000, 'must'],
    ]);
  });
});

describe('rounds', () => {
  test('each begins with another system, and none leaves one out', () => {
    expect([1, 2, 3, 4].map((round) => rotated(['a', 'b', 'c'], round).join(''))).toEqual([
      'abc',
      'bca',
      'cab',
      'abc',
    ]);
  });
});
