import { describe, expect, it } from 'vitest';
import type { LoadFigures } from '../compare/loads/workloads.ts';
import { describeMachine } from '../machine.ts';
import { costsOfOne, parseCosts, sumOf } from './costs.ts';
import type { GroupKind } from './paper-group.ts';
import { papersReport } from './papers-report.ts';
import type { PapersRun, YcsbResult } from './papers.ts';
import { timesOf, type TpccTimes } from './tpcc-times.ts';

const kind: GroupKind = {
  protocol: 'multi-paxos',
  payload: 'wal',
  commitPoint: 'piggyback',
  groupCommit: 'gather',
  level: null,
  replicas: 3,
  delayMs: 0,
};
const figures = (tps: number): LoadFigures => ({
  tps,
  transactions: 1000,
  latencyMs: 1,
  percentilesMs: { p50: 1, p95: 2, p99: 3 },
  connectingMs: 0,
});
const costs = { flushes: 1.5, loggedBytes: 400, messages: 4.25, sentBytes: 900 };
const ycsb = (subject: YcsbResult['subject'], tps: number, delayMs = 0): YcsbResult => ({
  subject,
  delayMs,
  updates: 100,
  clients: 8,
  figures: figures(tps),
  costs: subject === null ? null : costs,
});
const newOrders = (averageMs: number): TpccTimes => ({
  seconds: 10,
  transactions: 20,
  times: [{ name: 'New-Order', count: 20, rolledBack: 1, averageMs, p90Ms: 2 * averageMs }],
});
const run: PapersRun = {
  machine: describeMachine(),
  commit: 'c0ffee',
  startedAt: '2026-05-04T10:00:00.000Z',
  tookSeconds: 120,
  options: { parts: ['tpcc'], delaysMs: [0, 10], seconds: 10, clients: [8] },
  scale: { warehouses: 1, customers: 300, items: 10_000 },
  tpcc: [],
  commitPoint: [],
  overhead: [],
  levels: [],
};
const textOf = (part: Partial<PapersRun>): string =>
  papersReport({ ...run, ...part }, 'the command').markdown;

describe('a report of the papers', () => {
  it("sets each kind of transaction beside one PostgreSQL's, and the paper's ratio beside ours", () => {
    const text = textOf({
      tpcc: [
        { subject: null, delayMs: 0, figures: newOrders(4) },
        {
          subject: { ...kind, protocol: 'paxos', payload: 'statements' },
          delayMs: 0,
          figures: newOrders(30),
        },
      ],
    });
    // 733 of 160 ms.
    expect(text).toContain('| New-Order | 100.00 | 30.0 | 60.0 | 20 | 1 | 7.50 | 4.58 |');
    expect(text).toContain('### one PostgreSQL');
  });

  it('sets each way of telling the commit point beside piggyback at the same delay', () => {
    const told = { ...kind, commitPoint: 'synchronous' } as const;
    const text = textOf({
      commitPoint: [ycsb(kind, 200), ycsb(told, 100), ycsb(kind, 50, 10), ycsb(told, 40, 10)],
    });
    expect(text).toContain(
      '| Multi-Paxos, WAL, 3 replicas, commit point synchronous | 8 | 100 | 0.50 | 1.0 | 3.0 | 1.50 | 150 | 400 | 4.25 | 900 |',
    );
    expect(text).toContain('synchronous, 10 ms apart | 8 | 40 | 0.80 |');
  });

  it("tells what the middleware costs, and what the paper's did", () => {
    const text = textOf({
      overhead: [
        ycsb(null, 1000),
        ycsb({ ...kind, payload: 'statements', replicas: 1 }, 200),
        ycsb({ ...kind, payload: 'statements' }, 100),
        ycsb(kind, 500),
      ],
    });
    expect(text).toContain('| Multi-Paxos, statements, 1 replica | 8 | 200 | 0.20 | 1.00 | – |');
    expect(text).toContain('| Multi-Paxos, statements, 3 replicas | 8 | 100 | 0.10 | 0.50 | 0.40 |');
    expect(text).toContain('| Multi-Paxos, WAL, 3 replicas | 8 | 500 | 0.50 | – | – |');
  });

  it('sets each level beside none, with as many copies and as many updates', () => {
    const at = (level: 'none' | 'sync', replicas: number, tps: number): YcsbResult =>
      ycsb({ ...kind, protocol: 'primary', payload: 'statements', level, replicas }, tps);
    const levels = [at('none', 2, 400), at('sync', 2, 100), at('none', 3, 200), at('sync', 3, 20)];
    const { markdown, charts } = papersReport({ ...run, levels }, 'c');
    expect(markdown).toContain('| sync, one copy | 100 | 100 | 0.25 | 1.0 | 1.00 | 3.0 | 4.25 |');
    expect(markdown).toContain('| sync, 2 copies | 100 | 20 | 0.10 |');
    expect(charts.map(({ file }) => file)).toEqual(['levels-1.svg', 'levels-2.svg']);
  });

  it('has a chart for what was measured, and nothing of what was not', () => {
    const { charts, markdown } = papersReport({ ...run, overhead: [ycsb(null, 1000), ycsb(kind, 500)] }, 'c');
    expect(charts.map(({ file }) => file)).toEqual(['overhead.svg']);
    expect(charts[0]!.svg).toContain('one PostgreSQL');
    expect(markdown).not.toContain('TPC-C');
  });
});

describe('figures', () => {
  it('of transactions are by kind', () => {
    const done = [1, 2, 3, 4, 100].map((ms, at) => ({
      name: 'Payment' as const,
      end: at === 0 ? ('rolledBack' as const) : ('committed' as const),
      ms,
      attempts: 1,
    }));
    expect(timesOf(done, 5).times).toEqual([
      { name: 'Payment', count: 5, rolledBack: 1, averageMs: 22, p90Ms: 100 },
    ]);
  });

  it('of costs are what came between two looks, for one transaction', () => {
    const look = (n: number) =>
      parseCosts(
        [
          `barista_log_write_seconds_count ${n}`,
          `barista_log_written_bytes_total ${100 * n}`,
          `barista_peer_messages_sent_total ${2 * n}`,
          `barista_peer_bytes_sent_total ${300 * n}`,
        ].join('\n'),
      );
    expect(costsOfOne(sumOf([look(1), look(2)]), sumOf([look(11), look(12)]), 10)).toEqual({
      flushes: 2,
      loggedBytes: 200,
      messages: 4,
      sentBytes: 600,
    });
    expect(() => parseCosts('')).toThrow('does not tell barista_log_write_seconds_count');
  });
});
