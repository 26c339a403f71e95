/** What is written of a comparison: the page, its charts, the history of several, and the guard's words. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Comparison } from '../comparison.ts';
import { workload } from '../loads/workloads.ts';
import type { Run, WorkloadResult } from '../rounds.ts';
import type { SystemId } from '../systems/system.ts';
import { chartsOf } from './charts.ts';
import { judge } from './goals.ts';
import { guardText } from './guard.ts';
import { summarize } from './summarize.ts';
import { writeReport } from './write-report.ts';

const run = (system: SystemId, round: number, tps: number): Run => ({
  round,
  system,
  tps,
  transactions: 100,
  latencyMs: 1,
  percentilesMs: { p50: 1, p95: 2, p99: 3 },
  cpuMsPerTransaction: 0.4,
  cpuMsByPart: { 'leader node': 0.1, 'leader postgres': 0.3 },
  costs: { loopbackBytes: 4000, loopbackPackets: 20, diskWrites: 3, diskBytes: 12_000, diskFlushes: 1.5 },
  coresOfOthers: 0.01,
});

/** Barista does so many transactions a second in each round, and the standbys a thousand. */
function comparison(tps: readonly number[], startedAt = '2026-11-25T08:00:00.000Z'): Comparison {
  const result: WorkloadResult = {
    workload: workload('update', 16),
    runs: tps.flatMap((each, at) => [
      run('plain', at + 1, 2000),
      run('native', at + 1, 1000),
      run('barista', at + 1, each),
    ]),
    failures: [{ system: 'pgpool', reason: 'it fell over\nand more' }],
  };
  const failovers = [
    {
      loss: 'kill' as const,
      number: 1,
      lost: 'r1',
      successor: 'r2',
      withoutServiceMs: 1234,
      wholeAgainMs: 5000,
      coresOfOthers: 0,
    },
  ];
  const measured = { workloads: [result], copies: [], idle: null, failovers };
  return {
    version: 2,
    command: 'npm run bench -- compare --report DIR',
    startedAt,
    tookSeconds: 600,
    machine: { cores: 2, cpu: 'a processor', memoryGiB: 8, kernel: 'Linux 6', node: '20', loadBefore: 0 },
    versions: {
      barista: { checkout: '.', version: '0.1.0', commit: 'abc' },
      postgres: '18.4',
      psql: '15',
      pgbench: '15',
      peers: {},
    },
    method: {
      protocol: 'simple',
      scale: 1,
      rounds: tps.length,
      secondsPerRun: 5,
      warmUpSeconds: 8,
      replicas: 3,
      delayMs: 0,
      settings: {},
      standbys: 'ANY 1 (s1, s2), synchronous_commit = on',
    },
    coresOfOthers: null,
    ...measured,
    summaries: [summarize(result)],
    judged: judge(measured),
  };
}

describe('the guard', () => {
  const before = comparison([600, 620, 640]);

  test('says nothing of what is as fast, or slower by no more than rounds differ', () => {
    expect(guardText(comparison([590, 610, 630]), before)).toContain('nothing is slower');
    expect(guardText(comparison([500, 520, 605]), before)).toContain('nothing is slower');
  });

  test('warns of what is slower in every round than it was in any', () => {
    expect(guardText(comparison([400, 410, 420]), before)).toContain(
      'warning: UPDATE by key, 16 clients, of standbys: 0.41 (0.40 to 0.42), and was 0.62 (0.60 to 0.64)',
    );
  });

  test('of times, longer is slower', () => {
    const slow = comparison([600, 620, 640]);
    const judged = slow.judged.map((each) =>
      each.id === 'outage-median' ? { ...each, figure: { value: 3000, min: 2900, max: 3100 } } : each,
    );
    expect(guardText({ ...slow, judged }, before)).toContain('without service');
  });
});

describe('a report', () => {
  test('names what falls short and what could not be run, and shows its charts', () => {
    const root = mkdtempSync(join(tmpdir(), 'barista-report-'));
    try {
      writeReport(join(root, 'second'), comparison([500, 510, 520]), comparison([400]));
      mkdirSync(join(root, 'of-another-kind'));
      writeFileSync(join(root, 'of-another-kind', 'figures.json'), '{"tpcc":[],"startedAt":"2026-10-02"}');
      const first = comparison([700], '2026-10-01T00:00:00.000Z');
      writeReport(join(root, 'first'), { ...first, method: { ...first.method, delayMs: 10 } }, null);
      const page = readFileSync(join(root, 'second', 'README.md'), 'utf8');
      expect(page).toContain('- UPDATE by key, 16 clients, of standbys: 0.51, and must be 0.60');
      expect(page).toContain('pgpool-II could not run it: it fell over\n');
      expect(page).toContain(
        '| Barista | 510 (500 to 520) | 0.26 | 0.51 | 1.00 | 2.00 | 3.00 | 0.400 | 4.0 |',
      );
      expect(page).toContain('| kill -9 of the leader | 1 | 1,234 (1,234 to 1,234) | 5.0 (5.0 to 5.0) |');
      for (const [, file] of page.matchAll(/!\[[^\]]*\]\(([^)]+)\)/g))
        expect(readdirSync(join(root, 'second'))).toContain(file);
      const history = readFileSync(join(root, 'README.md'), 'utf8');
      expect(history).toContain('| [second](second/README.md) | [first](first/README.md), 10 ms apart |');
      expect(history).toContain('| UPDATE by key, 16 clients, of standbys | 0.60 | 1.00 | 0.51 | 0.70 |');
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  test('has charts of what was measured, and of nothing else', () => {
    const once = chartsOf(comparison([500]));
    expect(once.map(({ file }) => file)).toEqual(['writes.svg', 'latency.svg', 'cpu.svg', 'failover.svg']);
    for (const { svg } of once) expect(svg).toMatch(/^<svg .*<\/svg>$/s);
  });
});
