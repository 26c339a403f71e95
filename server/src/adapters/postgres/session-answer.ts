/**
 * A question in a session that is opened for it: whether a database lets in new sessions and can read its catalogs.
 *
 * What clients can bring about alone counts as an answer: they could end leaderships otherwise.
 */
import type { Client } from 'pg';
import type { SessionAnswer } from '../../ports/database-server.ts';
import { sqlStateOf } from './database-error.ts';
import { ownSql } from '../../pgwire/own-sql.ts';
import { OwnSession } from './own-session.ts';

/** How long a session may hold up the replay, in milliseconds; null: none does. */
const delaySql =
  ownSql(`(SELECT s.setting FROM pg_catalog.pg_settings s WHERE s.name = 'max_standby_streaming_delay'
  AND EXISTS (SELECT FROM pg_catalog.pg_stat_get_activity(NULL) a WHERE a.backend_type = 'startup'
    AND (a.wait_event_type = ANY ('{Lock,BufferPin}'::pg_catalog.text[]) OR a.wait_event = ANY ('{RecoveryConflictSnapshot,RecoveryConflictTablespace}'::pg_catalog.text[]))))`);

/** @throws Error with PostgreSQL's reason; the signal's reason */
export async function answerAnew(
  place: { readonly socketDir: string },
  { resume }: { readonly resume: boolean },
  givenUp: AbortSignal,
): Promise<SessionAnswer> {
  const session = new OwnSession(place);
  try {
    return await session.ask(givenUp, (client) => answerAbout(client, resume));
  } catch (error) {
    if (isExhausted(error)) return { isPaused: false, resumed: false };
    throw error;
  } finally {
    session.end();
  }
}

/** The database's list is read, too: a standby that cannot read its catalogs does not answer. */
async function answerAbout(client: Client, resume: boolean): Promise<SessionAnswer> {
  const { rows } = await client.query<{ paused: boolean; databases: string; delay: string | null }>(
    `SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_is_wal_replay_paused() ELSE false END AS paused,
            (SELECT pg_catalog.count(*) FROM pg_catalog.pg_database)::pg_catalog.text AS databases,
            ${delaySql} AS delay`,
  );
  const { paused, delay } = rows[0]!;
  const heldUp = delay === null ? {} : { heldUp: { allowedMs: delay === '-1' ? null : Number(delay) } };
  if (!paused || !resume) return { isPaused: paused, resumed: false, ...heldUp };
  await client.query('SELECT pg_catalog.pg_wal_replay_resume()');
  return { isPaused: false, resumed: true, ...heldUp };
}

/** Too many clients, locks or the like. */
function isExhausted(error: unknown): boolean {
  return sqlStateOf(error)?.startsWith('53') ?? false;
}
