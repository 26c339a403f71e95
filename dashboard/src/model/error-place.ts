/** Where in the editor's text the error of a statement is. Pure. */
import type { SqlOutcome } from '../run/requests.ts';
import { spanAt } from './sql-history.ts';

interface StatementRun {
  readonly sql: string;
  /** Where it begins in the text. */
  readonly from: number;
  /** The text was changed while it ran. */
  readonly isMoved: boolean;
  /** Null while it runs. */
  readonly outcome: SqlOutcome | null;
}

export interface ErrorPlace {
  readonly code: string;
  readonly message: string;
  readonly from: number;
  readonly to: number;
}

/** Null: nowhere in particular, or there is none. */
export function errorPlace(run: StatementRun | null): ErrorPlace | null {
  if (run?.outcome == null || run.outcome.ok || run.isMoved) return null;
  const { code, message, position } = run.outcome.error;
  const span = position === undefined ? null : spanAt(run.sql, position);
  return span === null ? null : { code, message, from: run.from + span.from, to: run.from + span.to };
}
