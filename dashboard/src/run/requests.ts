/**
 * What can be asked of the replicas of a run, and what comes of it: set a fault, run SQL, read a slot, compare the data. Types alone: a source implements them, with a server or without one.
 *
 * Every outcome is returned; nothing is thrown.
 */
import type { LoadSettings } from '../../../server/src/api/load.ts';
import type { FaultRequest, VerifyResult } from '../../../server/src/api/status.ts';
import type { SlotAnswer } from '../../../server/src/api/wal-summary.ts';

export interface ApiError {
  readonly code: string;
  readonly message: string;
}

export type FaultOutcome = { readonly ok: true } | { readonly ok: false; readonly error: ApiError };

export interface SqlResult {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
  /** PostgreSQL's command tag, such as `INSERT 0 1`. */
  readonly command: string;
  readonly durationMs: number;
  /** There were more rows than are sent. */
  readonly truncated: boolean;
}

/** `code` is the SQLSTATE; `position` counts characters of the statement from 1. */
export interface SqlError {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly position?: number;
}

export type SqlOutcome =
  | { readonly ok: true; readonly result: SqlResult }
  | { readonly ok: false; readonly error: SqlError };

export type VerifyOutcome =
  | { readonly ok: true; readonly result: VerifyResult }
  | { readonly ok: false; readonly error: ApiError };

export type SlotOutcome =
  | { readonly ok: true; readonly answer: SlotAnswer }
  | { readonly ok: false; readonly error: ApiError };

export interface RunRequests {
  /** `signal` gives it up: whoever has not begun with it by then leaves it. */
  fault(request: FaultRequest, signal?: AbortSignal): Promise<FaultOutcome>;
  sql(replica: string, sql: string): Promise<SqlOutcome>;
  /** What a slot holds. `signal` gives it up; the outcome is of no use then. */
  slot(slot: number, signal: AbortSignal): Promise<SlotOutcome>;
  /** How much the run's own clients ask for; missing: it has none that heed it. */
  load?(settings: LoadSettings): Promise<FaultOutcome>;
  /** Takes as long as the replicas need to read all their data. */
  verify(repair: boolean): Promise<VerifyOutcome>;
}

/** Sends a fault, and tells the person what came of it. */
export type SendFault = (request: FaultRequest) => void;
