/**
 * What transactions hold of what all sessions share: entries of the lock table, and places for prepared transactions. And ends a session that holds too much.
 *
 * Responsible for: looking at regular times, in a session that was opened while there was room. With a full lock table PostgreSQL begins no session and locks no shared catalog. So the questions ask functions alone, and no
 * name of a role or a database is looked up. The gateway knows them. Works at a primary and at a standby.
 */
import type { HeldResources } from '../../../api/status.ts';
import { OwnSession } from '../own-session.ts';

const answerMsMax = 5_000;
const everyMsUsual = 5_000;
const holdersMax = 5;

const settings = `
  SELECT pg_catalog.current_setting('max_prepared_transactions')::pg_catalog.int4 AS prepared,
    pg_catalog.current_setting('max_locks_per_transaction')::pg_catalog.int4 OPERATOR(pg_catalog.*)
    (pg_catalog.current_setting('max_connections')::pg_catalog.int4
      OPERATOR(pg_catalog.+) pg_catalog.current_setting('max_prepared_transactions')::pg_catalog.int4) AS locks`;

/** Locks that a session keeps for itself (fastpath) take nothing from others. */
const holders = `
  SELECT pid, pg_catalog.count(*)::pg_catalog.int4 AS locks,
    pg_catalog.sum(pg_catalog.count(*)) OVER ()::pg_catalog.int4 AS total
  FROM pg_catalog.pg_lock_status() WHERE NOT fastpath GROUP BY pid ORDER BY 2 DESC LIMIT ${holdersMax}`;

const prepared = `
  SELECT gid, pg_catalog.age(transaction) AS xids, pg_catalog.count(*) OVER ()::pg_catalog.int4 AS count,
    (extract(epoch FROM pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) prepared) OPERATOR(pg_catalog.*) 1000)::pg_catalog.int8::pg_catalog.text AS ms
  FROM pg_catalog.pg_prepared_xact() ORDER BY prepared LIMIT 1`;

/** A client's alone: those of the superuser that initdb makes (10) are ours. */
const isClient = `
  SELECT session.pid FROM pg_catalog.pg_stat_get_activity($1) AS session
  WHERE session.backend_type OPERATOR(pg_catalog.=) 'client backend' AND session.usesysid OPERATOR(pg_catalog.<>) 10`;

interface HeldLogger {
  warn(fields: object, message: string): void;
}

export class HeldResourceWatch {
  private readonly session: OwnSession;
  private readonly logger: HeldLogger;
  private readonly timer: NodeJS.Timeout;
  private latest: HeldResources | null = null;
  private isLooking = false;
  private isStopped = false;

  constructor(place: { readonly socketDir: string }, logger: HeldLogger, everyMs = everyMsUsual) {
    this.session = new OwnSession(place);
    this.logger = logger;
    this.timer = setInterval(() => void this.look(), everyMs).unref();
  }

  /** As of the last look; null: PostgreSQL did not answer it. */
  get report(): HeldResources | null {
    return this.latest;
  }

  /** Never rejects. One look at a time. */
  async look(): Promise<void> {
    if (this.isLooking || this.isStopped) return;
    this.isLooking = true;
    const before = this.latest;
    this.latest = await this.read().catch(() => null);
    this.isLooking = false;
    if (this.isStopped) this.end();
    else if (this.latest !== null && isNearlyFull(this.latest) && (before === null || !isNearlyFull(before)))
      this.logger.warn(
        this.latest,
        'transactions hold nearly all locks, or places for prepared transactions',
      );
  }

  /** False: there is no such session of a client. @throws Error of PostgreSQL, or that it is away */
  async endSession(pid: number): Promise<boolean> {
    const { rows } = await this.session.ask(AbortSignal.timeout(answerMsMax), (client) =>
      client.query(isClient, [pid]),
    );
    if (rows.length === 0) return false;
    // What pg_terminate_backend does. That one looks the role up first, for which a full lock table has no room.
    process.kill(pid, 'SIGTERM');
    return true;
  }

  stop(): void {
    clearInterval(this.timer);
    this.isStopped = true;
    if (!this.isLooking) this.end();
  }

  private end(): void {
    void this.session.close();
  }

  private read(): Promise<HeldResources> {
    return this.session.ask(AbortSignal.timeout(answerMsMax), async (client) => {
      const most = await client.query<{ locks: number; prepared: number }>(settings);
      const locks = await client.query<{ pid: number | null; locks: number; total: number }>(holders);
      const oldest = await client.query<{ gid: string; xids: number; count: number; ms: string }>(prepared);
      const [first] = oldest.rows;
      return {
        locks: {
          held: locks.rows[0]?.total ?? 0,
          max: most.rows[0]!.locks,
          holders: locks.rows.map((row) => ({ pid: row.pid, locks: row.locks })),
        },
        prepared: {
          count: first?.count ?? 0,
          max: most.rows[0]!.prepared,
          oldest: first === undefined ? null : { gid: first.gid, ageMs: Number(first.ms), xids: first.xids },
        },
      };
    });
  }
}

function isNearlyFull({ locks, prepared: { count, max } }: HeldResources): boolean {
  return locks.held >= 0.8 * locks.max || (max > 0 && count >= 0.8 * max);
}
