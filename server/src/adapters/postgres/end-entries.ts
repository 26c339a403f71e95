/**
 * Ends processes of PostgreSQL that wait for a lock in the beginning of a session, asked in a session of the replica's own. Works at a primary and at a standby.
 *
 * Responsible for: the question, and for how long it may take. Such a process has told nobody its id. A session of the replica's own that waits so is ended, too: it would not have begun either.
 */
import { ownSql } from '../../pgwire/own-sql.ts';
import { OwnSession } from './own-session.ts';

const answerMsMax = 5_000;

/** Before PostgreSQL 18 a session is shown only when it has begun. */
const question = ownSql(`
  SELECT pg_catalog.pg_terminate_backend(waits.pid)
  FROM (SELECT DISTINCT lock.pid FROM pg_catalog.pg_lock_status() AS lock
        WHERE NOT lock.granted AND lock.pid IS NOT NULL
          AND (pg_catalog.clock_timestamp() - lock.waitstart) > $1::pg_catalog.interval) AS waits
  LEFT JOIN pg_catalog.pg_stat_get_activity(NULL) AS shown ON shown.pid = waits.pid
  WHERE shown.pid IS NULL OR (shown.state = 'starting' AND shown.backend_type = 'client backend')`);

/** The function resolves with how many were ended. It @throws whatever `pg` throws when PostgreSQL is away */
export function createEntryEnder(place: { readonly socketDir: string }): (slowMs: number) => Promise<number> {
  const session = new OwnSession(place);
  return (slowMs) =>
    session.ask(AbortSignal.timeout(answerMsMax), async (client) => {
      const { rowCount } = await client.query(question, [`${slowMs} milliseconds`]);
      return rowCount ?? 0;
    });
}
