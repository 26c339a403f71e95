/**
 * What the last words of a leader's gateway say about the requests that it has not answered. Pure.
 *
 * A gateway that ends a session says what is true (farewell.ts): where it gives a reason and nothing else, nothing that was not answered is committed, what it had not read included.
 */
import { type ErrorFields, endsSession } from '../../../pgwire/backend-messages.ts';
import * as errors from '../errors.ts';

/** `unknown`: the leader could not tell. */
export type Said = 'notCommitted' | 'committed' | 'unknown';

const meanings: ReadonlyMap<string, Said> = new Map([
  ...[
    errors.handingOver,
    errors.notLeaderAnyMore,
    errors.leaderWentAway,
    errors.shuttingDown,
    errors.databaseWentAway,
    errors.committedButEnding,
    errors.notCommitted,
  ].map(({ message }): [string, Said] => [message, 'notCommitted']),
  [errors.committedUntold.message, 'committed'],
  [errors.outcomeUnknown('').message, 'unknown'],
]);

/** The leader's gateway says that the session's own process has ended, and not PostgreSQL as a whole. */
export function saysBackendEnded(fields: ErrorFields): boolean {
  return endsSession(fields) && [fields.get('M'), fields.get('D')].includes(errors.backendEnded.message);
}

/** The leader's gateway says that somebody has ended the session, and cannot tell, or only in part, what became of its COMMIT. */
export function saysTerminated(fields: ErrorFields): boolean {
  return endsSession(fields) && fields.get('D') === errors.terminated.message;
}

/** Null: it is no gateway that cannot serve the session any more. PostgreSQL's own words, by which an operator ends a session, are not among them. */
export function meaningOf(fields: ErrorFields): Said | null {
  return endsSession(fields) ? (meanings.get(fields.get('M') ?? '') ?? null) : null;
}
