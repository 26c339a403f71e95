/** Whether a replica's PostgreSQL that executes statements is there, and what is told of it. */
import type { Logger } from 'pino';
import type { Timers } from '../ports/clock.ts';
import { pause } from '../payload/pause.ts';
import { DatabaseFailures } from '../payload/wal/life/database-failures.ts';
import type { Slot } from '../multipaxos/types/names.ts';
import type { DiskRoom } from '../payload/statements/disk-room.ts';
import type { FileLook } from '../adapters/postgres/file-look.ts';
import { FileLooks } from '../replica/database/file-looks.ts';
import type {
  ForeignProcess,
  InexactReason,
  StatementExecutor,
  StartOutcome,
} from '../payload/statements/executor.ts';
import type { StatementDatabase } from '../replica/statements/statement-replica.ts';
import type { DatabaseStatus } from '../replica/status/status-report.ts';
import type { StartedPostgres, StatementPostgres } from './statement-database.ts';

export interface DatabaseHealthOptions {
  readonly postgres: StatementPostgres;
  readonly logger: Logger;
  readonly timers: Pick<Timers, 'after' | 'every' | 'nowMs'>;
  readonly room: Pick<DiskRoom, 'trouble' | 'awaitedToStart'>;
  /** Looks at the files of the database that runs. */
  readonly files: Pick<FileLook, 'look' | 'restart'>;
  /** What a look has found is presumed to be damage. */
  readonly onDamage: () => void;
  /** It holds everything up to the slot. `isCopy`: it is one of what stays in every log. */
  readonly onUp: (slot: Slot, isCopy: boolean) => void;
  readonly onDown: () => void;
  /** Something was executed, in so many milliseconds. */
  readonly onExecuted: (ms: number) => void;
}

/** So long what is being executed may take yet when the replica is stopped. */
const underWayMsMax = 3_000;

const looks = { everyMs: 5_000, againMs: 1_000, refusedMs: 30_000 } as const;

const why: Readonly<Record<InexactReason | 'logPurged', string>> = {
  openTransactions:
    'transactions were open when it stopped, and their statements cannot be executed again as they were',
  sequences: 'a crash has moved its sequences on',
  halfDone: 'a statement that cannot be taken back was under way when it stopped',
  sessions: 'a session cannot be opened again as it was',
  differs: 'what it answered differs from what a majority of the replicas did',
  adopted:
    'the answers of all replicas to a statement differ, and the group goes on from the database of another one',
  lost: 'it executed a statement anew, and answered otherwise than a majority had',
  copyUseless: 'the copy that took its place cannot be gone on from',
  behind: 'it does not come nearer to what the group has executed',
  damaged: 'its files are damaged',
  presumedDamaged: 'its files are damaged, or no attempt brings PostgreSQL up with them',
  logPurged: 'the log of the group begins behind what it has executed',
};

export class StatementDatabaseHealth implements StatementDatabase {
  isUp = false;
  private failure: string | null = null;
  divergence: string | null = null;
  private readonly options: DatabaseHealthOptions;
  private doubtedBecause: string | null = null;
  private executed = 0;
  private readonly failures = new DatabaseFailures();
  private current: StatementExecutor | null = null;
  private readonly looks: FileLooks;

  constructor(options: DatabaseHealthOptions) {
    this.options = options;
    options.postgres.instance.onExit((reason) => this.down(reason));
    const { files, logger, timers, onDamage } = options;
    this.looks = new FileLooks({
      ...looks,
      server: { lookAtFiles: () => files.look() },
      pid: () => options.postgres.instance.pid(),
      onDamage: ({ reason }) => {
        logger.error({ reason }, 'the database is replaced');
        onDamage();
      },
      onDoubt: (reason) => {
        if (reason !== null && reason !== this.doubtedBecause)
          logger.warn({ reason }, 'something is wrong with the files of the database');
        this.doubtedBecause = reason;
      },
      timers,
    });
  }

  get trouble(): string | null {
    return this.options.room.trouble ?? this.failure;
  }

  /** From now on the files of a running database are looked at. */
  watchFiles(): () => void {
    return this.looks.start();
  }

