/** Shapes of the HTTP API: `GET /api/status` of a replica, `GET /api/cluster` of the demo, `barista status --json`. */
import type { CheckStatus } from './check.ts';
import type { MemberAddress } from '../multipaxos/types/members.ts';
import type { Ballot, ReplicaId, Role, Slot } from '../multipaxos/types/names.ts';

/**
 * `starting`: PostgreSQL or the log is being opened. `recovering`: applying what was chosen, or a follower of a leader that does not serve clients. `serving`: can answer clients
 * (a leader itself, a follower through it). `noLeader`: up, but no leader is known. `databaseDown`: its PostgreSQL is away.
 * `logFull`: cannot make votes durable for want of space. `logCorrupt`: refuses to vote. `diverged`: a comparison found other data than the majority's, so the replica
 * serves and leads no more. `joining`: it has no log, and waits to be admitted by the others.
 * `restoring`: its PostgreSQL is being copied from another replica. `removed`: it is no member any more, or another incarnation has taken its place. `down`: no answer (only the cluster view says so).
 */
export type ReplicaCondition =
  | 'starting'
  | 'recovering'
  | 'serving'
  | 'noLeader'
  | 'databaseDown'
  | 'logFull'
  | 'logCorrupt'
  | 'diverged'
  | 'joining'
  | 'restoring'
  | 'removed'
  | 'down';

/**
 * How far a recovery is, while there is one. `joining`: waits for its incarnation. `copying`: receives a copy of `source`'s PostgreSQL. `starting`: PostgreSQL
 * replays the copy. `catchingUp`: applies the log from there. `bytesTotal` null: not known yet. Cause `noLog`: while it waits for its incarnation, a replica with nothing cannot
 * tell whether it is new or has lost its disk (`new`, `bothLost`); the others tell it. While it copies, `bytes` of `bytesTotal` have been compared with the source's; of these, `bytesReceived` differed and were sent (missing: it is not
 * told).
 */
export interface RecoveryProgress {
  readonly phase: 'joining' | 'copying' | 'starting' | 'catchingUp';
  readonly cause:
    | 'noLog'
    | 'logLost'
    | 'databaseLost'
    | 'bothLost'
    | 'logPurged'
    | 'diverged'
    | 'parted'
    | 'new';
  readonly source: ReplicaId | null;
  readonly bytes: number;
  readonly bytesTotal: number | null;
  readonly bytesReceived?: number;
  /** 0 to 100, of the phase. A copy at 100 has arrived, and is being made durable. */
  readonly percent: number | null;
  /** How often it has begun afresh. */
  readonly attempts: number;
  /** Why it could not go on the last time, in words; null: nothing has failed yet. `source` null: not for what a copy's source did. */
  readonly lastFailure: {
    readonly reason: string;
    readonly source: ReplicaId | null;
    readonly agoMs: number;
  } | null;
  readonly sinceMs: number;
}

/** The members as this replica knows them. */
export interface MembershipStatus {
  readonly version: number;
  readonly members: readonly {
    readonly replica: ReplicaId;
    readonly incarnation: number;
    readonly role: 'voter' | 'learner';
    readonly address: MemberAddress;
  }[];
}

/**
 * `role`: what the directory of its database says of itself. `chosen`: the end of the WAL that is known to be chosen; `flushed`, `replayed`: how far this replica's own PostgreSQL is. `unchosenBytes`: of a leader, what its PostgreSQL
 * has written beyond.
 */
export interface WalStatus {
  readonly role: 'founder' | 'standby' | 'promoting' | 'primary' | 'copying';
  readonly timeline: number;
  readonly chosen: string;
  readonly flushed: string;
  readonly replayed: string;
  readonly unchosenBytes: number;
}

/** Chosen WAL that is kept for restoring to a point in time: durably up to `end` on `timeline`, in `bytes` of files. `gaps`: how often since the start WAL was not to be had any more. `problem`: why nothing is archived now. */
export interface ArchiveReport {
  readonly timeline: number | null;
  readonly end: string | null;
  readonly bytes: number;
  readonly gaps: number;
  readonly problem: string | null;
}

