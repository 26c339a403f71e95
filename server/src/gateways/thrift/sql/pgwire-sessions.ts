/**
 * Sessions of Thrift clients as clients of this replica's own SQL gateway: so passwords, rules of access, bounds, and what becomes of a client when the leader dies, are the same.
 *
 * Responsible for: finding them by their handles; remembering for a while why one has ended.
 */
import type { ClientLink } from '../../pgwire/login/client-link.ts';
import type { Connection, ConnectionParams } from '../codec/barista-api.ts';
import * as errors from '../errors.ts';
import { keyOfHandle, newHandle } from './handles.ts';
import { Logins, type LoginsOptions } from './logins.ts';
import { PgwireSession } from './pgwire-session.ts';
import type { SqlError } from './sql-error.ts';
import type { SqlSession, SqlSessions } from './sql-sessions.ts';

export class PgwireSessions implements SqlSessions {
  private readonly options: LoginsOptions;
  private readonly sessions = new Map<string, PgwireSession>();
  /** Those that have ended: what they answer is why. */
  private readonly past = new Map<string, SqlSession>();
  private readonly logins: Logins;

  constructor(options: LoginsOptions) {
    this.options = options;
    this.logins = new Logins(options);
  }

  get size(): number {
    return this.sessions.size;
  }

  async open(params: ConnectionParams, link: ClientLink): Promise<SqlSession> {
    const { wire, user, database } = await this.logins.logIn(params, link);
    const { limits, budget } = this.options;
    const { clientId = '', seqId = '' } = params;
    const { key, connection } = newHandle({ clientId, seqId, user, database });
    const session = new PgwireSession({
      wire,
      connection,
      clientId,
      limits,
      budget,
      onEnd: (why) => this.forget(key, endedSession(connection, why)),
    });
    this.sessions.set(key, session);
    return session;
  }

  find(handle: Connection): SqlSession | null {
    const key = keyOfHandle(handle);
    const session = key === null ? undefined : (this.sessions.get(key) ?? this.past.get(key));
    if (session === undefined) return null;
    const { clientId, user, database } = session.connection;
    const isSame =
      handle.clientId === clientId &&
      (handle.user ?? user) === user &&
      (handle.database ?? database) === database;
    return isSame ? session : null;
  }

  close(): void {
    for (const session of this.sessions.values()) session.close(errors.shuttingDown());
  }

  private forget(key: string, ended: SqlSession): void {
    if (!this.sessions.delete(key)) return;
    const { endRememberedMs, endsRememberedMax } = this.options.limits;
    this.past.set(key, ended);
    const [oldest] = this.past.keys();
    if (this.past.size > endsRememberedMax && oldest !== undefined) this.past.delete(oldest);
    setTimeout(() => this.past.delete(key), endRememberedMs).unref();
  }
}

function endedSession(connection: Connection, why: SqlError): SqlSession {
  return {
    connection,
    isOver: true,
    isName: () => true,
    run: ({ kind }) => (kind === 'close' ? Promise.resolve(null) : Promise.reject(why)),
    attach: () => () => undefined,
  };
}
