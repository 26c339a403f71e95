/**
 * What an error tells a client of a write that it had sent in full.
 *
 * Takes the server at its word (docs/limits.md): every SQLSTATE but a few promises that nothing was committed. Whoever breaks such a promise is found by those who look for what was refused. Pure.
 */
import type { WriteOutcome } from './conscience.ts';

/** The transaction is committed, by this attempt or by an earlier one, but its answer cannot be given. */
export const committedUntoldState = 'RQ001';

/** Five letters that begin with E are an error of the system, as far as there are such. */
const sqlState = /^(?!E[A-Z]{4}$)[0-9A-Z]{5}$/;
/** Of the connection, one of which (08007) says that nobody knows, and of what should not be. */
const promisesNothing = /^(?:08|XX)/;

/** `code`: a SQLSTATE, a code of the system, or any other word. */
export function writeOutcomeOf(code: string): WriteOutcome {
  if (code === committedUntoldState) return 'acknowledged';
  return sqlState.test(code) && !promisesNothing.test(code) ? 'refused' : 'unknown';
}

/** False: the session is over, too. */
export function isOfStatement(code: string): boolean {
  return sqlState.test(code) && !promisesNothing.test(code) && !/^(?:57P|53)/.test(code);
}
