/**
 * SQL of Barista's own sessions, with its operators qualified: `=` becomes OPERATOR(pg_catalog.=), as PostgreSQL's own tools send it.
 *
 * Functions, types and relations are qualified where they are written. Invariant: what is within quotes stays as it is.
 */

/** With blanks around them, so that neither `*` for all columns nor a sign is taken for one. */
const operator = /(?<=\s)(?:=|<>|<=|>=|<|>|\+|-|\|\||%)(?=\s)/g;

/**
 * `text` must not hold UPDATE or SET, nor a quote behind a backslash. So written, all operators bind alike, from left to right: arithmetic beside a comparison needs parentheses. What looks up an operator
 * without writing it down (IN, LIKE, BETWEEN, IS DISTINCT FROM, NULLIF, CASE with a value) has another form: the recorder's test fails on these.
 */
export function ownSql(text: string): string {
  const parts = text.split("'");
  const isQuoted = (index: number): boolean => index % 2 === 1;
  return parts
    .map((part, index) => (isQuoted(index) ? part : part.replaceAll(operator, 'OPERATOR(pg_catalog.$&)')))
    .join("'");
}
