/**
 * Hands the database from one user to the next: from sessions to the log, from a PostgreSQL that died to the one that comes after it.
 *
 * Responsible for: the order, always this one: the apply loop is stopped, sessions are ended and what they had prepared is rolled back, the database is asked
 * how far it is, and only then the log is applied. The core hears at once which leadership a database knows that comes up. Does not decide who leads, and starts no PostgreSQL.
 *
 * Invariants: one hand-over at a time; one that another has overtaken does nothing; a database whose content goes beyond the log is not applied to before the core
 * knows of it.
 */
import type { Logger } from 'pino';
import type { OrderedApply } from '../apply/ordered-apply.ts';
import type { Ballot, Configuration, Slot } from '../multipaxos/types.ts';
import { DatabaseError, type ApplicationPointer, type Database } from '../ports/database.ts';

export interface HandoverOptions {
  readonly apply: OrderedApply;
  readonly logger: Logger;
  readonly commitPoint: () => Slot;
  /** The newest that is known to be chosen. */
  readonly configuration: () => Configuration;
  readonly restored: (slot: Slot, configuration: Configuration) => void;
  /** The newest whose beginning the database holds. */
  readonly leadershipKnown: (ballot: Ballot) => void;
  readonly suspect: () => void;
  /** After a full disk. */
  readonly retryMs: number;
}

const pollMs = 50;

export class Handover {
  private readonly options: HandoverOptions;
  private database: Database | null = null;
  private queue: Promise<void> = Promise.resolve();
  private turn = 0;
  private applying = false;
  private stopped = false;
  private blockedBecause: string | null = null;
  private fullBecause: string | null = null;
  /** What must be chosen here before the log can be applied: the database holds it, and may need parts of it again. */
  private reachFirst = 0 as Slot;

  constructor(options: HandoverOptions) {
    this.options = options;
  }

  get hasDatabase(): boolean {
    return this.database !== null;
  }

  /** Nothing is between the log and the database. */
  get isApplying(): boolean {
    return this.applying;
  }

  /** The log is applied, or waited for: what the others have purged of it cannot come any more. */
  get needsLog(): boolean {
    const waits = this.database !== null && this.blockedBecause === null;
    return this.applying || (waits && this.options.commitPoint() < this.reachFirst);
  }

  /** Why nothing is applied any more. */
  get blocked(): string | null {
    return this.blockedBecause;
  }

  /** The disk of the database is full: what waits is tried again. */
  get full(): string | null {
    return this.fullBecause;
  }

  up(database: Database, at: ApplicationPointer, copied: boolean): void {
    this.database = database;
    this.fullBecause = null;
    if (copied) this.blockedBecause = null;
    this.options.leadershipKnown(at.keep.leadership);
    if (copied || at.pointer > this.options.commitPoint()) this.restored(at);
    this.followLog();
  }

  /**
   * It may hold more than this replica's log, which then goes on from there; from the first part on, where parts of a transaction still wait for their last: they
   * are read from the log.
   */
  private restored({ pointer, keep }: ApplicationPointer): void {
    const { commitPoint, configuration, restored } = this.options;
    const known = configuration();
    const newest =
      keep.configuration !== null && keep.configuration.version > known.version ? keep.configuration : known;
    restored(Math.min(pointer, keep.keepFrom - 1) as Slot, newest);
    this.reachFirst = pointer > commitPoint() ? pointer : (0 as Slot);
  }

  /** At once: nothing that was read of this PostgreSQL may reach the one that comes after it. */
  down(): void {
    this.database = null;
    this.fullBecause = null;
    this.overtake();
  }

  /** Applies no more, until another replica's database has taken the place of this one. */
  block(reason: string): void {
    this.blockedBecause = reason;
    this.overtake();
  }

  private overtake(): number {
    const turn = ++this.turn;
    this.applying = false;
    // From this very moment no session's commit counts: the mode changes before anything else can run.
    const stopped = this.options.apply.stop();
    this.queue = this.queue.then(() => stopped);
    return turn;
  }

  /** Leaves the database to the log: sessions end first, then the log is applied from wherever the database is. */
  followLog(): void {
    const { database } = this;
    const turn = this.overtake();
    const current = (): boolean => turn === this.turn && !this.stopped && database !== null;
    this.queue = this.queue.then(async () => {
      if (database === null || !current()) return;
      try {
        await database.endSessions();
        while (current() && this.options.commitPoint() < this.reachFirst) await sleep(pollMs);
        if (!current() || this.blockedBecause !== null) return;
        await this.options.apply.follow(database);
        this.applying = current();
      } catch (error) {
        this.options.logger.warn({ err: error }, 'could not hand the database over to the log');
        if (!current()) return;
        if (error instanceof DatabaseError && error.code === 'databaseFull')
          this.retryWhenFull(error.message);
        else this.options.suspect();
      }
    });
  }

  /** PostgreSQL itself is well: a restart would only cost what it has in memory. */
  retryWhenFull(reason: string): void {
    this.fullBecause = reason;
    const { turn } = this;
    setTimeout(() => {
      if (turn !== this.turn || this.stopped) return;
      this.followLog();
    }, this.options.retryMs).unref();
  }

  /** What was tried again went well. */
  applied(): void {
    this.fullBecause = null;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.overtake();
    await this.queue;
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
