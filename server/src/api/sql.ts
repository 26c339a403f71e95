/** What the SQL console is answered: each statement's result, or PostgreSQL's error with the place that it points at. */
export interface StatementResult {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
  /** PostgreSQL's command tag, such as `INSERT 0 1`. */
  readonly command: string;
  /** There were more rows than are sent. */
  readonly truncated: boolean;
}

/** That of the last statement, and of the text as a whole. */
export interface SqlResult extends StatementResult {
  readonly durationMs: number;
  /** Of the statements before it, in order. */
  readonly earlier: readonly StatementResult[];
}

/** `code` is the SQLSTATE; `position` counts characters of the text from 1. */
export interface SqlError {
  readonly code: string;
  readonly message: string;
  readonly detail?: string;
  readonly hint?: string;
  readonly position?: number;
}
