/** A session that reads in a mode at the replica that it connects to, and what is written down of it: what answers it, the leader's PostgreSQL or a follower's. */
import type { ReadMode, ReadTerms } from '../checkers/read-terms.ts';
import { SqlSession } from './sql-session.ts';

/** Of bounded reads. A follower that is cut off is beyond it soon. */
const stalenessMaxMs = 500;

export interface ModeSessionOptions {
  readonly port: number;
  readonly replica: string;
  readonly mode: ReadMode;
  readonly connectMs: number;
  readonly statementMs: number;
  /** For what is written down. */
  readonly number: number;
}

export interface ModeSession {
  readonly session: SqlSession;
  readonly terms: ReadTerms;
}

/** @throws SqlFailure */
export async function openModeSession(options: ModeSessionOptions): Promise<ModeSession> {
  const { mode, replica, number } = options;
  const bound = mode === 'bounded' ? stalenessMaxMs : null;
  const settings = [`-c barista.read_consistency=${mode}`];
  if (bound !== null) settings.push(`-c barista.max_staleness=${bound}ms`);
  const session = await SqlSession.open({ ...options, settings: settings.join(' ') });
  try {
    const { rows } = await session.statement('SELECT pg_is_in_recovery()', [], 'reads');
    const by = rows[0]?.[0] === true ? 'follower' : 'leader';
    return { session, terms: { mode, stalenessMaxMs: bound, replica, by, session: number } };
  } catch (error) {
    session.close();
    throw error;
  }
}
