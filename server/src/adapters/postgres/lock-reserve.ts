/**
 * Entries of the shared lock table, of a primary and of a PostgreSQL that executes statements, that are kept from clients. They are locks that nobody else asks for, held by a session of our own.
 *
 * A transaction that takes every entry and is prepared outlives its leader. Without entries to spare a new leader can make no barrier, and PostgreSQL ends with an error when a standby is promoted: it takes the locks of prepared transactions again, beside what the replica's own sessions hold. (What
 * their holders need is kept by lock-holders.ts.)
 *
 * Responsible for: holding them, as many as there is room for, from before clients are served; and for giving them up for the time of a piece of our own work that lacks them. A standby holds none.
 */
import { randomInt } from 'node:crypto';
import type { Client } from 'pg';
import { sqlStateOf } from './database-error.ts';
import { answerMs, connectPg } from './pg-client.ts';

/** A twentieth of what the settings say, up to so many. */
const entriesMax = 256;
const againMs = 1_000;
/** Where there was too little room for all of them. */
const moreMs = 30_000;
/** out_of_memory: here of the lock table. */
const full = '53200';

/** Locks of a session are kept when the statement fails in which they were taken. Those that it has already take no second entry. */
const holdSql = `
SELECT pg_catalog.count(pg_catalog.pg_try_advisory_lock_shared($1::pg_catalog.int4, n)) FROM pg_catalog.generate_series(1,
  LEAST(${entriesMax}, (pg_catalog.current_setting('max_locks_per_transaction')::pg_catalog.int4
    OPERATOR(pg_catalog.*) (pg_catalog.current_setting('max_connections')::pg_catalog.int4
      OPERATOR(pg_catalog.+) pg_catalog.current_setting('max_prepared_transactions')::pg_catalog.int4)) OPERATOR(pg_catalog./) 20)) AS n`;
const giveUpSql = 'SELECT pg_catalog.pg_advisory_unlock_all()';

export class LockReserve {
  private readonly place: { readonly socketDir: string };
  /** PostgreSQL was stopped. */
  private readonly isOver: () => boolean;
  /** Nobody else asks for these. */
  private readonly key = randomInt(1, 2 ** 31 - 1);
  private session: Client | null = null;
  private opening: Promise<void> | null = null;
  private later: NodeJS.Timeout | null = null;
  /** Pieces of work that use it. */
  private users = 0;

  constructor(place: { readonly socketDir: string }, isOver: () => boolean) {
    this.place = place;
    this.isOver = isOver;
  }

  /** Opens its session ahead of time: of a standby, too, that is about to be a primary. Never rejects. */
  warmUp(): Promise<void> {
    this.opening ??= this.open()
      .catch(() => undefined)
      .finally(() => (this.opening = null));
    return this.opening;
  }

  /** Where there is less room, what there is. Tries again by itself where no session begins. Never rejects. */
  async hold(): Promise<void> {
    if (this.isOver() || this.users > 0) return;
    if (this.session === null) await this.warmUp();
    const { session } = this;
    if (session === null) return this.holdLater(againMs);
    try {
      await session.query(holdSql, [this.key]);
    } catch (error) {
      this.holdLater(sqlStateOf(error) === full ? moreMs : againMs);
    }
  }

  /** Does `work`, and once more with the reserve given up where the lock table was full. It is held again before this resolves: a client whose statement is executed behind it finds no room. @throws as `work` */
  async withRoom<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (sqlStateOf(error) !== full || this.session === null) throw error;
    }
    this.users += 1;
    try {
      await this.session?.query(giveUpSql).catch(() => undefined);
      return await work();
    } finally {
      this.users -= 1;
      await this.hold();
    }
  }

  /** Ends the session, once `isOver` holds. Never rejects. */
  async end(): Promise<void> {
    await this.opening;
    await this.session?.end().catch(() => undefined);
  }

  private async open(): Promise<void> {
    const { socketDir } = this.place;
    const session = await connectPg({ socketDir, database: 'postgres', silentMsMax: answerMs.quick });
    session.once('end', () => {
      this.session = null;
      this.holdLater(againMs);
    });
    this.session = session;
  }

  private holdLater(ms: number): void {
    if (this.isOver() || this.later !== null) return;
    this.later = setTimeout(() => {
      this.later = null;
      void this.hold();
    }, ms).unref();
  }
}
