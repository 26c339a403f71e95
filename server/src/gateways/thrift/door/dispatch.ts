/**
 * What a call of the API does: finds the session that it is for, and has it done there.
 *
 * Responsible for: handles, the names of requests, and errors becoming exceptions of the API. Never throws.
 */
import type { ClientLink } from '../../pgwire/login/client-link.ts';
import {
  type Call,
  type Connection,
  connectionReply,
  errorReply,
  type Reply,
  resultReply,
  versionReply,
} from '../codec/barista-api.ts';
import { valueOf } from '../codec/cells.ts';
import * as errors from '../errors.ts';
import { SqlError } from '../sql/sql-error.ts';
import type { SqlRequest, SqlSession, SqlSessions } from '../sql/sql-sessions.ts';

const parametersMax = 65_535;

/** What a connection of a client is, to what it calls. */
export interface Caller {
  readonly link: ClientLink;
  /** It has shown a handle, or opened one. */
  onSession(session: SqlSession): void;
  /** It has shown one that there is not. */
  onWrongHandle(): void;
  onFailure(error: unknown): void;
}

export interface Answered {
  readonly reply: Reply;
  /** Null: it was done. */
  readonly error: SqlError | null;
}

export async function answer(
  call: Exclude<Call, { method: 'unknown' }>,
  sessions: SqlSessions,
  caller: Caller,
): Promise<Answered> {
  try {
    return { reply: await perform(call, sessions, caller), error: null };
  } catch (thrown) {
    if (!(thrown instanceof SqlError)) caller.onFailure(thrown);
    const error = thrown instanceof SqlError ? thrown : errors.internal();
    return { reply: errorReply(error), error };
  }
}

async function perform(
  call: Exclude<Call, { method: 'unknown' }>,
  sessions: SqlSessions,
  caller: Caller,
): Promise<Reply> {
  if (call.method === 'get_version') return versionReply;
  if (call.method === 'open_connection') {
    const session = await sessions.open(call.params, caller.link);
    caller.onSession(session);
    return connectionReply(session.connection);
  }
  const session = sessions.find(call.con);
  if (session === null) {
    caller.onWrongHandle();
    throw errors.noSuchConnection();
  }
  caller.onSession(session);
  const result = await session.run(requestOf(call), requestName(call.con, session));
  return result === null ? null : resultReply(call.con, result);
}

/** A request that has the seq_id with which its connection was opened, as one has that passes on what it was given, has no name. */
function requestName({ seqId = '' }: Connection, session: SqlSession): string | null {
  return seqId !== '' && session.isName(seqId) ? seqId : null;
}

type SessionCall = Exclude<Call, { method: 'unknown' | 'get_version' | 'open_connection' }>;

const kinds = {
  begin_txn: 'begin',
  commit_txn: 'commit',
  rollback_txn: 'rollback',
  close_connection: 'close',
} as const;

function requestOf(call: SessionCall): SqlRequest {
  if (call.method !== 'execute_sql' && call.method !== 'execute_sql_txn') return { kind: kinds[call.method] };
  const { query, params, method } = call;
  if (query === null) throw errors.noQuery();
  // In the protocol of PostgreSQL it would end the text, and what is behind it would be read as something else.
  if (query.includes(0)) throw errors.zeroByte();
  if (params.length > parametersMax) throw errors.tooManyParameters(params.length);
  const kind = method === 'execute_sql' ? 'execute' : 'executeInTransaction';
  return { kind, query, params: params.map(valueOf) };
}
