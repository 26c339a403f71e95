/**
 * What the gateway knows of one SQL statement: how it must be run so that nothing it writes escapes agreement.
 *
 * Responsible for: the shape. Classification is in classify-statement.ts, parsing in parse-sql.ts.
 */
import type { GatewayError } from '../codec/backend-messages.ts';
import { executeRefused } from '../errors.ts';

/**
 * - `read`: thought to write nothing; run in a read-only transaction, which PostgreSQL enforces.
 * - `write`: may write; run in a transaction that is harvested. Always right, for anything.
 * - `bare`: run outside any transaction of ours: it cannot run inside one, or would behave otherwise there; it writes no rows.
 * - `begin`, `commit`, `rollback`: end or begin a transaction block.
 * - `savepoint`: SAVEPOINT, RELEASE, ROLLBACK TO.
 * - `executePrepared`: EXECUTE of a statement that was prepared under `name`: as that one is.
 * - `refused`: cannot be replicated.
 */
export type StatementKind =
  | { readonly kind: 'read' | 'write' | 'bare' }
  | { readonly kind: 'begin' | 'savepoint' }
  | { readonly kind: 'commit' | 'rollback'; readonly chain: boolean }
  | { readonly kind: 'executePrepared'; readonly name: string }
  | { readonly kind: 'refused'; readonly error: GatewayError };

export interface Statement {
  readonly run: StatementKind;
  /** COPY ... FROM STDIN: PostgreSQL will ask the client for data, so nothing may be sent behind it. */
  readonly copyIn: boolean;
  /** The name that an SQL PREPARE defines, and how what it prepares is to be run. */
  readonly prepares: { readonly name: string; readonly run: StatementKind } | null;
  /** DECLARE ... WITH HOLD: PostgreSQL runs the rest of its query as late as COMMIT. */
  readonly holdsCursor: boolean;
  /** Byte offsets in the text that the client sent. */
  readonly start: number;
  readonly end: number;
  /** It was too long to be parsed here: it must be sent by Parse, so that PostgreSQL takes it for one statement. */
  readonly byParse: boolean;
  /** Learnt: run as `read`, it turned out to write. */
  readonly learnt: { writes: boolean };
}

/** How to run it, with what was learnt. */
export const runsAs = (statement: Statement): StatementKind =>
  statement.run.kind === 'read' && statement.learnt.writes ? writes : statement.run;

export const writes: StatementKind = { kind: 'write' };

/** How to run it in a session where `executed` says how prepared statements are run; not `executePrepared` any more. */
export const resolve = (statement: Statement, executed: (name: string) => StatementKind): ResolvedKind => {
  const kind = runsAs(statement);
  if (kind.kind !== 'executePrepared') return kind;
  const target = executed(kind.name);
  if (target.kind === 'read' || target.kind === 'write') return target;
  return { kind: 'refused', error: executeRefused(kind.name) };
};

export type ResolvedKind = Exclude<StatementKind, { kind: 'executePrepared' }>;
