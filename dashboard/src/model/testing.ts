/** Builders for the tests of the model: events and statuses with only what a test cares about spelt out. */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type {
  ClusterReplica,
  ClusterStatus,
  MembershipStatus,
  ReplicaStatus,
} from '../../../server/src/api/status.ts';
import type { Ballot, ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import type { CoreSnapshot } from '../../../server/src/multipaxos/types/trace.ts';

export function ballot(round: number, replica: string): Ballot {
  return { round, replica: replica as ReplicaId };
}

type Consensus = Extract<TraceEvent, { layer: 'consensus' }>;

export function consensus(
  place: { readonly replica?: string; readonly seq: number; readonly run?: string },
  event: Pick<Consensus, 'name'> &
    Partial<Omit<Consensus, 'state'>> & { readonly state?: Partial<CoreSnapshot> },
): TraceEvent {
  const nothing = ballot(0, '');
  const state: CoreSnapshot = {
    role: 'follower',
    ballot: nothing,
    promised: nothing,
    durablePromised: nothing,
    commitPoint: 0 as Slot,
    lastSlot: 0 as Slot,
    serving: false,
    configuration: 1,
    ...event.state,
  };
  return {
    layer: 'consensus',
    seq: place.seq,
    run: place.run ?? 'run',
    replica: (place.replica ?? 'r1') as ReplicaId,
    atUs: place.seq * 1000,
    ...event,
    state,
  };
}

/** `body` is an event without its envelope; slots may be plain numbers. */
export function other(
  place: { readonly replica?: string; readonly seq: number; readonly run?: string },
  body: Readonly<Record<string, unknown>>,
): TraceEvent {
  return {
    seq: place.seq,
    run: place.run ?? 'run',
    replica: place.replica ?? 'r1',
    atUs: place.seq * 1000,
    ...body,
  } as unknown as TraceEvent;
}

export function vote(slot: number, by: Ballot | null, label: string): readonly [Slot, Ballot | null, string] {
  return [slot as Slot, by, label];
}

/** Each in its first incarnation, unless `incarnations` says otherwise. */
export function membershipOf(
  roles: Readonly<Record<string, 'voter' | 'learner'>>,
  incarnations: Readonly<Record<string, number>> = {},
  version = 1,
): MembershipStatus {
  const address = { host: 'h', port: 1, pgwire: { host: 'h', port: 2 } };
  const members = Object.entries(roles).map(([replica, role]) => ({
    replica: replica as ReplicaId,
    incarnation: incarnations[replica] ?? 1,
    role,
    address,
  }));
  return { version, members };
}

export function status(id: string, changes: Partial<ReplicaStatus> = {}): ReplicaStatus {
  return {
    id: id as ReplicaId,
    incarnation: 1,
    membership: membershipOf({ r1: 'voter', r2: 'voter', r3: 'voter' }),
    recovery: null,
    protocol: { name: 'multi-paxos' },
    payload: 'wal',
    group: 'main',
    role: 'follower',
    ballot: ballot(1, 'r1'),
    leader: 'r1' as ReplicaId,
    commitPoint: 0 as Slot,
    applicationPointer: 0 as Slot,
    durableApplicationPointer: 0 as Slot,
    lastSlot: 0 as Slot,
    state: 'serving',
    message: null,
    pgwire: { host: '127.0.0.1', port: 7432 },
    http: { host: '127.0.0.1', port: 9000 },
    pid: 1,
    postgres: { pid: 2, socketDir: '/s', port: 5432, up: true, version: '18.4' },
    wal: null,
    archive: null,
    backup: null,
    clients: 0,
    log: { bytes: 0, segments: 1, purgedTo: 0 as Slot },
    peers: [],
    certificates: [],
    faults: [],
    counters: {
      transactions: 0,
      reads: 0,
      appliedEntries: 0,
      droppedEvents: 0,
      readIndexes: 0,
      shownQuestions: 0,
      readsRefused: 0,
    },
    ...changes,
  };
}

export function replica(
  id: string,
  changes: Partial<ReplicaStatus> = {},
  seen: Partial<Pick<ClusterReplica, 'process' | 'ageMs'>> = {},
): ClusterReplica {
  return { id: id as ReplicaId, process: 'running', ageMs: 10, status: status(id, changes), ...seen };
}

export function clusterOf(...replicas: readonly ClusterReplica[]): ClusterStatus {
  return { group: 'main', check: null, replicas };
}
