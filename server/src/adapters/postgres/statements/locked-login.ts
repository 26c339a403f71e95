/**
 * A log-in to a database that another session's open transaction has locked, as an ALTER DATABASE in a block does.
 *
 * PostgreSQL has it wait. Here one operation is executed at a time, so the end of that transaction would wait for the log-in, and the log-in for it. All replicas have the same locks, so all of them refuse it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { errorResponse } from '../../../pgwire/backend-messages.ts';
import { ownSql } from '../../../pgwire/own-sql.ts';
import type { ConnectResult } from '../../../ports/statement-database.ts';

const lookMs = 100;
/** A log-in shows no session yet, so it is found by the lock that it waits for. A log-in that waits for the system's own work goes on waiting. */
const endWaitingSql = ownSql(`SELECT pg_catalog.pg_terminate_backend(l.pid) FROM pg_catalog.pg_locks l
  WHERE NOT l.granted AND l.locktype = 'object' AND l.classid = 1262
  AND EXISTS (SELECT FROM pg_catalog.unnest(pg_catalog.pg_blocking_pids(l.pid)) AS b (pid)
    JOIN pg_catalog.pg_stat_activity a ON a.pid = b.pid JOIN pg_catalog.pg_roles r ON r.oid = a.usesysid
    WHERE a.backend_type = 'client backend' AND NOT r.rolsuper)`);

/** `ask`: in a session of the replica. @throws as `open`, and as `ask` when PostgreSQL is away */
export async function openUnlessLocked(
  ask: (sql: string) => Promise<readonly unknown[]>,
  database: string,
  open: () => Promise<ConnectResult>,
): Promise<ConnectResult> {
  const settled = new AbortController();
  const { signal } = settled;
  const opening = open().finally(() => settled.abort());
  opening.catch(() => undefined);
  let isEnded = false;
  while (!signal.aborted && !isEnded) {
    await pause(lookMs, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted) isEnded = (await ask(endWaitingSql)).length > 0;
  }
  const opened = await opening;
  return isEnded && opened.code === 'refused' ? { code: 'refused', answer: locked(database) } : opened;
}

function locked(database: string): Buffer {
  return errorResponse('FATAL', {
    sqlState: '55006',
    message: `database "${database}" is locked by an open transaction of another session`,
    hint: 'Connect again when that transaction has ended.',
  });
}