  /** Of one life of the database: PostgreSQL is started before it. */
  executor(make: (postgres: StartedPostgres) => Promise<StatementExecutor>): StatementExecutor {
    const { postgres, timers, onUp, onExecuted } = this.options;
    let underWay: Promise<void> = Promise.resolve();
    let inner: StatementExecutor | null = null;
    let isExact = false;
    const ended = new AbortController();
    return {
      start: async (): Promise<StartOutcome> => {
        // Found out in an earlier life.
        if (await postgres.isCondemned()) return { code: 'inexact', pointer: 0 as Slot, reason: 'differs' };
        let started: StartedPostgres;
        let outcome: StartOutcome;
        try {
          await this.options.room.awaitedToStart(ended.signal);
          ended.signal.throwIfAborted();
          started = await postgres.start(ended.signal);
          ended.signal.throwIfAborted();
          inner = await make(started);
          this.current = inner;
          outcome = await inner.start();
        } catch (error) {
          if (ended.signal.aborted) throw error;
          return this.damaged(error);
        }
        const { copy } = started;
        if (copy !== null && (outcome.code === 'inexact' || outcome.pointer !== copy.slot)) {
          await postgres.kept.discard();
          return { code: 'inexact', pointer: outcome.pointer, reason: 'copyUseless' };
        }
        isExact = outcome.code === 'exact';
        this.isUp = isExact;
        if (isExact) {
          // Before anything is executed: from here on it is a database like any other.
          if (copy !== null) await postgres.kept.settled();
          this.failure = null;
          this.doubtedBecause = null;
          this.failures.answered();
          this.options.files.restart();
          onUp(outcome.pointer, copy !== null);
        }
        return outcome;
      },
      execute: async (slot, operation) => {
        const sinceMs = performance.now();
        underWay = inner?.execute(slot, operation) ?? Promise.resolve();
        await underWay;
        this.executed += 1;
        onExecuted(performance.now() - sinceMs);
      },
      goOn: async () => inner?.goOn(),
      rest: async () => (await inner?.rest()) ?? false,
      get pointer() {
        return inner?.pointer ?? (0 as Slot);
      },
      get durablePointer() {
        return inner?.durablePointer ?? (0 as Slot);
      },
      openTransactions: () => inner?.openTransactions() ?? 0,
      boundSessions: () => inner?.boundSessions() ?? [],
      openSessions: () => inner?.openSessions() ?? [],
      lostSessions: () => inner?.lostSessions() ?? [],
      lacks: (operation) => inner?.lacks(operation) ?? false,
      factsOf: (session) => inner?.factsOf(session) ?? null,
      blockedBy: async () => (await inner?.blockedBy()) ?? [],
      stop: async () => {
        this.isUp = false;
        // A PostgreSQL that refuses every session would be waited for.
        ended.abort();
        await Promise.race([underWay.catch(() => undefined), pause(timers, underWayMsMax)]);
        if (isExact && (await inner?.rest().catch(() => false)) === true) await postgres.atRest();
        await inner?.stop();
      },
    };
  }

  /** It was not brought up. @throws the error, if it is tried again with the same files */
  private async damaged(error: unknown): Promise<StartOutcome> {
    const { postgres, logger, timers } = this.options;
    const loss = this.failures.failed(error);
    if (loss === null || this.failures.copyPauseMs(timers.nowMs()) > 0) throw error;
    logger.error({ err: error }, 'PostgreSQL does not come up with these files');
    const pointer = 0 as Slot;
    // The copy that is kept may be as whole as the files: it stays until there is something better.
    if (loss.isPresumed === true) return { code: 'inexact', pointer, reason: 'presumedDamaged' };
    if ((await postgres.kept.installed()) === null) return { code: 'inexact', pointer, reason: 'damaged' };
    await postgres.kept.discard();
    return { code: 'inexact', pointer, reason: 'copyUseless' };
  }

  /** Something else has taken the place of the database that did not come up. */
  replaced(): void {
    this.failures.copied(this.options.timers.nowMs());
  }

  /** Nobody has a copy: it is tried again with the same files. */
  triedAgain(reason: InexactReason | 'logPurged'): void {
    this.down(`${why[reason]}, and no other replica has a copy: it is tried again`);
    this.options.logger.warn(this.failure ?? '');
  }

  /** The copy that is kept takes its place: from there on the log is executed again. */
  beginsFromCopy(reason: InexactReason | 'logPurged', slot: Slot): void {
    this.down(`the log is executed again from slot ${slot + 1}, on the copy that was kept: ${why[reason]}`);
    this.options.logger.warn({ reason, slot }, this.failure ?? '');
  }

  /** The log has everything: from its beginning on it is executed again. */
  beginsAnew(reason: InexactReason | 'logPurged'): void {
    this.down(`everything is executed again, from the beginning of the log: ${why[reason]}`);
    this.options.logger.warn({ reason }, this.failure ?? '');
  }

  /** One that another replica keeps takes its place. */
  awaitsCopy(reason: InexactReason | 'logPurged'): void {
    this.down(`its database is replaced by a copy of another replica's: ${why[reason]}`);
    this.options.logger.warn({ reason }, this.failure ?? '');
  }

  down(reason: string): void {
    this.isUp = false;
    this.failure = reason;
    this.options.onDown();
  }

  /** Of the life that is under way. */
  openSessions(): Iterable<string> {
    return this.isUp ? (this.current?.openSessions() ?? []) : [];
  }

  lostSessions(): Iterable<string> {
    return this.isUp ? (this.current?.lostSessions() ?? []) : [];
  }

  get openTransactions(): number {
    return this.current?.openTransactions() ?? 0;
  }

  boundSessions(): readonly string[] {
    return this.current?.boundSessions() ?? [];
  }

  /** Never rejects. */
  async blockedBy(): Promise<readonly ForeignProcess[]> {
    return (await this.current?.blockedBy().catch(() => [])) ?? [];
  }

  factsOf(session: string): ReturnType<StatementExecutor['factsOf']> {
    return this.isUp ? (this.current?.factsOf(session) ?? null) : null;
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
