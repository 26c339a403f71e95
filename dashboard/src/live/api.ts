/**
 * Requests to the server: set a fault, compare the data, run SQL, read a slot. Every outcome is returned; nothing is thrown.
 */
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
  /** There were more rows than the server sends. */
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

const noServer: ApiError = { code: 'noServer', message: 'The server does not answer.' };
const noSense: ApiError = { code: 'badAnswer', message: 'The server gave an answer that makes no sense.' };

function post(path: string, body: unknown): Promise<unknown> {
  return ask(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function ask(path: string, init: RequestInit): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch {
    return { error: noServer };
  }
  try {
    return await response.json();
  } catch {
    return { error: response.ok ? noSense : { code: String(response.status), message: response.statusText } };
  }
}

function errorIn(answer: unknown): SqlError | null {
  if (typeof answer !== 'object' || answer === null) return noSense;
  if (!('error' in answer)) return null;
  const error = answer.error as Partial<SqlError> | null;
  return typeof error?.message === 'string'
    ? { ...error, code: error.code ?? '', message: error.message }
    : noSense;
}

/** Sends a fault, and tells the person what came of it. */
export type SendFault = (request: FaultRequest) => void;

export async function postFault(request: FaultRequest): Promise<FaultOutcome> {
  const error = errorIn(await post('/api/fault', request));
  return error === null ? { ok: true } : { ok: false, error };
}

export type VerifyOutcome =
  | { readonly ok: true; readonly result: VerifyResult }
  | { readonly ok: false; readonly error: ApiError };

/** Takes as long as the replicas need to read all their data. */
export async function postVerify(repair: boolean): Promise<VerifyOutcome> {
  const answer = await post('/api/verify', { repair });
  const error = errorIn(answer);
  if (error !== null) return { ok: false, error };
  const result = answer as Partial<VerifyResult>;
  return Array.isArray(result.replicas)
    ? { ok: true, result: result as VerifyResult }
    : { ok: false, error: noSense };
}

export async function runSql(replica: string, sql: string): Promise<SqlOutcome> {
  const answer = await post('/api/sql', { replica, sql });
  const error = errorIn(answer);
  if (error !== null) return { ok: false, error };
  const result = answer as Partial<SqlResult>;
  return Array.isArray(result.columns) && Array.isArray(result.rows)
    ? { ok: true, result: result as SqlResult }
    : { ok: false, error: noSense };
}

export type SlotOutcome =
  | { readonly ok: true; readonly answer: SlotAnswer }
  | { readonly ok: false; readonly error: ApiError };

/** What a slot holds. `signal` gives it up; the outcome is of no use then. */
export async function getSlot(slot: number, signal: AbortSignal): Promise<SlotOutcome> {
  const answer = await ask(`/api/log/${slot}`, { signal });
  const error = errorIn(answer);
  if (error !== null) return { ok: false, error };
  const found = answer as Partial<SlotAnswer>;
  return typeof found.content?.kind === 'string'
    ? { ok: true, answer: found as SlotAnswer }
    : { ok: false, error: noSense };
}
