/** Whether a replica's PostgreSQL that executes statements is there, and what is told of it. */
import type { Logger } from 'pino';
import type { Slot } from '../multipaxos/types/names.ts';
import type { InexactReason, StatementExecutor, StartOutcome } from '../payload/statements/executor.ts';
import type { StatementDatabase } from '../replica/statements/statement-replica.ts';
import type { DatabaseStatus } from '../replica/status/status-report.ts';
import type { StatementPostgres } from './statement-database.ts';

export interface DatabaseHealthOptions {
  readonly postgres: StatementPostgres;
  readonly logger: Logger;
  /** It holds everything up to the slot. */
  readonly onUp: (slot: Slot) => void;
}

const why: Readonly<Record<InexactReason | 'logPurged', string>> = {
  openTransactions:
    'transactions were open when it stopped, and their statements cannot be executed again as they were',
  sequences: 'a crash has moved its sequences on',
  halfDone: 'a statement that cannot be taken back was under way when it stopped',
  sessions: 'a session cannot be opened again as it was',
  differs: 'what it answered differs from what a majority of the replicas did',
  logPurged: 'the log of the group begins behind what it has executed',
};

export class StatementDatabaseHealth implements StatementDatabase {
  isUp = false;
  trouble: string | null = null;
  divergence: string | null = null;
  private readonly options: DatabaseHealthOptions;
  private executed = 0;
  private current: StatementExecutor | null = null;

  constructor(options: DatabaseHealthOptions) {
    this.options = options;
    options.postgres.instance.onExit((reason) => this.down(reason));
  }

  /** Of one life of the database: PostgreSQL is started before it. */
  executor(
    make: (postgres: { readonly isAfterCrash: boolean }) => Promise<StatementExecutor>,
  ): StatementExecutor {
    const { postgres, onUp } = this.options;
    let inner: StatementExecutor | null = null;
    return {
      start: async (): Promise<StartOutcome> => {
        // Found out in an earlier life.
        if (await postgres.isCondemned()) return { code: 'inexact', pointer: 0 as Slot, reason: 'differs' };
        inner = await make(await postgres.start());
        this.current = inner;
        const outcome = await inner.start();
        this.isUp = outcome.code === 'exact';
        if (this.isUp) {
          this.trouble = null;
          this.divergence = null;
          onUp(outcome.pointer);
        }
        return outcome;
      },
      execute: async (slot, operation) => {
        await inner?.execute(slot, operation);
        this.executed += 1;
      },
      get pointer() {
        return inner?.pointer ?? (0 as Slot);
      },
      get durablePointer() {
        return inner?.durablePointer ?? (0 as Slot);
      },
      openTransactions: () => inner?.openTransactions() ?? 0,
      openSessions: () => inner?.openSessions() ?? [],
      stop: async () => {
        this.isUp = false;
        await inner?.stop();
      },
    };
  }

  /** The log has everything: from its beginning on it is executed again. */
  beginsAnew(reason: InexactReason | 'logPurged'): void {
    this.down(`everything is executed again, from the beginning of the log: ${why[reason]}`);
    this.options.logger.warn({ reason }, this.trouble ?? '');
  }

  copyNeeded(reason: InexactReason | 'logPurged'): void {
    this.down(
      `Its database cannot go on: ${why[reason]}, and the log does not reach back to the beginning. Copies are not made yet where statements travel: found the group anew, or go on without this replica.`,
    );
    this.options.logger.error({ reason }, this.trouble ?? '');
  }

  down(reason: string): void {
    this.isUp = false;
    this.trouble = reason;
  }

  /** Of the life that is under way. */
  openSessions(): Iterable<string> {
    return this.isUp ? (this.current?.openSessions() ?? []) : [];
  }

  status(): DatabaseStatus {
    const { instance } = this.options.postgres;
    return {
      postgres: {
        pid: instance.pid(),
        socketDir: instance.socketDir,
        port: instance.port,
        up: this.isUp,
        version: instance.version,
      },
      wal: null,
      archive: null,
      appliedEntries: this.executed,
      transactions: 0,
      reads: 0,
      standbyLag: null,
      oldestProposedAtMs: null,
    };
  }

  close(): Promise<void> {
    return this.options.postgres.instance.close();
  }
}
