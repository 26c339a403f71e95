/**
 * What can be asked of the replicas of a run, and what comes of it: set a fault, run SQL, read a slot, compare the data. Types alone: a source implements them, with a server or without one.
 *
 * Every outcome is returned; nothing is thrown.
 */
import type { Activity, EndSessionRequest } from '../../../server/src/api/activity.ts';
import type { LoadSettings } from '../../../server/src/api/load.ts';
import type { SqlError, SqlResult } from '../../../server/src/api/sql.ts';
import type {
  BackupsStatus,
  ReplicaChangeRequest,
  ReplicaChangeStatus,
} from '../../../server/src/api/replica-changes.ts';
import type { FaultRequest, VerifyResult } from '../../../server/src/api/status.ts';
import type { SlotAnswer } from '../../../server/src/api/wal-summary.ts';

export interface ApiError {
  readonly code: string;
  readonly message: string;
}

export type FaultOutcome = { readonly ok: true } | { readonly ok: false; readonly error: ApiError };

export type SqlOutcome =
  | { readonly ok: true; readonly result: SqlResult }
  | { readonly ok: false; readonly error: SqlError };

export type VerifyOutcome =
  | { readonly ok: true; readonly result: VerifyResult }
  | { readonly ok: false; readonly error: ApiError };

export type SlotOutcome =
  | { readonly ok: true; readonly answer: SlotAnswer }
  | { readonly ok: false; readonly error: ApiError };

export type ActivityOutcome =
  | { readonly ok: true; readonly activity: Activity }
  | { readonly ok: false; readonly error: ApiError };

export type ReplicaOutcome =
  | { readonly ok: true; readonly replica: string; readonly message: string }
  | { readonly ok: false; readonly error: ApiError };

export type ReplicaChangeStatusOutcome =
  | { readonly ok: true; readonly status: ReplicaChangeStatus }
  | { readonly ok: false; readonly error: ApiError };

export type BackupsOutcome =
  | { readonly ok: true; readonly status: BackupsStatus }
  | { readonly ok: false; readonly error: ApiError };

export interface RunRequests {
  /** `signal` gives it up: whoever has not begun with it by then leaves it. */
  fault(request: FaultRequest, signal?: AbortSignal): Promise<FaultOutcome>;
  sql(replica: string, sql: string): Promise<SqlOutcome>;
  /** Whether a question of the page itself changes nothing of the run; where it is missing, each `sql` is an act that the run keeps. */
  readonly sqlIsFree?: boolean;
  /** What a slot holds. `signal` gives it up; the outcome is of no use then. */
  slot(slot: number, signal: AbortSignal): Promise<SlotOutcome>;
  /** How much the run's own clients ask for; missing: it has none that heed it. */
  load?(settings: LoadSettings): Promise<FaultOutcome>;
  /** A replica comes, goes or is replaced; missing: the run's replicas are fixed. */
  changeReplicas?(request: ReplicaChangeRequest): Promise<ReplicaOutcome>;
  /** How far the last change is, whoever asked for it; missing likewise. */
  replicaChange?(): Promise<ReplicaChangeStatusOutcome>;
  /** `take`: begins one. Missing: there is nothing to back up. */
  backups?(take: boolean): Promise<BackupsOutcome>;
  /** What a replica's PostgreSQL is at; missing: the run has no PostgreSQL. */
  activity?(replica: string, signal: AbortSignal): Promise<ActivityOutcome>;
  /** Has the group's statements counted from now on; asked at the leader. Missing likewise. */
  countStatements?(replica: string): Promise<FaultOutcome>;
  /** Of a client at that replica. */
  endSession?(replica: string, request: EndSessionRequest): Promise<FaultOutcome>;
  /** Takes as long as the replicas need to read all their data. */
  verify(repair: boolean): Promise<VerifyOutcome>;
}

/** Sends a fault, and tells the person what came of it. */
export type SendFault = (request: FaultRequest) => void;
