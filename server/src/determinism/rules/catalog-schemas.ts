/**
 * Rows that a statement takes from catalogs which tell schemas: those of temporary schemas have other names at each replica, and other numbers of rows. Where they are written, they have to be left out.
 */
import type { TreeNode } from '../parser.ts';
import type { Refusal } from '../rewriting.ts';
import { constantOf, strings, type Visited, word } from '../tree.ts';

/** Of pg_catalog, without `pg_`. Materialized views and publications have nothing that is temporary. */
const telling = /^pg_(?:namespace|tables|views|indexes|sequences|rules|policies)$/;
const schemaColumns = /^(?:nspname|schemaname|schema_name|[a-z]+_schema)$/;
const writing = new Set([
  'InsertStmt',
  'UpdateStmt',
  'DeleteStmt',
  'MergeStmt',
  'CreateTableAsStmt',
  'into',
  'intoClause',
]);

/** A pattern that temporary schemas match. */
const allOfPostgres = /^\^?\(*pg\\?_(?:$|[%.]|temp|\((?:toast|temp))/;

export class CatalogSchemas {
  private relation: TreeNode | undefined;
  private writes = false;
  private isLimited = false;

  visit({ kind, node }: Visited): void {
    if (writing.has(kind)) this.writes = true;
    else if (kind === 'RangeVar' || kind === 'relation') {
      const schema = word(node, 'schemaname');
      const isPostgres = schema === '' || schema === 'pg_catalog';
      if (schema === 'information_schema' || (isPostgres && telling.test(word(node, 'relname'))))
        this.relation ??= node;
    } else if (kind === 'A_Expr') this.isLimited ||= leavesOutTemporary(node);
  }

  /** Behind the last visit. */
  refusal(): Omit<Refusal, 'kind' | 'sqlstate'> | undefined {
    if (!this.writes || this.isLimited || this.relation === undefined) return undefined;
    return {
      message: `rows of ${word(this.relation, 'relname')} for temporary schemas differ between replicas`,
      hint: "Leave them out: compare the schema with names (= 'public', or NOT LIKE 'pg_%').",
      rule: 'temporary schemas',
      position: Number(this.relation.location ?? 0) + 1,
    };
  }
}

function isSchemaColumn(node: TreeNode | undefined): boolean {
  let inner = node;
  while (inner?.TypeCast !== undefined) inner = (inner.TypeCast as TreeNode).arg as TreeNode | undefined;
  const column = inner?.ColumnRef as TreeNode | undefined;
  return schemaColumns.test(strings(column?.fields).at(-1) ?? '');
}

/** `=` and IN with anything but another column, or NOT LIKE and `!~` with the beginning of PostgreSQL's own names. */
function leavesOutTemporary(node: TreeNode): boolean {
  const [left, right] = [node.lexpr as TreeNode | undefined, node.rexpr as TreeNode | undefined];
  const other = isSchemaColumn(left) ? right : isSchemaColumn(right) ? left : undefined;
  if (other === undefined || other.ColumnRef !== undefined) return false;
  const operator = strings(node.name).at(-1) ?? '';
  if (operator === '=') return true;
  return operator.startsWith('!~') && allOfPostgres.test(constantOf(other) ?? '');
}
