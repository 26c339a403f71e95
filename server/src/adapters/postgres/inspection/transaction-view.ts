/**
 * The session in which a replica's PostgreSQL is asked, again and again, what its clients are at.
 *
 * Responsible for: opening it when somebody asks, and closing it when nobody has asked for `idleMs`. When to ask is replica/status/transaction-sampler.ts.
 * Invariant: at most one session, and one question at a time in it.
 */
import type { Client } from 'pg';
import { runningTransactions, type RunningTransactions } from './running-transactions.ts';

const idleMs = 10_000;
const timeoutMs = 1_000;

export interface TransactionViewOptions {
  /** As the superuser, to a database that is not a client's. */
  readonly connect: () => Promise<Client>;
  /** Whether the text of statements is told. */
  readonly tellsSql: boolean;
}

export class TransactionView {
  private readonly options: TransactionViewOptions;
  private session: Promise<Client> | null = null;
  private timer: NodeJS.Timeout | undefined;

  constructor(options: TransactionViewOptions) {
    this.options = options;
  }

  /** @throws Error of PostgreSQL, or while it is away */
  async look(): Promise<RunningTransactions> {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.close(), idleMs).unref();
    this.session ??= this.open();
    return runningTransactions(await this.session, this.options.tellsSql);
  }

  /** Until somebody looks again. */
  async close(): Promise<void> {
    clearTimeout(this.timer);
    const session = this.session;
    this.session = null;
    const client = await session?.catch(() => null);
    await client?.end().catch(() => undefined);
  }

  private open(): Promise<Client> {
    const session: Promise<Client> = this.connect(() => {
      if (this.session === session) this.session = null;
    });
    return session;
  }

  private async connect(onGone: () => void): Promise<Client> {
    try {
      const client = await this.options.connect();
      client.once('end', onGone);
      await client.query(`SET statement_timeout = ${timeoutMs}`);
      return client;
    } catch (error) {
      onGone();
      throw error;
    }
  }
}