/**
 * Backups that are made on a schedule, as this replica sees the directory. `kept`: how many good ones of this cluster there are; `newest`: of these. `ageMs`: since that one was begun. `dueAt`: when this replica would make the next one, if no other has.
 * `problem`: when the last attempt of this replica failed, and why. `test`: the newest restore test, of the backup `name`. Times in ISO 8601.
 */
export interface BackupReport {
  readonly directory: string;
  readonly kept: number;
  readonly newest: { readonly name: string; readonly takenAt: string; readonly bytes: number } | null;
  readonly ageMs: number | null;
  readonly dueAt: string;
  readonly running: 'backup' | 'restoreTest' | null;
  readonly problem: string | null;
  readonly test: {
    readonly name: string;
    readonly ok: boolean;
    readonly at: string;
    readonly message: string;
  } | null;
}

/** What the replica shows to whoever connects, or connects to: `name` is its key in the configuration. `expiresAt`: ISO 8601. `problem`: why newer files are not used; null: nothing is wrong. */
export interface CertificateStatus {
  readonly name: string;
  readonly expiresAt: string;
  readonly problem: string | null;
}

/** What orders what travels, and what is particular to it. */
export type ProtocolStatus =
  | { readonly name: 'multi-paxos' }
  /** Nobody leads. Counted since the replica started. */
  | { readonly name: 'paxos'; readonly counts: PaxosCounts }
  /** One orders. `needsCopy`: its database has executed what the log has not. Counted, as primary, since the replica started. */
  | {
      readonly name: 'primary';
      readonly role: 'recovering' | 'standby' | 'primary';
      readonly replication: 'none' | 'async' | 'majority' | 'semi' | 'sync';
      readonly needsCopy: boolean;
      readonly counts: { readonly acknowledged: number; readonly unacknowledged: number };
    };

/**
 * Of this replica: `proposals` of its own, of which `chosen` are chosen; `moved`: proposals that lost a slot to another, and stood in one more. `rounds`: ballots that it began, for its own or to fill a hole; `duelled`: those of them that a higher one ended.
 * `messages`: what it has sent; `messagesPerAgreement`: for each entry that it came to know as chosen.
 */
export interface PaxosCounts {
  readonly proposals: number;
  readonly chosen: number;
  readonly moved: number;
  readonly rounds: number;
  readonly duelled: number;
  readonly messages: number;
  readonly messagesPerAgreement: number;
}

export const noPaxosCounts: PaxosCounts = {
  proposals: 0,
  chosen: 0,
  moved: 0,
  rounds: 0,
  duelled: 0,
  messages: 0,
  messagesPerAgreement: 0,
};

export interface PeerStatus {
  readonly id: ReplicaId;
  readonly connected: boolean;
  readonly version: number | null;
}

export interface ReplicaStatus {
  readonly id: ReplicaId;
  /** Of its log: 1, 2, ... 0 before it is admitted. */
  readonly incarnation: number;
  readonly membership: MembershipStatus;
  readonly recovery: RecoveryProgress | null;
  readonly group: string;
  readonly protocol: ProtocolStatus;
  /** What travels. */
  readonly payload: 'wal' | 'statements';
  readonly role: Role;
  readonly ballot: Ballot;
  readonly leader: ReplicaId | null;
  readonly commitPoint: Slot;
  readonly applicationPointer: Slot;
  readonly durableApplicationPointer: Slot;
  readonly lastSlot: Slot;
  readonly state: ReplicaCondition;
  /** What is wrong and what to do, if anything is. */
  readonly message: string | null;
  readonly pgwire: { readonly host: string; readonly port: number };
  readonly http: { readonly host: string; readonly port: number };
  readonly pid: number;
  readonly postgres: {
    readonly pid: number | null;
    readonly socketDir: string;
    readonly port: number;
    readonly up: boolean;
    readonly version: string | null;
  };
  /** What its PostgreSQL is, and how far; positions as PostgreSQL writes them, such as `0/3000060`. Null: there is none that can be told of. */
  readonly wal: WalStatus | null;
  /** Null: no archive is configured, or it has not been opened yet. */
  readonly archive: ArchiveReport | null;
  /** Null: no backups are made on a schedule, or it has no database yet. */
  readonly backup: BackupReport | null;
  readonly clients: number;
  /** Null or missing: nothing is known, or statements travel. */
  readonly pace?: PaceReport | null;
  /** Null or missing: not known, or statements travel. */
  readonly held?: HeldResources | null;
  /** Missing: statements travel, or it is joining. */
  readonly left?: LeftRunning;
  readonly log: { readonly bytes: number; readonly segments: number; readonly purgedTo: Slot };
  /** `version`: of the peers' protocol, that is spoken with it; null while it is away. */
  readonly peers: readonly PeerStatus[];
  /** Empty: nothing is encrypted. */
  readonly certificates: readonly CertificateStatus[];
  /** Faults set on this replica's outgoing links. */
  readonly faults: readonly LinkFault[];
  /** Counted since the replica started. */
  readonly counters: {
    readonly transactions: number;
    readonly reads: number;
    readonly appliedEntries: number;
    readonly droppedEvents: number;
    /** Of reads at this replica's own standby: read indexes that were asked of leaders, questions whether they show what was found, and reads that were refused because either took too long. */
    readonly readIndexes: number;
    readonly shownQuestions: number;
    readonly readsRefused: number;
    /** Missing: no age of prepared transactions is configured. */
    readonly preparedRolledBack?: number;
  };
}

