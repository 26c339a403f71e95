/**
 * The SQL that puts many rows of one table into place at once. Pure: text from a RelationInfo.
 *
 * Rows come as one text parameter, an array of the table's own row type: PostgreSQL reads them by the types' input functions and
 * no cast of a client is ever looked up. They may run under a client's search_path, so functions have their schema.
 */
import { quoteIdentifier } from './pg-client.ts';
import type { RelationInfo } from './relation-info.ts';

export type RowStatementKind = 'insert' | 'update' | 'delete';

/** `update`: $1 rows before, $2 rows after. `insert` and `delete`: $1 rows. */
export function rowStatement(info: RelationInfo, kind: RowStatementKind): string {
  if (kind === 'insert') return insertStatement(info);
  if (kind === 'update') return updateStatement(info);
  return info.key === null ? deleteByTextStatement(info) : deleteByKeyStatement(info);
}

/** A table that may be updated row by row: it has a key, and a column that can be set. */
export function canUpdate(info: RelationInfo): boolean {
  return info.key !== null && info.columns.some((column) => !column.generated && !column.identityAlways);
}

const aliases = (info: RelationInfo, letter: string): string =>
  info.columns.map((_, i) => `${letter}${i}`).join(', ');
const column = (info: RelationInfo, i: number): string => quoteIdentifier(info.columns[i]?.name ?? '');
/** Indexes of the columns that are written. */
const written = (info: RelationInfo): number[] =>
  info.columns.flatMap((entry, i) => (entry.generated ? [] : [i]));

/** The text of what is written of a row: stored (`t`), or given as `x`. */
const storedText = (info: RelationInfo): string =>
  `pg_catalog.concat(ROW(${written(info)
    .map((i) => `t.${column(info, i)}`)
    .join(', ')}))`;
const givenText = (info: RelationInfo): string =>
  `pg_catalog.concat(ROW(${written(info)
    .map((i) => `x.b${i}`)
    .join(', ')}))`;

/**
 * Found by its key, and then it must be the very row that changed on the leader: else this replica differs from the others, or the
 * change belongs after one that is yet to come (see net-rows.ts).
 */
const sameRow = (info: RelationInfo): string =>
  [
    ...(info.key ?? []).map((key) => `t.${column(info, key.column)} ${key.equals} x.b${key.column}`),
    `${storedText(info)} = ${givenText(info)}`,
  ].join(' AND ');

function insertStatement(info: RelationInfo): string {
  const target = written(info);
  if (target.length === 0) {
    return `INSERT INTO ${info.name} SELECT FROM pg_catalog.unnest($1::text[])`;
  }
  const names = target.map((i) => column(info, i)).join(', ');
  const values = target.map((i) => `x.a${i}`).join(', ');
  return `INSERT INTO ${info.name} (${names}) OVERRIDING SYSTEM VALUE SELECT ${values} FROM pg_catalog.unnest($1::${info.name}[]) AS x(${aliases(info, 'a')})`;
}

function updateStatement(info: RelationInfo): string {
  const assignments = written(info)
    .filter((i) => info.columns[i]?.identityAlways !== true)
    .map((i) => `${column(info, i)} = x.a${i}`)
    .join(', ');
  return (
    `UPDATE ${info.name} t SET ${assignments} FROM ROWS FROM (pg_catalog.unnest($1::${info.name}[]), pg_catalog.unnest($2::${info.name}[])) ` +
    `AS x(${aliases(info, 'b')}, ${aliases(info, 'a')}) WHERE ${sameRow(info)}`
  );
}

function deleteByKeyStatement(info: RelationInfo): string {
  return `DELETE FROM ${info.name} t USING pg_catalog.unnest($1::${info.name}[]) AS x(${aliases(info, 'b')}) WHERE ${sameRow(info)}`;
}

/** As many of the rows with the same text as are asked for, no matter which: they are all alike. */
function deleteByTextStatement(info: RelationInfo): string {
  const rows =
    info.columns.length === 0
      ? 'pg_catalog.unnest($1::text[]) AS x'
      : `pg_catalog.unnest($1::${info.name}[]) AS x(${aliases(info, 'b')})`;
  return (
    `WITH want AS MATERIALIZED (SELECT ${givenText(info)} AS r, pg_catalog.count(*) AS n FROM ${rows} GROUP BY 1), ` +
    `have AS MATERIALIZED (SELECT t.tableoid AS o, t.ctid AS c, w.n, pg_catalog.row_number() OVER (PARTITION BY w.r ORDER BY t.tableoid, t.ctid) AS i ` +
    `FROM ${info.name} t JOIN want w ON ${storedText(info)} = w.r) ` +
    `DELETE FROM ${info.name} t USING have h WHERE t.tableoid = h.o AND t.ctid = h.c AND h.i <= h.n`
  );
}

/** PostgreSQL's text of an array whose elements are these texts. */
export function arrayLiteral(elements: readonly string[]): string {
  return `{${elements.map((element) => `"${element.replace(/[\\"]/g, '\\$&')}"`).join(',')}}`;
}
