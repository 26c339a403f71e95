/** What `barista status --json` prints: fixed names that scripts rely on. Pure. */
import type { CheckStatus } from '../api/check.ts';
import type {
  ClusterReplica,
  RecoveryProgress,
  ReplicaCondition,
  ReplicaStatus,
  WalStatus,
} from '../api/status.ts';
import type { Ballot, ReplicaId, Role, Slot } from '../multipaxos/types/names.ts';
import { demoHost, type ReplicaPlan } from './layout.ts';

/** A replica that is down has `state` "down" and null for what only it could tell. */
export interface ReplicaReport {
  readonly id: ReplicaId;
  /** Of its log: 1, 2, ... 0 before it is admitted. */
  readonly incarnation: number | null;
  /** Whether it counts; null: it is no member, as far as it knows. */
  readonly member: 'voter' | 'learner' | null;
  readonly recovery: RecoveryProgress | null;
  readonly role: Role | null;
  readonly ballot: Ballot | null;
  readonly leader: ReplicaId | null;
  readonly commitPoint: Slot | null;
  readonly applicationPointer: Slot | null;
  readonly state: ReplicaCondition;
  /** What its database is, and positions in the WAL such as `0/3000060`; null: there is none, or nothing is known of it. */
  readonly wal: WalStatus | null;
  readonly pgwire: { readonly host: string; readonly port: number };
  readonly pid: number | null;
  readonly postgres: {
    readonly pid: number | null;
    readonly socketDir: string | null;
    readonly port: number | null;
  };
}

export interface ClusterReport {
  readonly group: string;
  /** Whether what the replicas do is what is specified; null: nobody checks it. */
  readonly check: CheckStatus | null;
  readonly replicas: readonly ReplicaReport[];
}

/** A status older than this says nothing about now. */
export const freshMs = 1500;

export function reportReplica(plan: ReplicaPlan, replica: ClusterReplica): ReplicaReport {
  const { id, status } = replica;
  const pgwire = { host: demoHost, port: plan.pgwirePort };
  if (replica.process !== 'running' || status === null || (replica.ageMs ?? Infinity) > freshMs) {
    return {
      id,
      incarnation: null,
      member: null,
      recovery: null,
      role: null,
      ballot: null,
      leader: null,
      commitPoint: null,
      applicationPointer: null,
      state: 'down',
      wal: null,
      pgwire,
      pid: null,
      postgres: { pid: null, socketDir: null, port: null },
    };
  }
  const { incarnation, recovery, role, ballot, leader, commitPoint, applicationPointer, state, wal, pid } =
    status;
  const { pid: postgresPid, socketDir, port } = status.postgres;
  return {
    id,
    incarnation,
    member: memberRole(status),
    recovery,
    role,
    ballot,
    leader,
    commitPoint,
    applicationPointer,
    state,
    wal,
    pgwire,
    pid,
    postgres: { pid: postgresPid, socketDir, port },
  };
}

/** What this very incarnation is in the configuration that it knows. */
export function memberRole({ id, incarnation, membership }: ReplicaStatus): 'voter' | 'learner' | null {
  const member = membership.members.find((each) => each.replica === id);
  return member?.incarnation === incarnation ? member.role : null;
}

const phases: Readonly<Record<RecoveryProgress['phase'], string>> = {
  joining: 'asks to join',
  copying: 'copying',
  starting: 'starting the copy',
  catchingUp: 'catching up',
};

/** Such as `copying 43 % from r2`. */
export function recoveryText({ phase, percent, source }: RecoveryProgress): string {
  if (phase === 'copying' && percent === 100) return 'making the copy durable';
  const from = phase === 'copying' && source !== null ? ` from ${source}` : '';
  return `${phases[phase]}${percent === null ? '' : ` ${percent} %`}${from}`;
}

/** Such as `r2: the last attempt failed 12 s ago, with r3: there is no space`; none: nothing failed. */
function failuresOf({ replicas }: ClusterReport): string[] {
  return replicas.flatMap(({ id, recovery }) => {
    if (recovery === null || recovery.lastFailure === null) return [];
    const { reason, source, agoMs } = recovery.lastFailure;
    const who = source === null ? '' : `, with ${source}`;
    return [`${id}: the last attempt failed ${Math.round(agoMs / 1000)} s ago${who}: ${reason}`];
  });
}

/** Such as `check 1,204 events are as specified; 40 to come, 1.2 s behind`. */
function checkLine({ check }: ClusterReport): string[] {
  if (check === null) return [];
  const { checked, behind, behindMs, skipped, refused, ended } = check;
  const parts = [`${checked.toLocaleString('en-US')} events are as specified`];
  if (behind > 0) parts.push(`${behind} to come, ${(behindMs / 1000).toFixed(1)} s behind`);
  if (skipped > 0) parts.push(`${skipped} skipped`);
  if (refused !== null) {
    const { action, replica, seq, run, reason } = refused;
    parts.push(`REFUSED: ${action} of ${replica}, event ${seq} of run ${run}: ${reason}`);
  }
  if (ended !== null) parts.push(`checks no more: ${ended}`);
  return [`check ${parts.join('; ')}`];
}

/** The same for people. */
export function tableOf(report: ClusterReport): string {
  const head = [
    'replica',
    'incarnation',
    'member',
    'role',
    'state',
    'ballot',
    'leader',
    'commit point',
    'applied',
    'database',
    'timeline',
    'WAL chosen',
    'replayed',
    'pgwire',
    'pid',
    'postgres',
  ];
  const rows = report.replicas.map((replica) => [
    replica.id,
    replica.incarnation === null ? '-' : String(replica.incarnation),
    replica.member ?? '-',
    replica.role ?? '-',
    replica.recovery === null ? replica.state : `${replica.state}: ${recoveryText(replica.recovery)}`,
    replica.ballot === null ? '-' : `${replica.ballot.round}.${replica.ballot.replica || '-'}`,
    replica.leader ?? '-',
    String(replica.commitPoint ?? '-'),
    String(replica.applicationPointer ?? '-'),
    replica.wal?.role ?? '-',
    String(replica.wal?.timeline ?? '-'),
    replica.wal?.chosen ?? '-',
    replica.wal?.replayed ?? '-',
    `${replica.pgwire.host}:${replica.pgwire.port}`,
    String(replica.pid ?? '-'),
    String(replica.postgres.pid ?? '-'),
  ]);
  const widths = head.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [
    `group ${report.group}`,
    line(head),
    ...rows.map(line),
    ...failuresOf(report),
    ...checkLine(report),
  ].join('\n');
}