/** One direction of one link. `delayMs` is added to each message; `drop` and `duplicate` are probabilities. */
export interface LinkFault {
  readonly from: ReplicaId;
  readonly to: ReplicaId;
  readonly cut: boolean;
  readonly delayMs: number;
  readonly drop: number;
  readonly duplicate: number;
}

export interface ClusterStatus {
  readonly group: string;
  /** Null: nobody checks what the replicas record. */
  readonly check: CheckStatus | null;
  readonly replicas: readonly ClusterReplica[];
}

/** A replica as the demo's supervisor sees it; `status` is the last one received. */
export interface ClusterReplica {
  readonly id: ReplicaId;
  readonly process: 'running' | 'paused' | 'stopped';
  readonly status: ReplicaStatus | null;
  /** Milliseconds since `status` was received. */
  readonly ageMs: number | null;
}

/** `POST /api/fault` of the demo; the `barista fault` command and the dashboard send the same. */
export type FaultRequest =
  | {
      readonly action: 'resume' | 'restart' | 'killPostgres' | 'isolate';
      readonly replica: ReplicaId;
    }
  /** `force`: though no majority is left then; without it that is refused (`beyondMinority`). */
  | { readonly action: 'crash' | 'pause'; readonly replica: ReplicaId; readonly force?: boolean }
  /** What a lost disk does: kill -9, remove, start. `force` likewise. */
  | {
      readonly action: 'wipe';
      readonly replica: ReplicaId;
      readonly what: 'log' | 'database' | 'both';
      readonly force?: boolean;
    }
  /** `amount` 0 mends the link; 1, or none, cuts it. */
  | { readonly action: 'cut'; readonly from: ReplicaId; readonly to: ReplicaId; readonly amount?: number }
  | {
      readonly action: 'delay' | 'drop' | 'duplicate';
      readonly from: ReplicaId;
      readonly to: ReplicaId;
      /** Milliseconds for `delay`, a probability for `drop` and `duplicate`; 0 takes the fault off. */
      readonly amount: number;
    }
  | { readonly action: 'heal' };

/** What is done on purpose, whatever is left of the group. */
export function forced(request: FaultRequest): FaultRequest {
  const { action } = request;
  return action === 'crash' || action === 'pause' || action === 'wipe'
    ? { ...request, force: true }
    : request;
}

/** The answer to a fault that was set: what was done and what is now so, in words. */
export interface FaultAnswer {
  readonly ok: true;
  readonly message: string;
}

/**
 * What operators ask of a replica: `POST /api/members`, `POST /api/verify` and `GET /api/backup`, each with
 * `Authorization: Bearer <hex of HMAC-SHA256(cluster secret, 'barista admin')>`. Members and verify are the leader's to carry out, and answered when
 * that is done; a backup can be had from any replica that serves. The demo answers the same requests, but for a backup without the header, and finds the leader by itself.
 */
export type MembersRequest =
  | { readonly action: 'add'; readonly replica: ReplicaId; readonly address: MemberAddress }
  | { readonly action: 'remove'; readonly replica: ReplicaId };
export interface MembersAnswer {
  readonly ok: true;
  readonly membership: MembershipStatus;
}

