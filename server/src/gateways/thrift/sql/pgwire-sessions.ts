/**
 * Sessions of Thrift clients as clients of this replica's own SQL gateway: so passwords, rules of access, bounds, and what becomes of a client when the leader dies, are the same.
 *
 * Responsible for: opening them, a few at a time; finding them by their handles; remembering for a while why one has ended.
 */
import type { Socket } from 'node:net';
import type { ClientLink } from '../../pgwire/login/client-link.ts';
import { Turns } from '../../pgwire/kept/turns.ts';
import type { Connection, ConnectionParams } from '../codec/barista-api.ts';
import * as errors from '../errors.ts';
import type { ThriftLimits } from '../limits.ts';
import type { Budget } from './budget.ts';
import { keyOfHandle, newHandle } from './handles.ts';
import { PgwireSession } from './pgwire-session.ts';
import type { SqlError } from './sql-error.ts';
import type { SqlSession, SqlSessions } from './sql-sessions.ts';
import { SqlWire } from './sql-wire.ts';

export interface PgwireSessionsOptions {
  /** To this replica's SQL gateway, which goes by `link` for who is at the other end. @throws Error */
  readonly connectAs: (link: ClientLink) => Promise<Socket>;
  /** Passwords may come from other machines without TLS. */
  readonly plaintextPasswords: boolean;
  readonly limits: ThriftLimits;
  readonly budget: Budget;
}

type Who = { readonly user: string; readonly password: string; readonly database: string };

const nameBytesMax = 1_024;

export class PgwireSessions implements SqlSessions {
  private readonly options: PgwireSessionsOptions;
  private readonly sessions = new Map<string, PgwireSession>();
  /** Those that have ended: what they answer is why. */
  private readonly past = new Map<string, SqlSession>();
  private readonly logins: Turns;
  private loginsWaiting = 0;

  constructor(options: PgwireSessionsOptions) {
    this.options = options;
    this.logins = new Turns(options.limits.loginsMax);
  }

  get size(): number {
    return this.sessions.size;
  }

  async open(params: ConnectionParams, link: ClientLink): Promise<SqlSession> {
    const { user, password = '', database = user } = checked(params);
    if (user === undefined || user === '' || database === undefined) throw errors.noUser();
    if (password !== '' && !this.mayTakePassword(link)) throw errors.passwordInTheClear();
    const wire = await this.logInInTurn({ user, password, database }, link);
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

  private mayTakePassword({ address, encryption }: ClientLink): boolean {
    return encryption !== null || this.options.plaintextPasswords || isLoopback(address);
  }

  /** Proving a password is work for this process, too. */
  private async logInInTurn(who: Who, link: ClientLink): Promise<SqlWire> {
    const { loginsMax, loginsWaitingMax } = this.options.limits;
    if (this.loginsWaiting >= loginsMax + loginsWaitingMax) throw errors.tooManyLogins();
    this.loginsWaiting += 1;
    const done = await this.logins.take();
    try {
      return await this.logIn(who, link);
    } finally {
      done();
      this.loginsWaiting -= 1;
    }
  }

  private async logIn(who: Who, link: ClientLink): Promise<SqlWire> {
    const { connectAs, limits, budget } = this.options;
    const connectAgain = (): Promise<Socket> => connectAs(link);
    const socket = await connectAgain().catch((error: unknown) => {
      throw errors.noDatabase(error instanceof Error ? error.message : String(error));
    });
    const login = { ...who, timeoutMs: limits.loginTimeoutMs };
    const takeBytes = (bytes: number): boolean => budget.take(bytes);
    return SqlWire.logIn(socket, login, { connectAgain, answerBytesMax: limits.resultBytesMax, takeBytes });
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
    run: ({ kind }) => (kind === 'close' ? Promise.resolve(null) : Promise.reject(why)),
    attach: () => () => undefined,
  };
}

/** @throws SqlError: a name that PostgreSQL could not be told, or would read otherwise */
function checked(params: ConnectionParams): ConnectionParams {
  for (const [name, value] of Object.entries(params)) {
    if (typeof value === 'string' && (value.includes('\0') || Buffer.byteLength(value) > nameBytesMax))
      throw errors.unreadableParameter(name);
  }
  return params;
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^127\.\d+\.\d+\.\d+$/.test(address);
}
