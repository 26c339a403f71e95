/**
 * A PostgreSQL that is a primary: its WAL, its barrier, and what the replica asks it as its superuser.
 *
 * Responsible for: the slot that keeps WAL until it is chosen, and what is asked in the replica's own session. Starts and stops nothing.
 */
import type { Client } from 'pg';
import { parseLsn, type Lsn, type Timeline } from '../../wal/lsn.ts';
import type {
  PrimaryDatabase,
  SessionAnswer,
  WalStream,
  WalStreamHandlers,
} from '../../ports/database-server.ts';
import type { BarrierSessions } from './barrier-sessions.ts';
import { sqlStateOf } from './database-error.ts';
import type { PostgresInstance } from './instance/postgres-instance.ts';
import type { LockReserve } from './lock-reserve.ts';
import { nextXidSql } from './next-xid.ts';
import type { OwnSession } from './own-session.ts';
import { answerAnew } from './session-answer.ts';
import { gateName, openWalSource } from './replication/wal-source.ts';
import { ownSql } from '../../pgwire/own-sql.ts';

/** The walsender of a connection that has just ended may still hold the slot. */
const slotPatienceMs = 5_000;
const slotPollMs = 20;

/** One run of it. */
export interface PrimaryRun {
  readonly instance: PostgresInstance;
  /** Barriers wait in sessions of their own, so that nothing else waits behind them. */
  readonly session: OwnSession;
  /** It was stopped: another run of the same directory is not asked. */
  readonly isOver: () => boolean;
  readonly barriers: BarrierSessions;
  readonly reserve: LockReserve;
}

/** @throws Error */
export async function openPrimary(run: PrimaryRun): Promise<PrimaryDatabase> {
  const client = await clientOf(run);
  const { rows } = await client.query<{ name: string; system: string }>(
    'SELECT pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()) AS name, system_identifier::pg_catalog.text AS system FROM pg_catalog.pg_control_system()',
  );
  const { name, system } = rows[0]!;
  const timeline = Number.parseInt(name.slice(0, 8), 16) as Timeline;
  await run.reserve.hold();
  return new Primary(run, timeline, BigInt(system));
}

async function clientOf({ session, isOver }: PrimaryRun): Promise<Client> {
  const client = await session.get();
  if (isOver()) throw new Error('PostgreSQL was stopped');
  return client;
}

class Primary implements PrimaryDatabase {
  readonly timeline: Timeline;
  readonly system: bigint;
  private readonly run: PrimaryRun;

  constructor(run: PrimaryRun, timeline: Timeline, system: bigint) {
    this.run = run;
    this.timeline = timeline;
    this.system = BigInt.asUintN(64, system);
  }

  async nextXid(): Promise<bigint> {
    const client = await clientOf(this.run);
    const { rows } = await client.query<{ next: string }>(`SELECT ${nextXidSql} AS next`);
    return BigInt(rows[0]!.next);
  }

  async flushed(): Promise<Lsn> {
    const client = await clientOf(this.run);
    const { rows } = await client.query<{ flushed: string }>(
      'SELECT pg_catalog.pg_current_wal_flush_lsn()::pg_catalog.text AS flushed',
    );
    return parseLsn(rows[0]!.flushed);
  }

  async openStream(from: Lsn, handlers: WalStreamHandlers): Promise<WalStream> {
    await this.ensureSlot();
    const { socketPath, version } = this.run.instance;
    const deadline = performance.now() + slotPatienceMs;
    for (;;) {
      try {
        return await openWalSource({
          socketPath,
          version,
          timeline: this.timeline,
          from,
          slot: gateName,
          ...handlers,
        });
      } catch (error) {
        // object_in_use
        if (sqlStateOf(error) !== '55006' || performance.now() > deadline) throw error;
        await new Promise((resolve) => setTimeout(resolve, slotPollMs));
      }
    }
  }

  private async ensureSlot(): Promise<void> {
    const client = await clientOf(this.run);
    await client.query(
      ownSql(
        'SELECT pg_catalog.pg_create_physical_replication_slot($1, true) WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_replication_slots WHERE slot_name = $1)',
      ),
      [gateName],
    );
  }

  barrier(): Promise<Lsn> {
    const { barriers, reserve } = this.run;
    return reserve.withRoom(() => barriers.begin());
  }

  async openTransactions(pids: readonly number[]): Promise<ReadonlyMap<number, bigint>> {
    const client = await clientOf(this.run);
    const { rows } = await client.query<{ pid: number; xid: string }>(openTransactionsSql, [pids]);
    return new Map(rows.map(({ pid, xid }) => [pid, BigInt(xid)]));
  }

  async cancel(pid: number): Promise<'done' | 'committing'> {
    return cancelUnlessCommitting(await clientOf(this.run), pid);
  }

  answer(wishes: { readonly resume: boolean }, givenUp: AbortSignal): Promise<SessionAnswer> {
    return answerAnew(this.run.instance, wishes, givenUp);
  }

  async committing(givenUp: AbortSignal): Promise<number> {
    const { session, isOver } = this.run;
    if (isOver()) throw new Error('PostgreSQL was stopped');
    return session.ask(givenUp, async (client) => {
      const { rows } = await client.query<{ n: number }>(committingSql);
      return rows[0]!.n;
    });
  }
}

/** For tests of a gateway that have a PostgreSQL and no replica, too. @throws Error */
export async function cancelUnlessCommitting(
  client: Pick<Client, 'query'>,
  pid: number,
): Promise<'done' | 'committing'> {
  const { rows } = await client.query<{ commits: boolean }>(cancelSql, [pid]);
  return rows[0]?.commits === true ? 'committing' : 'done';
}

/** A flush of WAL has other names before PostgreSQL 17; a statement that has to flush in its midst is taken for one that commits. */
const commitsSql = `COALESCE(pg_catalog.lower(wait_event)
                             OPERATOR(pg_catalog.=) ANY ('{syncrep,walsync,walwrite,walwritelock}'::pg_catalog.text[]), false)`;

const committingSql = `
SELECT pg_catalog.count(*)::pg_catalog.int4 AS n FROM pg_catalog.pg_stat_activity
WHERE backend_type OPERATOR(pg_catalog.=) ANY ('{client backend,parallel worker,background worker}'::pg_catalog.text[]) AND ${commitsSql}`;

/** Looks and cancels in one query, some microseconds apart. */
const cancelSql = `
SELECT commits, CASE WHEN NOT commits THEN pg_catalog.pg_cancel_backend(pid) END
FROM (SELECT pid, ${commitsSql} AS commits
      FROM pg_catalog.pg_stat_activity
      WHERE pid OPERATOR(pg_catalog.=) $1::pg_catalog.int4 OFFSET 0) AS found`;

/** backend_xid has 32 bits: the newest id with these bits that has been given out. */
const openTransactionsSql = ownSql(`
SELECT pid, (CASE WHEN low > low_next THEN high - 4294967296 ELSE high END + low)::pg_catalog.text AS xid
FROM (SELECT pid, backend_xid::pg_catalog.text::numeric AS low, next % 4294967296 AS low_next, next - (next % 4294967296) AS high
      FROM pg_catalog.pg_stat_activity,
           (SELECT pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::pg_catalog.text::numeric + 1000000 AS next) AS newest
      WHERE backend_xid IS NOT NULL AND pid = ANY ($1::int[])) AS found`);
