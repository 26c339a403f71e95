/**
 * What a PostgreSQL shows now, by the ids of its transactions.
 *
 * Where PostgreSQL recovers a snapshot has the ids of what runs among those of subtransactions, and pg_current_snapshot() names none of them: there pg_xact_status(), which looks them up, is asked of each.
 */
import type { Client } from 'pg';
import type { SnapshotView } from '../../ports/digest.ts';
import { parseView } from './digest/held-snapshot.ts';
import { ownSql } from '../../pgwire/own-sql.ts';

/** @throws Error while PostgreSQL lets nobody in */
export async function takeSnapshot(client: Client): Promise<SnapshotView> {
  const { rows } = await client.query<{ view: string }>({
    name: 'snapshot',
    text: 'SELECT pg_catalog.pg_current_snapshot()::pg_catalog.text AS view',
  });
  return parseView(rows[0]!.view);
}

/** @throws Error; one that is not below the end of a snapshot may be of the future */
export async function shownAmong(client: Client, xids: readonly bigint[]): Promise<readonly bigint[]> {
  const { rows } = await client.query<{ xid: string }>({
    name: 'shown',
    text: ownSql(
      "SELECT xid::pg_catalog.text FROM pg_catalog.unnest($1::pg_catalog.text[]::pg_catalog.xid8[]) AS xid WHERE pg_catalog.pg_xact_status(xid) = 'committed'",
    ),
    values: [xids.map(String)],
  });
  return rows.map(({ xid }) => BigInt(xid));
}
