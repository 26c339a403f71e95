/**
 * What a scenario is: SQL that an ordinary client sends, in one session or several, and what every replica must show afterwards.
 *
 * Scenarios know no servers. Each runs in a schema of its own, which is first in every session's search path, so they can stand side by side in one database.
 */

/** Fields as PostgreSQL writes them; null is NULL. */
export type Rows = readonly (readonly (string | null)[])[];

export type Step =
  /** Sends it and waits for the answer. `fails`: the SQLSTATE that it must be refused with. `gives`: the rows of its last statement. */
  | { readonly session: string; readonly run: string; readonly fails?: string; readonly gives?: Rows }
  /** Sends it; the answer is waited for by the session's next step. */
  | { readonly session: string; readonly start: string }
  | { readonly session: string; readonly finish: true; readonly fails?: string }
  /** The session's connection ends; one of that name is opened anew when it is used next. */
  | { readonly session: string; readonly leave: true };

export interface Shown {
  /** Asked of every replica's own PostgreSQL, as its superuser, in the scenario's schema. */
  readonly query: string;
  readonly rows: Rows;
}

export interface Scenario {
  /** Lower case and underscores: it is the schema's name, too. */
  readonly name: string;
  readonly what: string;
  readonly steps: readonly Step[];
  readonly shows: readonly Shown[];
}

/** All in one session. */
export function inOneSession(...statements: readonly string[]): readonly Step[] {
  return statements.map((run) => ({ session: 'a', run }));
}

export function refused(statement: string, sqlState: string): Step {
  return { session: 'a', run: statement, fails: sqlState };
}

export function gives(statement: string, rows: Rows): Step {
  return { session: 'a', run: statement, gives: rows };
}