/** `repair`: what differs from the majority is restored from it. */
export interface VerifyRequest {
  readonly repair: boolean;
}

/** The data of all replicas compared as of one slot. */
export interface VerifyResult {
  readonly slot: Slot;
  readonly replicas: readonly {
    readonly replica: ReplicaId;
    readonly outcome: 'equal' | 'differs' | 'noReport';
    /** Names of what differs from the majority, or why there is no report. */
    readonly detail: readonly string[];
  }[];
  /** How many objects were not compared by all, though their rows are stored here. */
  readonly leftOut: number;
  /** For people, whole sentences: what is done about those that differ, what an operator can do, what was not compared. Empty if all are equal. */
  readonly advice: readonly string[];
}

/** Medians of the last time, in milliseconds; null: not known. `logMs`, `databaseMs`: a flush of the log, and of PostgreSQL's WAL. `quorumMs`: until a quorum has answered. `slow`: a commit would take too long if this replica led. */
export interface PaceReport {
  readonly logMs: number | null;
  readonly databaseMs: number | null;
  readonly quorumMs: number | null;
  readonly slow: boolean;
}

/** What transactions at a replica's PostgreSQL hold of what all sessions share. */
export interface HeldResources {
  /** Entries of the shared lock table. `max`: what PostgreSQL has room for, at least. `holders`: the sessions that hold most. */
  readonly locks: { readonly held: number; readonly max: number; readonly holders: readonly LockHolder[] };
  readonly prepared: {
    readonly count: number;
    /** `max_prepared_transactions`. */
    readonly max: number;
    /** `xids`: so many transaction ids ago it began. No row version that it can see is removed by VACUUM. */
    readonly oldest: { readonly gid: string; readonly ageMs: number; readonly xids: number } | null;
    /** Missing: none is configured. `problem`: why a transaction that is older is still there. */
    readonly limit?: { readonly minutes: number; readonly problem: string | null };
  };
}

/** `pid` null: prepared transactions. What the gateway does not know is missing: the session is not a client's. */
export interface LockHolder {
  readonly pid: number | null;
  readonly locks: number;
  readonly role?: string;
  readonly database?: string;
  readonly address?: string;
}

/** PostgreSQL's processes that execute what clients have asked for who are gone since, `longest`: those of them that were left first. They count as clients. */
export interface LeftRunning {
  readonly count: number;
  readonly longest: readonly {
    readonly pid: number;
    readonly role: string;
    readonly database: string;
    readonly address: string;
    readonly leftMs: number;
    /** PostgreSQL's words for it, `type: event`; null: for nothing, or it was not looked at yet. */
    readonly waitsFor: string | null;
  }[];
}

/** Body of `POST /api/sessions/end`. */
export interface SessionEndRequest {
  /** Of PostgreSQL's process. */
  readonly pid: number;
}

export interface SessionEndAnswer {
  readonly ok: true;
  readonly pid: number;
}

/** `to` null: to whoever is readiest. `transactionMs`: how long open transactions may continue before they are cut off. */
export interface LeaderTransferRequest {
  readonly to: ReplicaId | null;
  readonly transactionMs: number;
}

/** `leader` serves clients. `tookMs`: from when nobody new was let in until this replica heard so. */
export interface LeaderTransferAnswer {
  readonly ok: true;
  readonly leader: ReplicaId;
  readonly tookMs: number;
}

/**
 * Any answer that is not 200. `unauthorized`: 401. `badRequest`: 400. `notLeader`: 409, and `leader` may be asked instead, if it is known. `unavailable`: 503, not
 * now. `failed`: 500. The others: 409, as in the core's `reconfigured` effect; `timedOut`: proposed, and not known to be chosen yet, or another replica was elected, and does not serve yet; `noSuccessor`: nobody could lead instead, and why.
 */
export interface AdminRefusal {
  readonly error: {
    readonly code:
      | 'unauthorized'
      | 'badRequest'
      | 'notLeader'
      | 'busy'
      | 'wouldLoseQuorum'
      | 'unknownReplica'
      | 'exists'
      | 'tooMany'
      | 'timedOut'
      | 'noSuccessor'
      | 'unavailable'
      | 'failed';
    readonly message: string;
    readonly leader?: ReplicaId | null;
  };
}
