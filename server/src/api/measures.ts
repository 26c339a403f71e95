/**
 * What a replica measures of itself beyond its status, for `GET /metrics`. Counts are since its process was started, and never go back.
 */
import type { ReplicaId, StepDownReason } from '../multipaxos/types/names.ts';
import type { PaceReport } from './status.ts';

/** Why a candidate did not become leader: a reason to give up, or that it stands again, for nobody had won. */
export type ElectionEnd = StepDownReason | 'timedOut';

/** Elections in which this replica stood. */
export interface ElectionCounts {
  readonly started: number;
  readonly won: number;
  readonly lost: Readonly<Record<ElectionEnd, number>>;
  /** Leaderships of this replica that are over. */
  readonly leadershipsEnded: Readonly<Record<StepDownReason, number>>;
}

/** What came of planned hand-overs that this replica was to make. */
export type HandOverEnd = 'done' | 'notLeader' | 'busy' | 'noSuccessor' | 'timedOut';

/** How far another member is, as the leader knows it by what that one has told it. */
export interface PeerLag {
  /** The replica, whichever incarnation it is. */
  readonly member: ReplicaId;
  /** Since the leader sent what the peer has answered last, or since the leadership began. */
  readonly silentMs: number;
  /** Chosen, and not known there to be; null: it has told this leader nothing yet. */
  readonly behindSlots: number | null;
  /** The bytes of these, about: never less than they are, as far as they were chosen since this replica was started. */
  readonly behindBytes: number | null;
  /** Chosen, and not durably in its database: the log is kept for these. Null: it has told nothing of it. */
  readonly databaseBehindSlots: number | null;
}

/** Bytes of the WAL that this replica knows to be chosen, which its own standby lacks. */
export interface StandbyLag {
  readonly receivedBehindBytes: number;
  readonly flushedBehindBytes: number;
  readonly replayedBehindBytes: number;
}

/** What the consensus and the database of a replica measure. */
export interface ReplicaMeasures {
  readonly elections: ElectionCounts;
  readonly handOvers: Readonly<Record<HandOverEnd, number>>;
  /** Hand-overs of these because another replica is much faster. */
  readonly slowHandOvers: Readonly<Record<HandOverEnd, number>>;
  /** Null: nothing is known. */
  readonly pace: PaceReport | null;
  /** Empty: this replica does not lead. */
  readonly peers: readonly PeerLag[];
  /** Null: its PostgreSQL is no standby now, or has not told yet how far it is. */
  readonly standby: StandbyLag | null;
  /** For how long the oldest of what this leader has proposed of its WAL has not been chosen; 0: nothing waits. */
  readonly choiceWaitMs: number;
  /** So far apart this leader's groups begin; null: it does not lead, or `groupCommit` is `gather`. */
  readonly groupIntervalMs: number | null;
}

/** `leader`: a session of this leader's own PostgreSQL; `tunnel`: passed on to the leader; `read`: at this replica's own standby; `statements`: one that exists at every replica. */
export type SessionKind = 'leader' | 'tunnel' | 'read' | 'statements';

/** What the gateway for SQL clients measures. */
export interface GatewayMeasures {
  /** Those that are being logged in are counted, too. */
  readonly sessions: Readonly<Record<SessionKind, number>>;
  /** By SQLSTATE. */
  readonly loginsRefused: ReadonlyMap<string, number>;
  /** Sessions that were ended with an error, by its SQLSTATE. */
  readonly sessionsEnded: ReadonlyMap<string, number>;
  /** How often answers had to wait until they could leave. */
  readonly answersHeld: number;
  /** Requests of clients passed on to a leader that went away: executed again at another one, or not, because they were before or have ended their own server process. */
  readonly requestsRepeated: number;
  readonly requestsNotRepeated: number;
}

/** What the gateway for Thrift clients measures. */
export interface ThriftMeasures {
  readonly connections: number;
  /** Handles that are valid now. */
  readonly sessions: number;
  /** Requests that were answered, by method. */
  readonly requests: ReadonlyMap<string, number>;
  /** Those that were answered with an exception, by its SQLSTATE. */
  readonly errors: ReadonlyMap<string, number>;
  /** Connections that were ended for what they sent, or did not. */
  readonly broken: number;
}

/** Frames between replicas, but those of copies. */
export interface PeerTraffic {
  readonly sent: number;
  readonly sentBytes: number;
  readonly received: number;
  /** Peer away, or of a version that does not know the message; queue full, or message too large; not those that a fault took. */
  readonly dropped: number;
  /** Received, but meant for another incarnation than this one, or sent by a replica that is no peer any more. */
  readonly misdirected: number;
}

export interface Measures {
  readonly replica: ReplicaMeasures;
  readonly gateway: GatewayMeasures;
  /** Null: there is no such gateway. */
  readonly thrift: ThriftMeasures | null;
  readonly peers: PeerTraffic;
}

const nothingLost: Readonly<Record<StepDownReason, number>> = {
  databaseFailed: 0,
  logFailed: 0,
  quorumLost: 0,
  higherBallot: 0,
  requested: 0,
  handedOver: 0,
  removed: 0,
};

export const noElections: ElectionCounts = {
  started: 0,
  won: 0,
  lost: { ...nothingLost, timedOut: 0 },
  leadershipsEnded: nothingLost,
};

export const noHandOvers: Readonly<Record<HandOverEnd, number>> = {
  done: 0,
  notLeader: 0,
  busy: 0,
  noSuccessor: 0,
  timedOut: 0,
};

/** Of a replica that is not in its group yet, or whose log is damaged. */
export const noReplicaMeasures: ReplicaMeasures = {
  elections: noElections,
  handOvers: noHandOvers,
  slowHandOvers: noHandOvers,
  pace: null,
  peers: [],
  standby: null,
  choiceWaitMs: 0,
  groupIntervalMs: null,
};

/** Of one that has no gateway for SQL clients. */
export const noGatewayMeasures: GatewayMeasures = {
  sessions: { leader: 0, tunnel: 0, read: 0, statements: 0 },
  loginsRefused: new Map(),
  sessionsEnded: new Map(),
  answersHeld: 0,
  requestsRepeated: 0,
  requestsNotRepeated: 0,
};

/** Of one that has no links. */
export const noPeerTraffic: PeerTraffic = { sent: 0, sentBytes: 0, received: 0, dropped: 0, misdirected: 0 };
