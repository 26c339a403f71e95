/**
 * The tables of the group and their columns, for completing SQL: the question that asks for them, what its answer says, which columns a text is likely to mean, and when to ask again. Pure.
 *
 * Keeps: at most `columnsMax` columns; a database that has more is completed in part.
 */
import type { SqlResult } from '../../../server/src/api/sql.ts';

const columnsMax = 4000;

export interface SqlTable {
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly string[];
}

export const tablesQuestion = `SELECT table_schema, table_name, column_name FROM information_schema.columns
WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
ORDER BY table_schema, table_name, ordinal_position LIMIT ${columnsMax}`;

export function tablesIn({ rows }: Pick<SqlResult, 'rows'>): readonly SqlTable[] {
  const tables: { schema: string; name: string; columns: string[] }[] = [];
  for (const [schema, name, column] of rows.slice(0, columnsMax)) {
    if (schema == null || name == null || column == null) continue;
    const last = tables.at(-1);
    if (last?.schema === schema && last.name === name) last.columns.push(column);
    else tables.push({ schema, name, columns: [column] });
  }
  return tables;
}

/** Whether what was run may have made other tables of them: by PostgreSQL's command tags. */
export function changesTables(result: Pick<SqlResult, 'command' | 'earlier'>): boolean {
  return [...result.earlier, result].some(({ command }) =>
    /^(CREATE|ALTER|DROP|SELECT INTO|DO\b)/.test(command),
  );
}

/** Columns of the tables that the text names, each once, with the tables that have it. */
export function columnsMeant(
  text: string,
  tables: readonly SqlTable[],
): ReadonlyMap<string, readonly string[]> {
  const words = new Set(text.toLowerCase().match(/[\p{L}_][\p{L}\p{N}_$]*/gu));
  const meant = new Map<string, string[]>();
  for (const { name, columns } of tables) {
    if (!words.has(name.toLowerCase())) continue;
    for (const column of columns) {
      const of = meant.get(column);
      if (of === undefined) meant.set(column, [name]);
      else if (!of.includes(name)) of.push(name);
    }
  }
  return meant;
}

/** As PostgreSQL reads it: in quotes unless it is lower case without anything special. */
export function quoted(name: string): string {
  return /^[a-z_][a-z0-9_$]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
