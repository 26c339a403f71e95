import { expect, it } from 'vitest';
import type { Budget, ReplicaBudget } from './budget.ts';
import { budgetText } from './budget-report.ts';
import { between, type ReplicaLook } from './replica-cpu.ts';

const nothing: ReplicaLook = {
  mainUs: 0,
  othersUs: 0,
  reads: 0,
  writes: 0,
  postgresUs: new Map([['walsender', 100]]),
  allPostgresUs: 500,
};

const spent = between(nothing, {
  mainUs: 20_000,
  othersUs: 3_000,
  reads: 150,
  writes: 120,
  postgresUs: new Map([
    ['walsender', 2_100],
    ['checkpointer', 0],
  ]),
  allPostgresUs: 32_500,
});

function replica(id: string, isLeader: boolean): ReplicaBudget {
  const stagesUs = new Map([
    ['gateway', isLeader ? 300 : 0],
    ['log', 100],
  ] as const);
  const root = { name: 'all', stage: 'system', us: 400, callees: new Map() } as const;
  return { id, isLeader, spent, profile: { busyUs: 400, stagesUs, root } };
}

const budget: Budget = {
  machine: { cores: 2, cpu: 'c', memoryGiB: 1, kernel: 'k', node: 'n', loadBefore: 0 },
  commit: 'abc',
  options: { clients: 4, seconds: 1, scale: 1, workload: 'update' },
  transactions: 100,
  tps: 100,
  profiledTps: 90,
  entries: 50,
  coresOfOthers: 0,
  replicas: [replica('r1', false), replica('r2', true), replica('r3', false)],
  limits: {
    flush: { bytes: 512, cpuUs: 40, waitUs: 100 },
    exchange: { cpuUs: 10, roundTripUs: 50 },
    pipe: { cpuUs: 30 },
  },
};

it('sessions of clients are what is left of PostgreSQL', () => {
  expect(Object.fromEntries(spent.postgresUs)).toEqual({ walsender: 2_000, sessions: 30_000 });
});

it('gives each stage its share of what the kernel counted, for one transaction, and marks what is far from the least', () => {
  const text = budgetText(budget);
  expect(text).toContain('2.00 transactions in an entry of the log.');
  // Three quarters of 200 µs, and five times the pipe's.
  expect(text).toContain('| gateway: the client and its session | 150.0 | 0.0 | 30.0 | 5.0 ! |');
  // A quarter, at all replicas; half a flush for each transaction.
  expect(text).toContain('| log: written and flushed | 50.0 | 50.0 | 20.0 | 2.5 ! |');
  expect(text).toContain('| messages to and from peers | 0.0 | 0.0 | 10.0 | 0.0 |');
  expect(text).toContain('| µs for a transaction | r1 | r2, leader | r3 |');
  expect(text).toContain('| PostgreSQL, sessions | 300.0 | 300.0 | 300.0 |');
  expect(text).toContain('| Node.js, writes (calls) | 1.20 | 1.20 | 1.20 |');
});
