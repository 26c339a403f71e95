/**
 * Keeps the replica's PostgreSQL running: starts it, notices that it died or answers no more, starts it again.
 *
 * Responsible for: when PostgreSQL is (re)started, and telling the replica. How is the postgres adapter's business. The replica decides
 * what it means for leadership.
 *
 * Invariant: between `onUp` and the next `onDown` the database that was handed out is the one that runs.
 */
import type { Logger } from 'pino';
import type { Database } from '../ports/database.ts';
import type { SessionSql } from '../ports/session-sql.ts';

/** A PostgreSQL that was started, as the keeper needs it. */
export interface RunningDatabase {
  readonly database: Database;
  readonly sessionSql: SessionSql;
  info(): DatabaseInfo;
  onExit(listener: (reason: string) => void): void;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface DatabaseInfo {
  readonly pid: number | null;
  readonly socketDir: string;
  readonly port: number;
  readonly version: string | null;
}

export interface DatabaseListener {
  readonly onUp: (database: Database) => void;
  readonly onDown: (reason: string) => void;
}

export interface DatabaseKeeperOptions {
  readonly launch: () => Promise<RunningDatabase>;
  readonly logger: Logger;
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
}

export class DatabaseKeeper {
  private readonly options: DatabaseKeeperOptions;
  private running: RunningDatabase | null = null;
  private listener: DatabaseListener | null = null;
  private up = false;
  private stopped = false;
  private work: Promise<void> = Promise.resolve();

  constructor(options: DatabaseKeeperOptions) {
    this.options = options;
  }

  start(listener: DatabaseListener): void {
    this.listener = listener;
    this.work = this.bringUp();
  }

  /** Null while PostgreSQL is away: no session may begin. */
  sessionSql(): SessionSql | null {
    return this.up ? (this.running?.sessionSql ?? null) : null;
  }

  info(): DatabaseInfo & { readonly up: boolean } {
    const info = this.running?.info() ?? { pid: null, socketDir: '', port: 0, version: null };
    return { ...info, up: this.up };
  }

  /** Something that PostgreSQL should have done did not happen: ask it again from the start. */
  suspect(): void {
    this.down('PostgreSQL did not answer');
  }

  private down(reason: string): void {
    if (!this.up || this.stopped) return;
    this.up = false;
    this.listener?.onDown(reason);
    this.work = this.work.then(() => this.bringUp());
  }

  /** Tries for as long as the replica lives, ever more slowly. */
  private async bringUp(): Promise<void> {
    const { retryMinMs, retryMaxMs, logger } = this.options;
    for (let waitMs = retryMinMs; !this.stopped; waitMs = Math.min(waitMs * 2, retryMaxMs)) {
      try {
        await this.launchOrRestart();
        if (this.stopped) return;
        this.up = true;
        this.listener?.onUp(this.running!.database);
        return;
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        logger.error({ err: error }, 'PostgreSQL could not be started');
        this.listener?.onDown(`PostgreSQL could not be started: ${reason}`);
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    }
  }

  private async launchOrRestart(): Promise<void> {
    if (this.running !== null) {
      await this.running.restart();
      return;
    }
    this.running = await this.options.launch();
    this.running.onExit((reason) => this.down(reason));
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.up = false;
    await this.running?.stop();
    await this.work;
    // A launch that was under way has brought up another one meanwhile.
    await this.running?.stop();
  }
}
