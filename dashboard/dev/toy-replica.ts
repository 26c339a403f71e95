/**
 * Development only. The shapes of the toy cluster behind the fixture server, and how one of its replicas reports itself.
 *
 * The toy has the outward behaviour of a cluster (elections, votes, lag, faults) with none of its guarantees.
 */
import { phaseOf } from './toy-recovery.ts';
import type { ToyRecovery } from './toy-recovery.ts';
import type { ToyContent } from './toy-wal.ts';
import type { TraceEvent } from '../../server/src/api/events.ts';
import type {
  ClusterReplica,
  LinkFault,
  MembershipStatus,
  ReplicaStatus,
  WalStatus,
} from '../../server/src/api/status.ts';
import type { Ballot, ReplicaId, Role, Slot } from '../../server/src/multipaxos/types/names.ts';
import type { CoreSnapshot, TraceMessage } from '../../server/src/multipaxos/types/trace.ts';

export interface ToyEntry {
  readonly label: string;
  readonly content: ToyContent;
  readonly ballot: Ballot;
  readonly atMs: number;
}

export interface ToyReplica {
  readonly id: ReplicaId;
  readonly index: number;
  process: ClusterReplica['process'];
  pid: number;
  run: string;
  seq: number;
  postgresUp: boolean;
  /** When the supervisor brings PostgreSQL back by itself. */
  postgresUpAtMs: number;
  /** Of its log, and what it is doing to come back after a wipe. */
  incarnation: number;
  recovery: ToyRecovery | null;
  toldPhase: string;
  role: Role;
  serving: boolean;
  ballot: Ballot;
  leader: ReplicaId | null;
  log: Map<number, ToyEntry>;
  commitPoint: number;
  applied: number;
  lastSlot: number;
  electionDueMs: number;
  /** Of a candidate or leader: who promised, when each peer was last heard, how far each has voted. */
  promises: Set<ReplicaId>;
  heardMs: Map<ReplicaId, number>;
  votedTo: Map<ReplicaId, number>;
  readonly faults: Map<ReplicaId, LinkFault>;
  /** The last status that the supervisor got, and when. */
  reported: ReplicaStatus | null;
  reportedAtMs: number;
  counters: { transactions: number; reads: number; appliedEntries: number };
  latenciesMs: number[];
}

export function slot(value: number): Slot {
  return value as Slot;
}

export function createReplica(index: number): ToyReplica {
  return {
    id: `r${index + 1}` as ReplicaId,
    index,
    process: 'running',
    pid: 41_210 + index * 13,
    run: `run-${index + 1}-1`,
    seq: 0,
    postgresUp: true,
    postgresUpAtMs: 0,
    incarnation: 1,
    recovery: null,
    toldPhase: '',
    role: 'follower',
    serving: false,
    ballot: { round: 0, replica: '' as ReplicaId },
    leader: null,
    log: new Map(),
    commitPoint: 0,
    applied: 0,
    lastSlot: 0,
    electionDueMs: 300 + index * 250,
    promises: new Set(),
    heardMs: new Map(),
    votedTo: new Map(),
    faults: new Map(),
    reported: null,
    reportedAtMs: 0,
    counters: { transactions: 0, reads: 0, appliedEntries: 0 },
    latenciesMs: [],
  };
}

export function snapshotOf(replica: ToyReplica): CoreSnapshot {
  return {
    role: replica.role,
    ballot: replica.ballot,
    promised: replica.ballot,
    durablePromised: replica.ballot,
    commitPoint: slot(replica.commitPoint),
    lastSlot: slot(replica.lastSlot),
    serving: replica.serving,
    configuration: replica.incarnation,
  };
}

export type EventBody = TraceEvent extends infer Each
  ? Each extends TraceEvent
    ? Omit<Each, 'seq' | 'run' | 'replica' | 'atUs'>
    : never
  : never;

export type ConsensusBody = Omit<Extract<EventBody, { layer: 'consensus' }>, 'layer' | 'state'>;

export function sentTo(
  peers: readonly ToyReplica[],
  message: TraceMessage,
): readonly { readonly to: ReplicaId; readonly message: TraceMessage }[] {
  return peers.map((peer) => ({ to: peer.id, message }));
}

export interface ToyView {
  readonly members: readonly ToyReplica[];
  readonly nowMs: number;
  readonly wal: Omit<WalStatus, 'role'>;
}

