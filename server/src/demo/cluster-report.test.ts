import { expect, it } from 'vitest';
import type { RecoveryProgress } from '../api/status.ts';
import type { ReplicaId } from '../multipaxos/types.ts';
import { tableOf, type ReplicaReport } from './cluster-report.ts';

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
  const failing = tableOf({ group: 'demo', replicas: [reportOf(r1, null), reportOf(r2, recovery)] });
  expect(failing.split('\n')).toHaveLength(5);
  expect(failing).toContain('restoring: copying');
  expect(failing.split('\n').at(-1)).toBe(
    'r2: the last attempt failed 12 s ago, with r1: there is no space for the copy',
  );
  const arrived = { ...recovery, source: r1, percent: 100 };
  expect(tableOf({ group: 'demo', replicas: [reportOf(r2, arrived)] })).toContain('making the copy durable');
  const well = tableOf({ group: 'demo', replicas: [reportOf(r2, { ...recovery, lastFailure: null })] });
  expect(well.split('\n')).toHaveLength(3);
});
