/**
 * One client's connection: statements and transactions with a time limit, and an exact answer to "may it have been committed?".
 *
 * Does not reconnect and does not retry: after an error that ends the connection `usable` is false and its owner opens another one.
 */
import { Socket } from 'node:net';
import pg from 'pg';
import { describeError, outcomeOf, type SqlError } from './sql-outcome.ts';

export interface QueryAnswer {
  readonly rows: readonly (readonly unknown[])[];
  readonly rowCount: number;
}

export type IsolationLevel = 'READ COMMITTED' | 'REPEATABLE READ' | 'SERIALIZABLE';

/** What failed, and whether it may have taken effect all the same. */
export class SqlFailure extends Error {
  override readonly name = 'SqlFailure';
  readonly outcome: 'fail' | 'info';
  readonly code: string;
  constructor(outcome: 'fail' | 'info', { code, message }: SqlError) {
    super(message);
    this.outcome = outcome;
    this.code = code;
  }
}

/** Thrown inside `transaction` to roll back: certainly nothing happened. */
export function giveUp(reason: string): SqlFailure {
  return new SqlFailure('fail', { code: reason, message: reason });
}

export interface SessionOptions {
  readonly port: number;
  readonly connectMs: number;
  readonly statementMs: number;
  /** `options` of the connection string. */
  readonly settings?: string;
}

export class SqlSession {
  readonly port: number;
  usable = true;
  private readonly client: pg.Client;
  private readonly socket: Socket;
  private readonly statementMs: number;

  private constructor(client: pg.Client, socket: Socket, { port, statementMs }: SessionOptions) {
    this.client = client;
    this.socket = socket;
    this.port = port;
    this.statementMs = statementMs;
    client.on('error', () => (this.usable = false));
    client.on('end', () => (this.usable = false));
  }

  /** @throws SqlFailure */
  static async open(options: SessionOptions): Promise<SqlSession> {
    const socket = new Socket();
    const client = new pg.Client({
      host: '127.0.0.1',
      port: options.port,
      user: 'barista',
      password: 'barista',
      database: 'barista',
      application_name: 'barista-nemesis',
      ...(options.settings === undefined ? {} : { options: options.settings }),
      stream: () => socket,
    });
    const session = new SqlSession(client, socket, options);
    try {
      await session.within(options.connectMs, client.connect());
      return session;
    } catch (error) {
      session.destroy();
      throw new SqlFailure('fail', describeError(error));
    }
  }

  /** A statement by itself; `reads` if it changes nothing, so that an error leaves nothing open. @throws SqlFailure */
  async statement(
    text: string,
    parameters: readonly unknown[],
    kind: 'reads' | 'writes',
  ): Promise<QueryAnswer> {
    return this.send(text, parameters, kind === 'writes');
  }

  /** @throws SqlFailure; what `work` throws, after a rollback */
  async transaction<T>(level: IsolationLevel, work: (query: Query) => Promise<T>): Promise<T> {
    await this.send(`BEGIN ISOLATION LEVEL ${level}`, [], false);
    let answer: T;
    try {
      answer = await work((text, parameters) => this.send(text, parameters ?? [], false));
    } catch (error) {
      if (this.usable) await this.send('ROLLBACK', [], false).catch(() => this.destroy());
      throw error;
    }
    const { command } = await this.sendRaw('COMMIT', [], true);
    // PostgreSQL's way to say that the block had failed before.
    if (command === 'ROLLBACK') throw giveUp('rolledBack');
    return answer;
  }

  private async send(
    text: string,
    parameters: readonly unknown[],
    committing: boolean,
  ): Promise<QueryAnswer> {
    const { rows, rowCount } = await this.sendRaw(text, parameters, committing);
    return { rows, rowCount: rowCount ?? 0 };
  }

  private async sendRaw(
    text: string,
    parameters: readonly unknown[],
    committing: boolean,
  ): Promise<pg.QueryArrayResult<unknown[]>> {
    try {
      const query = { text, values: [...parameters], rowMode: 'array' as const };
      return await this.within(this.statementMs, this.client.query<unknown[]>(query));
    } catch (error) {
      const described = describeError(error);
      const severity = (error as { readonly severity?: string }).severity;
      if (severity === undefined || severity === 'FATAL' || severity === 'PANIC') this.destroy();
      throw new SqlFailure(outcomeOf(described.code, committing), described);
    }
  }

  /** Whatever does not answer in time is cut off. */
  private async within<T>(ms: number, work: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('timed out')), ms);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
      work.catch(() => {});
    }
  }

  destroy(): void {
    this.usable = false;
    this.socket.destroy();
  }

  /** Says goodbye, but waits for nobody. */
  close(): void {
    this.usable = false;
    this.client.end().catch(() => {});
    setTimeout(() => this.socket.destroy(), 500).unref();
  }
}

export type Query = (text: string, parameters?: readonly unknown[]) => Promise<QueryAnswer>;
