/**
 * Makes PostgreSQL set aside memory for twice as many holders of locks as there can be locks.
 *
 * A standby holds the exclusive locks on tables of each open transaction, and so of each prepared one. When it is promoted, prepared transactions take their locks back before the standby lets go of its own: each lock has two holders then. PostgreSQL's two
 * tables, of locks and of their holders, grow out of one piece of memory, and clients that hold very many locks take for locks what the next leader would need for holders. Then no replica can be promoted ("out of shared memory"), for as long as that transaction is there.
 * What a table has grown to it keeps until PostgreSQL ends. So sessions of our own take the same locks beside each other for a moment, and nothing of that is left but the room.
 *
 * Responsible for: how many, and doing it. Source: LockManagerShmemInit of src/backend/storage/lmgr/lock.c, ShmemInitHash.
 * Invariants: the table of locks does not grow by it; nothing is held when it returns.
 */
import { randomInt } from 'node:crypto';
import type { Client } from 'pg';
import { ownSql } from '../../pgwire/own-sql.ts';
import { answerMs, connectPg } from './pg-client.ts';

/** With `superuser_reserved_connections` there is room for these. */
const sessionsMax = 8;
/** Of a lock and of its holder, with what the table needs for each: 64-bit systems. */
const bytes = { lock: 168, holder: 80 } as const;
/** Locks are taken in pieces, beside which others have their turn. */
const atOnce = 2_000;

const entriesOf = `SELECT pg_catalog.current_setting('max_locks_per_transaction')::pg_catalog.int8 OPERATOR(pg_catalog.*) pg_catalog.sum(s.setting::pg_catalog.int8)
  FROM pg_catalog.pg_settings s WHERE s.name OPERATOR(pg_catalog.=) ANY ('{max_connections,max_prepared_transactions,max_worker_processes,max_wal_senders}'::pg_catalog.text[])
    OR s.name OPERATOR(pg_catalog.=) CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=) 'autovacuum_worker_slots') THEN 'autovacuum_worker_slots' ELSE 'autovacuum_max_workers' END`;
/** What the settings say (NLOCKENTS). */
export const entriesSql = ownSql(`SELECT (${entriesOf}) AS entries`);
/** `used`: locks that are held now. `free`: bytes that either table can grow into. */
const sizeSql = ownSql(`SELECT (${entriesOf}) AS entries,
    (SELECT pg_catalog.count(*) FROM pg_catalog.pg_locks WHERE NOT fastpath) AS used,
    (SELECT size FROM pg_catalog.pg_shmem_allocations WHERE name IS NULL) AS free`);
/** $1: nobody else asks for these. */
const takeSql = ownSql(
  'SELECT pg_catalog.count(pg_catalog.pg_try_advisory_lock_shared($1::pg_catalog.int4, n)) FROM pg_catalog.generate_series($2::pg_catalog.int4, $3::pg_catalog.int4) AS n',
);

export interface LockTableFacts {
  readonly entries: number;
  readonly used: number;
  readonly free: number;
}

/** How many sessions take how many locks each; null: so many are held already that there is nothing to be gained. Pure. */
export function holdersPlan({
  entries,
  used,
  free,
}: LockTableFacts): { readonly sessions: number; readonly locks: number } | null {
  // PostgreSQL has made room for half of the locks at its start, and for one holder of each.
  const total = free + Math.max(entries / 2, used) * bytes.lock + Math.max(entries, used) * bytes.holder;
  const holders = (2 * total) / (bytes.lock + 2 * bytes.holder);
  const locks = Math.floor(entries * 0.48) - used;
  return locks <= 0 ? null : { sessions: Math.min(sessionsMax, Math.ceil((holders - used) / locks)), locks };
}

/** Of a primary, and of a standby that lets sessions in: not while it is promoted, for it holds locks meanwhile. False: so many are held that it cannot be done now. @throws Error where no session begins, or `isOver` */
export async function makeRoomForHolders(
  { socketDir }: { readonly socketDir: string },
  isOver: () => boolean,
): Promise<boolean> {
  const key = randomInt(1, 2 ** 31 - 1);
  const sessions: Client[] = [];
  const goOn = (): void => {
    if (isOver()) throw new Error('PostgreSQL was stopped, or is promoted');
  };
  const open = async (): Promise<Client> => {
    goOn();
    const session = await connectPg({ socketDir, database: 'postgres', silentMsMax: answerMs.quick });
    sessions.push(session);
    return session;
  };
  try {
    const first = await open();
    const { rows } = await first.query<Record<keyof LockTableFacts, string>>(sizeSql);
    const { entries, used, free } = rows[0]!;
    const plan = holdersPlan({ entries: Number(entries), used: Number(used), free: Number(free) });
    if (plan === null) return false;
    for (let number = 0; number < plan.sessions; number += 1) {
      const session = number === 0 ? first : await open();
      for (let from = 1; from <= plan.locks; from += atOnce) {
        goOn();
        await session.query(takeSql, [key, from, Math.min(plan.locks, from + atOnce - 1)]);
      }
    }
    return true;
  } finally {
    await Promise.all(sessions.map((session) => session.end().catch(() => undefined)));
  }
}
