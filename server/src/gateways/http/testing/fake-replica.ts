/** A replica that only has a status and a list of listeners, for tests of what is served about it. */
import { Readable } from 'node:stream';
import { isFrequent, type TraceEvent } from '../../../api/events.ts';
import { type Measures, noElections, noHandOvers } from '../../../api/measures.ts';
import type { ReplicaStatus } from '../../../api/status.ts';
import type { ReplicaId, Slot } from '../../../multipaxos/types/names.ts';
import type { Lsn } from '../../../wal/lsn.ts';
import type { HttpReplica } from '../http-gateway.ts';

export interface FakeReplica extends HttpReplica {
  measures(): Measures;
  change(part: Partial<ReplicaStatus>): void;
  emit(event: TraceEvent): void;
  /** Whether somebody is given frequent events. */
  hearsAll(): boolean;
}

const slot = (value: number): Slot => value as Slot;

/** Of a leader of three, with each kind of thing that can be told. */
const measured: Measures = {
  replica: {
    elections: { ...noElections, started: 3, won: 2, lost: { ...noElections.lost, timedOut: 1 } },
    handOvers: { ...noHandOvers, done: 1 },
    slowHandOvers: { ...noHandOvers, done: 1 },
    pace: { logMs: 2001, databaseMs: 1.5, quorumMs: null, slow: true },
    peers: [
      {
        member: 'r2' as ReplicaId,
        silentMs: 120,
        behindSlots: 2,
        behindBytes: 4096,
        databaseBehindSlots: 9,
      },
      {
        member: 'r3' as ReplicaId,
        silentMs: 90_000,
        behindSlots: null,
        behindBytes: null,
        databaseBehindSlots: null,
      },
    ],
    standby: { receivedBehindBytes: 10, flushedBehindBytes: 20, replayedBehindBytes: 30 },
    choiceWaitMs: 4,
    groupIntervalMs: 1.5,
  },
  gateway: {
    sessions: { leader: 2, tunnel: 1, read: 0, statements: 0 },
    loginsRefused: new Map([['28P01', 4]]),
    sessionsEnded: new Map([
      ['57P01', 3],
      ['08007', 1],
    ]),
    answersHeld: 5,
    requestsRepeated: 6,
    requestsNotRepeated: 7,
  },
  thrift: {
    connections: 4,
    sessions: 3,
    requests: new Map([['execute_sql', 20]]),
    errors: new Map([['23505', 2]]),
    broken: 1,
  },
  peers: { sent: 70, sentBytes: 9000, received: 60, dropped: 6, misdirected: 2 },
};

export function fakeReplica(id: string, httpPort = 0, pgwirePort = 7432): FakeReplica {
  const self = id as ReplicaId;
  const listeners = new Set<{
    readonly onEvent: (event: TraceEvent) => void;
    readonly attention: 'rare' | 'watching';
  }>();
  const address = { host: '127.0.0.1', port: 7532, pgwire: { host: '127.0.0.1', port: pgwirePort } };
  let status: ReplicaStatus = {
    id: self,
    incarnation: 1,
    membership: { version: 1, members: [{ replica: self, incarnation: 1, role: 'voter', address }] },
    recovery: null,
    group: 'main',
    protocol: { name: 'multi-paxos' },
    payload: 'wal',
    role: 'leader',
    ballot: { round: 4, replica: self },
    leader: self,
    commitPoint: slot(17),
    applicationPointer: slot(16),
    durableApplicationPointer: slot(10),
    lastSlot: slot(18),
    state: 'serving',
    message: null,
    pgwire: { host: '127.0.0.1', port: pgwirePort },
    http: { host: '127.0.0.1', port: httpPort },
    pid: process.pid,
    postgres: { pid: 4711, socketDir: '/tmp/pg', port: 5432, up: true, version: '18.4' },
    wal: {
      role: 'primary',
      timeline: 2,
      chosen: '0/3000100',
      flushed: '0/3000160',
      replayed: '0/3000160',
      unchosenBytes: 96,
    },
    archive: null,
    backup: null,
    clients: 3,
    log: { bytes: 4096, segments: 1, purgedTo: slot(0) },
    peers: [{ id: 'r2' as ReplicaId, connected: true, version: 6 }],
    faults: [],
    certificates: [],
    counters: {
      transactions: 100,
      reads: 50,
      appliedEntries: 7,
      droppedEvents: 0,
      readIndexes: 0,
      shownQuestions: 0,
      readsRefused: 0,
    },
  };
  return {
    status: () => status,
    measures: () => measured,
    subscribe: (onEvent, attention) => {
      const listener = { onEvent, attention };
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    setFaults(wanted, heals) {
      const foreign = wanted.find(({ from }) => from !== self);
      if (foreign !== undefined)
        throw new RangeError(`${foreign.from} -> ${foreign.to} is not a link of ${self}`);
      const others = status.faults.filter(({ to }) => !heals && wanted.every((fault) => fault.to !== to));
      status = { ...status, faults: [...others, ...wanted] };
    },
    readSlot: (at) =>
      Promise.resolve(
        at === 17
          ? { slot: at, label: 'noop', content: { kind: 'noop' } }
          : { error: { code: 'notChosen', message: `Slot ${at} is not known to be chosen here.` } },
      ),
    admin: {
      members: () =>
        Promise.resolve({ ok: true, answer: { ok: true, membership: status.membership } } as const),
      verify: () =>
        Promise.resolve({
          ok: false,
          error: { code: 'notLeader', message: 'Ask r2, the leader.', leader: 'r2' as ReplicaId },
        } as const),
      transferLeadership: ({ to }) =>
        Promise.resolve(
          to === null
            ? ({ ok: true, answer: { ok: true, leader: 'r2' as ReplicaId, tookMs: 80 } } as const)
            : ({ ok: false, error: { code: 'noSuccessor', message: `${to} is no voter.` } } as const),
        ),
      endSession: ({ pid }) => Promise.resolve({ ok: true, answer: { ok: true, pid } } as const),
      backup: () => Promise.resolve({ ok: true, answer: Readable.from(['all ', 'of it']) } as const),
    },
    change(part) {
      status = { ...status, ...part };
    },
    hearsAll: () => [...listeners].some(({ attention }) => attention === 'watching'),
    emit(event) {
      for (const { onEvent, attention } of listeners)
        if (attention === 'watching' || !isFrequent(event.name)) onEvent(event);
    },
  };
}

/** One of those that come with every range of WAL. */
export function replay(replica: string, seq: number): TraceEvent {
  const base = { seq, run: 'run', replica: replica as ReplicaId, atUs: seq };
  return {
    ...base,
    layer: 'apply',
    name: 'Replay',
    flushed: seq as Lsn,
    replayed: seq as Lsn,
    durable: seq as Slot,
    applied: seq as Slot,
  };
}

export function databaseDown(replica: string, seq: number): TraceEvent {
  const base = { seq, run: 'run', replica: replica as ReplicaId, atUs: seq };
  return { ...base, layer: 'apply', name: 'DatabaseDown', reason: 'killed' };
}
