/** What a replica's PostgreSQL is at: its clients' sessions with what each waits for, and the statements that have taken most time. For the page; asked only while somebody looks. */
export interface SessionActivity {
  readonly pid: number;
  readonly user: string;
  readonly database: string;
  readonly application: string;
  /** PostgreSQL's own word, such as `active`, `idle in transaction`. */
  readonly state: string;
  /** `gate`: a commit that waits until its WAL is chosen, which to PostgreSQL is a wait for its synchronous standby. */
  readonly wait: { readonly kind: 'gate' | 'lock' | 'other'; readonly text: string } | null;
  /** Sessions that hold what it waits for. */
  readonly blockedBy: readonly number[];
  /** Since its transaction began; null: none is open. */
  readonly transactionMs: number | null;
  /** Since it is in this state. */
  readonly stateMs: number;
  /** Passwords are blanked. */
  readonly sql: string;
}

export interface StatementActivity {
  /** As pg_stat_statements keeps it: of what plans have, `$1` for constants; utility statements keep theirs. Passwords are blanked. */
  readonly sql: string;
  readonly calls: number;
  readonly totalMs: number;
  readonly meanMs: number;
  readonly maxMs: number;
  readonly rows: number;
  readonly walBytes: number;
}

export interface Activity {
  readonly database: 'primary' | 'standby';
  /** Those that are at something first; at most 200. */
  readonly sessions: readonly SessionActivity[];
  /** By total time, at most 50; or why they cannot be told. `canCount`: they are once that is asked for, here. */
  readonly statements:
    | { readonly kind: 'told'; readonly statements: readonly StatementActivity[] }
    | { readonly kind: 'untold'; readonly why: string; readonly canCount: boolean };
}

/** `cancel`: its statement; `terminate`: the session. */
export interface EndSessionRequest {
  readonly pid: number;
  readonly how: 'cancel' | 'terminate';
}
