/**
 * Requests to the server: set a fault, compare the data, run SQL, read a slot. Every outcome is returned; nothing is thrown.
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
import type {
  ActivityOutcome,
  ApiError,
  BackupsOutcome,
  FaultOutcome,
  ReplicaChangeStatusOutcome,
  ReplicaOutcome,
  RunRequests,
  SlotOutcome,
  SqlOutcome,
  VerifyOutcome,
} from '../run/requests.ts';

/** A restart waits for its replica to end: 12 s at most. */
const faultMs = 20_000;
/** The server gives a statement up before that. */
const sqlMs = 30_000;
/** So does it with a comparison. */
const verifyMs = 32 * 60_000;
const slotMs = 10_000;
const loadMs = 10_000;
const activityMs = 6000;
/** The leader waits for a change to be chosen, and a replica for its end. */
const replicasMs = 90_000;

const noServer: ApiError = { code: 'noServer', message: 'The server does not answer.' };
const noSense: ApiError = { code: 'badAnswer', message: 'The server gave an answer that makes no sense.' };

/** What was asked may have been done, or not. */
const noAnswer: ApiError = {
  code: 'noAnswer',
  message: 'The server did not answer in time: nobody knows whether it was done.',
};

interface Asked {
  readonly body?: unknown;
  readonly timeoutMs: number;
  /** Gives it up before. */
  readonly signal?: AbortSignal | undefined;
}

async function ask(path: string, { body, timeoutMs, signal }: Asked): Promise<unknown> {
  const timeOut = AbortSignal.timeout(timeoutMs);
  const init: RequestInit = {
    signal: signal === undefined ? timeOut : AbortSignal.any([timeOut, signal]),
    ...(body !== undefined && {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  };
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch {
    return { error: init.signal?.aborted === true ? noAnswer : noServer };
  }
  try {
    return await response.json();
  } catch {
    if (init.signal?.aborted === true) return { error: noAnswer };
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

async function postFault(request: FaultRequest, signal?: AbortSignal): Promise<FaultOutcome> {
  const error = errorIn(await ask('/api/fault', { body: request, timeoutMs: faultMs, signal }));
  return error === null ? { ok: true } : { ok: false, error };
}

async function postLoad(settings: LoadSettings): Promise<FaultOutcome> {
  const error = errorIn(await ask('/api/load', { body: settings, timeoutMs: loadMs }));
  return error === null ? { ok: true } : { ok: false, error };
}

async function postVerify(repair: boolean): Promise<VerifyOutcome> {
  const answer = await ask('/api/verify', { body: { repair }, timeoutMs: verifyMs });
  const error = errorIn(answer);
  if (error !== null) return { ok: false, error };
  const result = answer as Partial<VerifyResult>;
  return Array.isArray(result.replicas)
    ? { ok: true, result: result as VerifyResult }
    : { ok: false, error: noSense };
}

async function runSql(replica: string, sql: string): Promise<SqlOutcome> {
  const answer = await ask('/api/sql', { body: { replica, sql }, timeoutMs: sqlMs });
  const error = errorIn(answer);
  if (error !== null) return { ok: false, error };
  const result = answer as Partial<SqlResult>;
  return Array.isArray(result.columns) && Array.isArray(result.rows)
    ? { ok: true, result: result as SqlResult }
    : { ok: false, error: noSense };
}

async function getSlot(slot: number, signal: AbortSignal): Promise<SlotOutcome> {
  const answer = await ask(`/api/log/${slot}`, { timeoutMs: slotMs, signal });
  const error = errorIn(answer);
  if (error !== null) return { ok: false, error };
  const found = answer as Partial<SlotAnswer>;
  return typeof found.content?.kind === 'string'
    ? { ok: true, answer: found as SlotAnswer }
    : { ok: false, error: noSense };
}

async function getActivity(replica: string, signal: AbortSignal): Promise<ActivityOutcome> {
  const answer = await ask(`/api/activity/${replica}`, { timeoutMs: activityMs, signal });
  const error = errorIn(answer);
  if (error !== null) return { ok: false, error };
  const activity = answer as Partial<Activity>;
  return Array.isArray(activity.sessions) && typeof activity.statements?.kind === 'string'
    ? { ok: true, activity: activity as Activity }
    : { ok: false, error: noSense };
}

async function postEndSession(replica: string, request: EndSessionRequest): Promise<FaultOutcome> {
  const path = `/api/activity/${replica}/end`;
  const error = errorIn(await ask(path, { body: request, timeoutMs: activityMs }));
  return error === null ? { ok: true } : { ok: false, error };
}

async function postCountStatements(replica: string): Promise<FaultOutcome> {
  const path = `/api/activity/${replica}/statements`;
  const error = errorIn(await ask(path, { body: {}, timeoutMs: activityMs }));
  return error === null ? { ok: true } : { ok: false, error };
}

async function postReplicas(request: ReplicaChangeRequest): Promise<ReplicaOutcome> {
  const answer = await ask('/api/replicas', { body: request, timeoutMs: replicasMs });
  const error = errorIn(answer);
  if (error !== null) return { ok: false, error };
  const { replica, message } = answer as { readonly replica?: unknown; readonly message?: unknown };
  return typeof replica === 'string' && typeof message === 'string'
    ? { ok: true, replica, message }
    : { ok: false, error: noSense };
}

async function getReplicaChange(): Promise<ReplicaChangeStatusOutcome> {
  const answer = await ask('/api/replicas', { timeoutMs: loadMs });
  const error = errorIn(answer);
  if (error !== null) return { ok: false, error };
  const status = answer as Partial<ReplicaChangeStatus>;
  return typeof status.state === 'string' && typeof status.text === 'string'
    ? { ok: true, status: status as ReplicaChangeStatus }
    : { ok: false, error: noSense };
}

async function askBackups(take: boolean): Promise<BackupsOutcome> {
  if (take) {
    const error = errorIn(await ask('/api/backups', { body: {}, timeoutMs: loadMs }));
    if (error !== null) return { ok: false, error };
  }
  const answer = await ask('/api/backups', { timeoutMs: loadMs });
  const error = errorIn(answer);
  if (error !== null) return { ok: false, error };
  return typeof answer === 'object' && answer !== null && 'running' in answer
    ? { ok: true, status: answer as BackupsStatus }
    : { ok: false, error: noSense };
}

export const serverRequests: RunRequests = {
  fault: postFault,
  sql: runSql,
  sqlIsFree: true,
  slot: getSlot,
  verify: postVerify,
  load: postLoad,
  changeReplicas: postReplicas,
  replicaChange: getReplicaChange,
  backups: askBackups,
  activity: getActivity,
  endSession: postEndSession,
  countStatements: postCountStatements,
};
