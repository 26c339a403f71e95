import type { CheckStatus } from '../api/check.ts';
import { expect, it } from 'vitest';
import type { RecoveryProgress, WalStatus } from '../api/status.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { fakeReplica } from '../gateways/http/testing/fake-replica.ts';
import { freshMs, reportReplica, tableOf, type ReplicaReport } from './cluster-report.ts';
import type { ReplicaPlan } from './layout.ts';

const [r1, r2] = ['r1', 'r2'] as [ReplicaId, ReplicaId];

function reportOf(id: ReplicaId, recovery: RecoveryProgress | null): ReplicaReport {
  return {
    id,
    incarnation: 1,
    member: 'voter',
    recovery,
    role: 'follower',
    ballot: null,
    leader: null,
    commitPoint: null,
    applicationPointer: null,
    state: recovery === null ? 'serving' : 'restoring',
    wal: null,
    pgwire: { host: '127.0.0.1', port: 7101 },
    pid: null,
    postgres: { pid: null, socketDir: null, port: null },
  };
}

it('the table says below what last went wrong with a recovery, and nothing of one that goes well', () => {
  const recovery: RecoveryProgress = {
    phase: 'copying',
    cause: 'databaseLost',
    source: null,
    bytes: 0,
    bytesTotal: null,
    percent: null,
    attempts: 0,
    lastFailure: { reason: 'there is no space for the copy', source: r1, agoMs: 12_300 },
    sinceMs: 20_000,
  };
  const failing = tableOf({
    group: 'demo',
    check: null,
    replicas: [reportOf(r1, null), reportOf(r2, recovery)],
  });
  expect(failing.split('\n')).toHaveLength(5);
  expect(failing).toContain('restoring: copying');
  expect(failing.split('\n').at(-1)).toBe(
    'r2: the last attempt failed 12 s ago, with r1: there is no space for the copy',
  );
  const arrived = { ...recovery, source: r1, percent: 100 };
  expect(tableOf({ group: 'demo', check: null, replicas: [reportOf(r2, arrived)] })).toContain(
    'making the copy durable',
  );
  const well = tableOf({
    group: 'demo',
    check: null,
    replicas: [reportOf(r2, { ...recovery, lastFailure: null })],
  });
  expect(well.split('\n')).toHaveLength(3);
});

it('what a database is, its timeline and its positions are told while the replica answers', () => {
  const status = fakeReplica('r1').status();
  const plan: ReplicaPlan = {
    id: r1,
    pgwirePort: 7101,
    peerPort: 7201,
    httpPort: 7301,
    thriftPort: null,
    dir: '/d/r1',
    configFile: '/d/r1.yaml',
    logFile: '/d/r1.log',
  };
  const report = (ageMs: number): ReplicaReport =>
    reportReplica(plan, { id: r1, process: 'running', status, ageMs });
  const wal: WalStatus = {
    role: 'primary',
    timeline: 2,
    chosen: '0/3000100',
    flushed: '0/3000160',
    replayed: '0/3000160',
    unchosenBytes: 96,
  };
  expect(report(0).wal).toEqual(wal);
  const table = tableOf({ group: 'demo', check: null, replicas: [report(0)] });
  expect(table).toMatch(/database\s+timeline\s+WAL chosen\s+replayed/);
  expect(table).toMatch(/primary\s+2\s+0\/3000100\s+0\/3000160/);
  expect(report(freshMs + 1)).toMatchObject({ state: 'down', wal: null });
});

it('what the checker says stands below the replicas', () => {
  const check = { checked: 12_034, behind: 0, behindMs: 0, skipped: 0, refused: null, ended: null };
  const last = (changes: Partial<CheckStatus>): string | undefined =>
    tableOf({ group: 'demo', check: { ...check, ...changes }, replicas: [] })
      .split('\n')
      .at(-1);
  expect(last({})).toBe('check 12,034 events are as specified');
  expect(last({ behind: 40, behindMs: 1234, skipped: 7 })).toBe(
    'check 12,034 events are as specified; 40 to come, 1.2 s behind; 7 skipped',
  );
  const refused = { replica: 'r2.2', action: 'Fsync', reason: 'it was not', run: 'x', seq: 9 };
  expect(last({ refused })).toContain('REFUSED: Fsync of r2.2, event 9 of run x: it was not');
  expect(last({ ended: 'there is a gap' })).toContain('checks no more: there is a gap');
  expect(tableOf({ group: 'demo', check: null, replicas: [] })).not.toContain('check');
});
