/** Which transactions of clients are open in this PostgreSQL, and which of them wait to be chosen: one look at pg_stat_activity. */
import type { Client } from 'pg';
import type { RunningTransaction } from '../../../api/wal-summary.ts';
import { ownSql } from '../../../pgwire/own-sql.ts';

const sqlCharactersMax = 200;
const transactionsMax = 50;

export interface RunningTransactions {
  /** The oldest first. */
  readonly transactions: readonly RunningTransaction[];
  /** How many more there are. */
  readonly more: number;
}

/** 10 is the superuser that initdb makes, under whom the replica itself works. A COMMIT that waits for its synchronous standby waits to be chosen. */
const sql = ownSql(`
  SELECT pid, backend_xid::pg_catalog.text AS xid, state, wait_event AS "waitsFor", usename AS user, datname AS database,
         CASE WHEN $1 THEN pg_catalog.left(query, ${sqlCharactersMax + 1}) END AS sql,
         greatest(0, extract(epoch FROM pg_catalog.clock_timestamp() - xact_start) OPERATOR(pg_catalog.*) 1000)::bigint::pg_catalog.text AS "sinceMs"
    FROM pg_catalog.pg_stat_activity
   WHERE backend_type = 'client backend' AND xact_start IS NOT NULL AND usesysid <> 10
   ORDER BY xact_start, pid`);

interface Row {
  readonly pid: number;
  readonly xid: string | null;
  readonly state: string | null;
  readonly waitsFor: string | null;
  readonly user: string;
  readonly database: string;
  readonly sql: string | null;
  readonly sinceMs: string;
}

/** `tellsSql` false: the text of statements stays in PostgreSQL. @throws Error of PostgreSQL */
export async function runningTransactions(
  client: Pick<Client, 'query'>,
  tellsSql: boolean,
): Promise<RunningTransactions> {
  const { rows } = await client.query<Row>(sql, [tellsSql]);
  const transactions = rows.slice(0, transactionsMax).map(toTransaction);
  return { transactions, more: rows.length - transactions.length };
}

function toTransaction({ pid, xid, user, database, sinceMs, ...row }: Row): RunningTransaction {
  const state = row.waitsFor === 'SyncRep' ? 'waiting' : row.state === 'active' ? 'running' : 'idle';
  return {
    pid,
    xid: xid === null ? null : Number(xid),
    state,
    user,
    database,
    sql: row.sql === null ? null : shorten(row.sql),
    sinceMs: Number(sinceMs),
  };
}

function shorten(text: string): string {
  return text.length > sqlCharactersMax ? `${text.slice(0, sqlCharactersMax)}…` : text;
}
