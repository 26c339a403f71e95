/** What the SQL console is answered: each statement's result, or PostgreSQL's error with the place that it points at. */
export interface StatementResult {
  /** Of COPY TO STDOUT as text or CSV one, of which each row is a line. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
  /** PostgreSQL's command tag, such as `INSERT 0 1`. */
  readonly command: string;
  /** There were more rows than are sent. */
  readonly truncated: boolean;
  /** How much COPY TO STDOUT sent in the binary format, of which there are no rows; missing: it was none. */
  readonly binaryBytes?: number;
}

/** That of the last statement, and of the text as a whole. */
export interface SqlResult extends StatementResult {
  readonly durationMs: number;
  /** Of the statements before it, in order. */
  readonly earlier: readonly StatementResult[];
  /** The text left a transaction open, which ended with its session: what was done in it is not kept. */
  readonly rolledBack?: true;
}

/** `code` is the SQLSTATE; `position` counts characters of the text from 1. */
export interface SqlError {
  readonly code: string;
  readonly message: string;
  readonly detail?: string;
  readonly hint?: string;
  readonly position?: number;
}
