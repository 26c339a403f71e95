/**
 * PostgreSQL's processes whose clients have gone, asked for in a session of the replica's own. Works at a primary and at a standby.
 *
 * Responsible for: the questions, for how long they may take, and ending what waits for a lock in the beginning of a session. Such a process has told nobody its id. A session of the replica's own that waits so is ended, too: it
 * would not have begun either.
 */
import type { LookAtLeft } from '../../ports/client-service.ts';
import { ownSql } from '../../pgwire/own-sql.ts';
import { OwnSession } from './own-session.ts';

const answerMsMax = 5_000;

/** Before PostgreSQL 18 a session is shown only when it has begun. */
const endWaiting = ownSql(`
  SELECT pg_catalog.pg_terminate_backend(waits.pid)
  FROM (SELECT DISTINCT lock.pid FROM pg_catalog.pg_lock_status() AS lock
        WHERE NOT lock.granted AND lock.pid IS NOT NULL
          AND (pg_catalog.clock_timestamp() - lock.waitstart) > $1::pg_catalog.interval) AS waits
  LEFT JOIN pg_catalog.pg_stat_get_activity(NULL) AS shown ON shown.pid = waits.pid
  WHERE shown.pid IS NULL OR (shown.state = 'starting' AND shown.backend_type = 'client backend')`);

const stillThere = ownSql(
  `SELECT pid, wait_event_type || ': ' || wait_event AS "waitsFor"
  FROM pg_catalog.pg_stat_get_activity(NULL) WHERE pid = ANY ($1::pg_catalog.int4[])`,
);

/** The function @throws whatever `pg` throws when PostgreSQL is away */
export function createLeftLook(place: { readonly socketDir: string }): LookAtLeft {
  const session = new OwnSession(place);
  return (slowMs, pids) =>
    session.ask(AbortSignal.timeout(answerMsMax), async (client) => {
      const { rowCount } = await client.query(endWaiting, [`${slowMs} milliseconds`]);
      const { rows } =
        pids.length === 0
          ? { rows: [] }
          : await client.query<{ pid: number; waitsFor: string | null }>(stillThere, [pids]);
      return { ended: rowCount ?? 0, living: rows };
    });
}
