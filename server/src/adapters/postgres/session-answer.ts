/**
 * A question in a session that is opened for it: whether a database lets in new sessions and can read its catalogs.
 *
 * What clients can bring about alone counts as an answer: they could end leaderships otherwise.
 */
import type { Client } from 'pg';
import type { SessionAnswer } from '../../ports/database-server.ts';
import { sqlStateOf } from './database-error.ts';
import { OwnSession } from './own-session.ts';

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
  const { rows } = await client.query<{ paused: boolean; databases: string }>(
    `SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_is_wal_replay_paused() ELSE false END AS paused,
            (SELECT pg_catalog.count(*) FROM pg_catalog.pg_database)::pg_catalog.text AS databases`,
  );
  const { paused } = rows[0]!;
  if (!paused || !resume) return { isPaused: paused, resumed: false };
  await client.query('SELECT pg_catalog.pg_wal_replay_resume()');
  return { isPaused: false, resumed: true };
}

/** Too many clients, locks or the like. */
function isExhausted(error: unknown): boolean {
  return sqlStateOf(error)?.startsWith('53') ?? false;
}
