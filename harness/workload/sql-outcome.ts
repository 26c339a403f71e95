/**
 * What an error tells a client of its transaction: that it certainly did not take effect, or nothing. Pure.
 *
 * Takes the server at its word (docs/limits.md): every SQLSTATE but a few is a promise that nothing was committed. If a promise is broken, the checkers see
 * something that failed and is there all the same.
 */

export interface SqlError {
  /** SQLSTATE, system error code, or a word of our own. */
  readonly code: string;
  readonly message: string;
}

export function describeError(error: unknown): SqlError {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  const text = typeof message === 'string' ? message : String(error);
  if (typeof code === 'string' && code !== '') return { code, message: text };
  return { code: /timed? ?out/i.test(text) ? 'timeout' : 'connectionLost', message: text };
}

const sqlState = /^[0-9A-Z]{5}$/;
/** Connection exceptions (among them 08007, "outcome unknown") and internal errors promise nothing. */
const promisesNothing = /^(08|XX)/;
/** The transaction is committed, by this attempt or by an earlier one, but its answer cannot be given. */
const committed = 'RQ001';

/** `committing`: the statement that may commit had been sent. Before that, nothing can have been committed. */
export function outcomeOf(code: string, committing: boolean): 'fail' | 'info' {
  if (!committing) return 'fail';
  if (code === committed) return 'info';
  return sqlState.test(code) && !/^E[A-Z]+$/.test(code) && !promisesNothing.test(code) ? 'fail' : 'info';
}

/** True if the failure says that the transaction took effect. */
export function isCommitted({
  outcome,
  code,
}: {
  readonly outcome: 'fail' | 'info';
  readonly code: string;
}): boolean {
  return outcome === 'info' && code === committed;
}
