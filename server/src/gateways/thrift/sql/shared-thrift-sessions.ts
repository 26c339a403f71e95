/**
 * Sessions of Thrift clients where statements travel: each exists at every replica, and so its handle is valid at every one.
 *
 * Responsible for: opening them, and finding them by handles, also by those that another replica has given out.
 */
import type { SessionId, SharedSession, SharedSessions } from '../../../ports/statement-sessions.ts';
import type { ClientLink } from '../../pgwire/login/client-link.ts';
import type { Connection, ConnectionParams } from '../codec/barista-api.ts';
import * as errors from '../errors.ts';
import { Logins, type LoginsOptions } from './logins.ts';
import { SharedHandles } from './shared-handles.ts';
import { answerIn, SharedThriftSession } from './shared-session.ts';
import { SqlError } from './sql-error.ts';
import type { SqlSession, SqlSessions } from './sql-sessions.ts';
import { startupParameters } from './wire-messages.ts';

export interface SharedThriftSessionsOptions extends LoginsOptions {
  readonly sessions: SharedSessions;
  readonly clusterSecret: string;
}

export class SharedThriftSessions implements SqlSessions {
  private readonly options: SharedThriftSessionsOptions;
  private readonly logins: Logins;
  private readonly handles: SharedHandles;
  /** Those that were used here just now. */
  private readonly sessions = new Map<SessionId, SharedThriftSession>();

  constructor(options: SharedThriftSessionsOptions) {
    this.options = options;
    this.logins = new Logins(options);
    this.handles = new SharedHandles(options.clusterSecret);
  }

  get size(): number {
    return this.sessions.size;
  }

  async open(params: ConnectionParams, link: ClientLink): Promise<SqlSession> {
    const { wire, user, database } = await this.logins.logIn(params, { ...link, provesOnly: true });
    wire.close(errors.noSuchConnection());
    const opened = await this.options.sessions.open({
      user,
      database,
      parameters: Object.entries(startupParameters),
    });
    if (opened.code === 'answered') throw refusalIn(opened.bytes);
    if (opened.code !== 'opened') throw errors.notAgreed(opened.reason);
    const { clientId = '', seqId = '' } = params;
    const connection = this.handles.make(opened.session.id, { clientId, seqId, user, database });
    return this.keep(opened.session, connection, (other) => other !== seqId);
  }

  find(handle: Connection): SqlSession | null {
    const known = this.handles.read(handle);
    if (known === null) return null;
    const { session, isName } = known;
    return this.sessions.get(session) ?? this.keep(this.options.sessions.at(session), handle, isName);
  }

  /** Those of its clients go on at other replicas. */
  close(): void {
    for (const session of this.sessions.values()) session.close(errors.shuttingDown());
  }

  private keep(
    session: SharedSession,
    connection: Connection,
    isName: (seqId: string) => boolean,
  ): SharedThriftSession {
    const { limits, budget } = this.options;
    const onEnd = (): void => {
      this.sessions.delete(session.id);
    };
    const kept = new SharedThriftSession({ session, connection, isName, limits, budget, onEnd });
    this.sessions.set(session.id, kept);
    return kept;
  }
}

function refusalIn(bytes: Buffer): SqlError {
  const { error } = answerIn(bytes, bytes.length, () => true);
  return error === null ? errors.internal() : new SqlError(error);
}
