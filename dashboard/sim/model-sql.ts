/**
 * The SQL console over a simulated group: the model of PostgreSQL keeps lists by name, and this reads as much SQL as there is to say of them.
 *
 * Responsible for: what a statement means, and answers in the shapes of server/src/api/sql.ts. What is answered when is the group's, through the replica's own service.
 */
import type { SqlError, SqlResult } from '../../server/src/api/sql.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import {
  MemoryClient,
  type Transaction,
  type TransactionEnd,
} from '../../server/src/replica/testing/memory-client.ts';
import type { MemoryGroup } from '../../server/src/replica/testing/memory-group.ts';

export type SqlAnswer = SqlResult | { readonly error: SqlError };

const word = '([a-z_][a-z0-9_]*)';
const select = new RegExp(`^select\\s+\\*\\s+from\\s+${word}(?:\\s+order\\s+by\\s+\\w+)?$`, 'i');
const insert = new RegExp(`^insert\\s+into\\s+${word}\\s+values\\s*(.+)$`, 'is');
const drop = new RegExp(`^drop\\s+table\\s+${word}$`, 'i');
const row = /^\(\s*'((?:[^']|'')*)'\s*\)\s*(?:,\s*|$)/;

export type Statement =
  | { readonly kind: 'select'; readonly table: string }
  | { readonly kind: 'drop'; readonly table: string }
  | { readonly kind: 'insert'; readonly table: string; readonly values: readonly string[] }
  | { readonly kind: 'other' };

export function readStatement(sql: string): Statement {
  const text = sql.trim().replace(/;$/, '').trim();
  const selected = select.exec(text)?.[1];
  if (selected !== undefined) return { kind: 'select', table: selected };
  const dropped = drop.exec(text)?.[1];
  if (dropped !== undefined) return { kind: 'drop', table: dropped };
  const [, table, rows = ''] = insert.exec(text) ?? [];
  const values = valuesOf(rows);
  return table === undefined || values === null ? { kind: 'other' } : { kind: 'insert', table, values };
}

/** Of rows with one text each; null: they are something else. */
function valuesOf(rows: string): readonly string[] | null {
  const values: string[] = [];
  for (let rest = rows.trim(); rest !== ''; ) {
    const found = row.exec(rest);
    if (found === null) return null;
    values.push(found[1]!.replaceAll("''", "'"));
    rest = rest.slice(found[0].length);
  }
  return values.length === 0 ? null : values;
}

/** Through this replica, as its gateway would: at once if no leader is known. */
export async function runModelSql(group: MemoryGroup, id: ReplicaId, sql: string): Promise<SqlAnswer> {
  const beganMs = group.time.nowMs();
  const { replica, process } = group.member(id);
  if (replica === null || process?.timers.stopped === true) return failure('08006', `${id} does not answer`);
  if (replica.service.service().kind === 'nowhere')
    return failure('57P03', 'no leader is known', {
      hint: 'A majority of the replicas must be up and connected. Try again.',
    });
  const statement = readStatement(sql);
  if (statement.kind === 'other')
    return failure('0A000', 'this is no PostgreSQL but a model of one', {
      hint: "It understands SELECT * FROM a_table, INSERT INTO a_table VALUES ('a text'), ('another') and DROP TABLE a_table.",
    });
  const end = await new MemoryClient(group).transact(transactionOf(statement));
  const durationMs = Math.round((group.time.nowMs() - beganMs) * 10) / 10;
  return answerOf(statement, end, { sql, durationMs });
}

function transactionOf(statement: Exclude<Statement, { kind: 'other' }>): Transaction {
  const { table: key } = statement;
  if (statement.kind === 'select') return { reads: [key], writes: [] };
  if (statement.kind === 'drop') return { reads: [key], writes: [{ key, value: null }] };
  return { reads: [], writes: statement.values.map((value) => ({ key, value })) };
}

function answerOf(
  statement: Exclude<Statement, { kind: 'other' }>,
  end: TransactionEnd,
  { sql, durationMs }: { readonly sql: string; readonly durationMs: number },
): SqlAnswer {
  if (end.kind === 'refused') return failure('57P01', end.reason);
  if (end.kind === 'asked' && end.outcome !== 'committed') {
    return end.outcome === 'notCommitted'
      ? failure('40001', 'the leader went away, and the transaction was not committed')
      : failure('08007', 'the leader went away, and the outcome of the transaction is not known');
  }
  const base = { durationMs, truncated: false, earlier: [] };
  if (statement.kind === 'insert')
    return { ...base, columns: [], rows: [], command: `INSERT 0 ${statement.values.length}` };
  const values = end.kind === 'done' ? end.lists[0]! : [];
  if (values.length === 0) {
    const position = sql.search(new RegExp(`\\b${statement.table}\\b`)) + 1;
    return failure('42P01', `relation "${statement.table}" does not exist`, { position });
  }
  if (statement.kind === 'drop') return { ...base, columns: [], rows: [], command: 'DROP TABLE' };
  const rows = values.map((value, index) => [String(index + 1), value]);
  return { ...base, columns: ['n', 'value'], rows, command: `SELECT ${rows.length}` };
}

function failure(code: string, message: string, more: Partial<SqlError> = {}): SqlAnswer {
  return { error: { code, message, ...more } };
}
