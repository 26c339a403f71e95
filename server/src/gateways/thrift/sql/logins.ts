/**
 * Clients of the Thrift gateway that open a connection prove who they are to this replica's own SQL gateway, which goes by its own rules.
 *
 * Responsible for: what may be asked for at all, passwords in the clear, a few log-ins at a time.
 */
import { sourceOf } from '../../by-source.ts';
import type { Socket } from 'node:net';
import { Turns } from '../../pgwire/kept/turns.ts';
import type { ClientLink } from '../../pgwire/login/client-link.ts';
import type { ConnectionParams } from '../codec/barista-api.ts';
import * as errors from '../errors.ts';
import type { ThriftLimits } from '../limits.ts';
import type { Budget } from './budget.ts';
import { SqlWire } from './sql-wire.ts';

export interface LoginsOptions {
  /** To this replica's SQL gateway, which goes by `link` for who is at the other end. @throws Error */
  readonly connectAs: (link: ClientLink) => Promise<Socket>;
  /** Passwords may come from other machines without TLS. */
  readonly plaintextPasswords: boolean;
  readonly limits: ThriftLimits;
  readonly budget: Budget;
}

export interface LoggedIn {
  readonly wire: SqlWire;
  readonly user: string;
  readonly database: string;
}

type Who = { readonly user: string; readonly password: string; readonly database: string };

const nameBytesMax = 1_024;

export class Logins {
  private readonly options: LoginsOptions;
  private readonly turns: Turns;
  private waiting = 0;

  constructor(options: LoginsOptions) {
    this.options = options;
    this.turns = new Turns(options.limits.loginsMax);
  }

  /** Proving a password is work for this process, too. @throws SqlError */
  async logIn(params: ConnectionParams, link: ClientLink): Promise<LoggedIn> {
    const { user, password = '', database = user } = checked(params);
    if (user === undefined || user === '' || database === undefined) throw errors.noUser();
    if (password !== '' && !this.mayTakePassword(link)) throw errors.passwordInTheClear();
    const { loginsMax, loginsWaitingMax } = this.options.limits;
    if (this.waiting >= loginsMax + loginsWaitingMax) throw errors.tooManyLogins();
    this.waiting += 1;
    const done = await this.turns.take(sourceOf(link.address));
    try {
      return { wire: await this.prove({ user, password, database }, link), user, database };
    } finally {
      done();
      this.waiting -= 1;
    }
  }

  private mayTakePassword({ address, encryption }: ClientLink): boolean {
    return encryption !== null || this.options.plaintextPasswords || isLoopback(address);
  }

  private async prove(who: Who, link: ClientLink): Promise<SqlWire> {
    const { connectAs, limits, budget } = this.options;
    const connectAgain = (): Promise<Socket> => connectAs(link);
    const socket = await connectAgain().catch((error: unknown) => {
      throw errors.noDatabase(error instanceof Error ? error.message : String(error));
    });
    const login = { ...who, timeoutMs: limits.loginTimeoutMs };
    const takeBytes = (bytes: number): boolean => budget.take(bytes);
    return SqlWire.logIn(socket, login, { connectAgain, answerBytesMax: limits.resultBytesMax, takeBytes });
  }
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
