/**
 * How the prepared statements and portals of one session are to be run.
 *
 * Invariants: an entry is made only once PostgreSQL has said that it exists; the table is bounded. A name that is not in it was
 * prepared in SQL, so it can only be a query: `write`, which is right for any. PostgreSQL never holds a prepared COMMIT or
 * ROLLBACK of a client, for EXECUTE, even inside a function, would run it past the agreement: a placeholder stands for it.
 */
import { type Statement, type StatementKind, writes } from '../sql/statement.ts';

export interface PreparedEntry {
  /** null: an empty statement. */
  readonly statement: Statement | null;
  /** SQL and parameter types, kept where the statement must be prepared afresh before it may run unwrapped. */
  readonly refresh: { readonly sql: Buffer; readonly parameterTypes: Buffer } | null;
}

export interface PreparedTable {
  readonly statements: Map<string, PreparedEntry>;
  readonly portals: Map<string, Statement | null>;
  /** EXECUTE name, in SQL. */
  readonly executed: (name: string) => StatementKind;
  /** After a statement with this tag. */
  afterCommand(tag: string): void;
}

export const createPreparedTable = (): PreparedTable => {
  const statements = new Map<string, PreparedEntry>();
  const portals = new Map<string, Statement | null>();
  return {
    statements,
    portals,
    executed: (name) =>
      statements.get(Buffer.from(name, 'utf8').toString('latin1'))?.statement?.run ?? writes,
    afterCommand(tag) {
      if (tag === 'DISCARD ALL' || tag === 'DEALLOCATE ALL') statements.clear();
    },
  };
};