export function statusOf(replica: ToyReplica, { members, nowMs, wal }: ToyView): ReplicaStatus {
  const phase = replica.recovery === null ? null : phaseOf(replica.recovery, nowMs);
  const state =
    phase?.phase === 'joining' ? 'joining' : phase?.phase === 'copying' ? 'restoring' : conditionOf(replica);
  return {
    id: replica.id,
    incarnation: phase?.phase === 'joining' ? 0 : replica.incarnation,
    membership: membershipOf(members, nowMs),
    recovery: phase?.progress ?? null,
    group: 'main',
    role: replica.role,
    ballot: replica.ballot,
    leader: replica.leader,
    commitPoint: slot(replica.commitPoint),
    applicationPointer: slot(replica.applied),
    durableApplicationPointer: slot(Math.max(0, replica.applied - 9)),
    lastSlot: slot(replica.lastSlot),
    state,
    message:
      state === 'databaseDown'
        ? 'PostgreSQL ended (signal 9). It is being started again.'
        : state === 'noLeader'
          ? 'No majority of replicas answers. Clients get an error until one does.'
          : null,
    pgwire: { host: '127.0.0.1', port: 7432 + replica.index },
    http: { host: '127.0.0.1', port: 9000 + replica.index },
    pid: replica.pid,
    postgres: {
      pid: replica.postgresUp ? replica.pid + 5 : null,
      socketDir: `.barista/${replica.id}/socket`,
      port: 5432,
      up: replica.postgresUp,
      version: '18.4',
    },
    wal: phase?.phase === 'joining' ? null : { role: databaseRole(replica, phase?.phase ?? null), ...wal },
    archive: null,
    clients: replica.role === 'leader' ? 8 : replica.index,
    log: { bytes: 16_777_216 + replica.lastSlot * 412, segments: 2, purgedTo: slot(0) },
    peers: members
      .filter((member) => member !== replica)
      .map((member) => ({
        id: member.id,
        connected: member.process !== 'stopped' && replica.faults.get(member.id)?.cut !== true,
      })),
    faults: [...replica.faults.values()],
    counters: { ...replica.counters, droppedEvents: 0 },
  };
}

function databaseRole(replica: ToyReplica, phase: string | null): WalStatus['role'] {
  if (phase === 'copying' || phase === 'starting') return 'copying';
  if (replica.role !== 'leader') return 'standby';
  return replica.serving ? 'primary' : 'promoting';
}

function membershipOf(members: readonly ToyReplica[], nowMs: number): MembershipStatus {
  return {
    version: members.reduce((sum, { incarnation }) => sum + incarnation, 1 - members.length),
    members: members.map(({ id, index, incarnation, recovery }) => {
      const learns = recovery !== null && recovery.what !== 'database' && phaseOf(recovery, nowMs) !== null;
      const pgwire = { host: '127.0.0.1', port: 7432 + index };
      const address = { host: '127.0.0.1', port: 7532 + index, pgwire };
      return { replica: id, incarnation, role: learns ? 'learner' : 'voter', address };
    }),
  };
}

function conditionOf(replica: ToyReplica): ReplicaStatus['state'] {
  if (!replica.postgresUp) return 'databaseDown';
  if (replica.leader === null) return 'noLeader';
  if (replica.role === 'leader' && !replica.serving) return 'recovering';
  return replica.commitPoint - replica.applied > 50 ? 'recovering' : 'serving';
}

export const noFault = { cut: false, delayMs: 0, drop: 0, duplicate: 0 };

/** What was counted since the last call. */
export function takeRates(replica: ToyReplica): Record<string, number> {
  const sorted = replica.latenciesMs.sort((a, b) => a - b);
  const quantile = (q: number): number =>
    Math.round((sorted[Math.floor((sorted.length - 1) * q)] ?? 0) * 100) / 100;
  const rates = {
    transactionsPerSecond: replica.counters.transactions,
    readsPerSecond: replica.counters.reads,
    appliedPerSecond: replica.counters.appliedEntries,
    latencyMsP50: quantile(0.5),
    latencyMsP99: quantile(0.99),
  };
  replica.latenciesMs = [];
  replica.counters = { transactions: 0, reads: 0, appliedEntries: 0 };
  return rates;
}
