/**
 * What an error tells a client of its transaction: that it certainly did not take effect, or nothing. Pure.
 *
 * If a promise is broken, the checkers see something that failed and is there all the same.
 */
import { committedUntoldState, writeOutcomeOf } from '../../server/src/demo/load/write-outcome.ts';

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

/** `committing`: the statement that may commit had been sent. Before that, nothing can have been committed. */
export function outcomeOf(code: string, committing: boolean): 'fail' | 'info' {
  return committing && writeOutcomeOf(code) !== 'refused' ? 'info' : 'fail';
}

/** True if the failure says that the transaction took effect. */
export function isCommitted({
  outcome,
  code,
}: {
  readonly outcome: 'fail' | 'info';
  readonly code: string;
}): boolean {
  return outcome === 'info' && code === committedUntoldState;
}
