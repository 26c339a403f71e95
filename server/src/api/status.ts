/** Shapes of the HTTP API: `GET /api/status` of a replica, `GET /api/cluster` of the demo, `barista status --json`. */
import type { Ballot, ReplicaId, Role, Slot } from '../multipaxos/types.ts';

/**
 * `starting`: PostgreSQL or the log is being opened. `recovering`: applying what was chosen. `serving`: can answer clients
 * (a leader itself, a follower through it). `noLeader`: up, but no leader is known. `databaseDown`: its PostgreSQL is away.
 * `logFull`: cannot make votes durable for want of space. `logCorrupt`: refuses to vote. `diverged`: an entry could not be
 * applied, so the replica has stopped applying. `down`: no answer (only the cluster view says so).
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
  | 'down';

export interface ReplicaStatus {
  readonly id: ReplicaId;
  readonly group: string;
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
  readonly clients: number;
  readonly log: { readonly bytes: number; readonly segments: number; readonly purgedTo: Slot };
  readonly peers: readonly { readonly id: ReplicaId; readonly connected: boolean }[];
  /** Faults set on this replica's outgoing links. */
  readonly faults: readonly LinkFault[];
  /** Counted since the replica started. */
  readonly counters: {
    readonly transactions: number;
    readonly reads: number;
    readonly appliedEntries: number;
    readonly droppedEvents: number;
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
      readonly action: 'crash' | 'pause' | 'resume' | 'restart' | 'killPostgres' | 'isolate';
      readonly replica: ReplicaId;
    }
  | {
      readonly action: 'cut' | 'delay' | 'drop' | 'duplicate';
      readonly from: ReplicaId;
      readonly to: ReplicaId;
      /** Milliseconds for `delay`, a probability for `drop` and `duplicate`. */
      readonly amount?: number;
    }
  | { readonly action: 'heal' };
