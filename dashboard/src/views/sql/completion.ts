/** What the editor completes: PostgreSQL's keywords, the group's tables, and the columns of those that the text names. */
import type { CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { PostgreSQL, type SQLNamespace, sql } from '@codemirror/lang-sql';
import type { Extension } from '@codemirror/state';
import { columnsMeant, quoted, type SqlTable } from '../../model/sql-tables.ts';

const publicSchema = 'public';

function namespaceOf(tables: readonly SqlTable[]): SQLNamespace {
  const schemas: Record<string, Record<string, readonly string[]>> = {};
  for (const { schema, name, columns } of tables) (schemas[schema] ??= {})[name] = columns;
  return schemas;
}

function columnsAt(context: CompletionContext, tables: readonly SqlTable[]): CompletionResult | null {
  const word = context.matchBefore(/[\w$]+/);
  if (word === null && !context.explicit) return null;
  const from = word?.from ?? context.pos;
  // Behind a dot the table is named, and the language completes it.
  if (context.state.sliceDoc(from - 1, from) === '.') return null;
  const meant = columnsMeant(context.state.doc.toString(), tables);
  if (meant.size === 0) return null;
  const options = [...meant].map(([column, of]) => ({
    label: column,
    apply: quoted(column),
    detail: of.slice(0, 3).join(', '),
    type: 'property',
    boost: 2,
  }));
  return { from, options, validFor: /^[\w$]*$/ };
}

export function sqlLanguage(tables: readonly SqlTable[]): Extension {
  return [
    sql({
      dialect: PostgreSQL,
      schema: namespaceOf(tables),
      defaultSchema: publicSchema,
      upperCaseKeywords: true,
    }),
    PostgreSQL.language.data.of({ autocomplete: (context: CompletionContext) => columnsAt(context, tables) }),
  ];
}
