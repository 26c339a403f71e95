/**
 * Ends the sessions of clients at a standby that is to be promoted: one that its gateway has ended may still be running what catches its cancel, and would write in the primary.
 *
 * Responsible for: that none of them writes. Sessions of the superuser that initdb makes (10), under whom the replica itself works, stay.
 * Invariant: what is left when it resolves has been told to end, and will, before it begins another transaction. The one that it is in began in recovery, and cannot write. Some code looks for no signal, libxml's for hours: no promotion waits for it.
 */
import { setTimeout } from 'node:timers/promises';
import type { Client } from 'pg';
import { ownSql } from '../../pgwire/own-sql.ts';

const pollMs = 5;
/** Whatever looks for signals has ended by then, or nearly. */
const graceMs = 500;

interface Told {
  readonly pid: number;
  readonly began: string;
  readonly isTold: boolean;
}

/** Resolves when there is none left but those that do not end though they were told to, so long ago: their processes. */
export async function endClients(client: Client): Promise<readonly number[]> {
  const toldAtMs = new Map<string, number>();
  for (;;) {
    const nowMs = performance.now();
    const { rows } = await client.query<Told>(
      ownSql(`SELECT pid, backend_start::pg_catalog.text AS began, pg_catalog.pg_terminate_backend(pid) AS "isTold" FROM pg_catalog.pg_stat_activity
       WHERE backend_type = 'client backend' AND (usesysid IS NULL OR usesysid <> 10) AND pid <> pg_catalog.pg_backend_pid()`),
    );
    const isLeft = ({ pid, began, isTold }: Told): boolean => {
      const key = `${pid} ${began}`;
      const sinceMs = toldAtMs.get(key);
      if (sinceMs === undefined && isTold) toldAtMs.set(key, nowMs);
      return sinceMs !== undefined && nowMs - sinceMs >= graceMs;
    };
    if (rows.filter((one) => !isLeft(one)).length === 0) return rows.map(({ pid }) => pid);
    await setTimeout(pollMs);
  }
}
