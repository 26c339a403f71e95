/**
 * Ends the sessions of clients at a standby that is to be promoted: one that its gateway has ended may still be running what catches its cancel, and would write in the primary.
 *
 * Responsible for: their being gone. Sessions of the superuser that initdb makes (10), under whom the replica itself works, stay.
 */
import { setTimeout } from 'node:timers/promises';
import type { Client } from 'pg';
import { ownSql } from '../../pgwire/own-sql.ts';

const pollMs = 5;

/** Resolves when there is none left. */
export async function endClients(client: Client): Promise<void> {
  for (;;) {
    const { rowCount } = await client.query(
      ownSql(`SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity
       WHERE backend_type = 'client backend' AND (usesysid IS NULL OR usesysid <> 10) AND pid <> pg_catalog.pg_backend_pid()`),
    );
    if (rowCount === 0) return;
    await setTimeout(pollMs);
  }
}
