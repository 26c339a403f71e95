/**
 * SQL of Barista's own sessions, with its operators qualified: `=` becomes OPERATOR(pg_catalog.=), as PostgreSQL's own tools send it.
 *
 * Functions, types and relations are qualified where they are written. Invariant: what is within quotes stays as it is.
 */

/** Quoted texts and names, operators that have their schema, and then those that get it: with blanks around them, so that neither `*` for all columns nor a sign is taken for one. */
const token =
  /E?'(?:[^'\\]|''|\\.)*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|OPERATOR\([^)]*\)|(?<=\s)(?:=|<>|<=|>=|<|>|\+|-|\|\||%)(?=\s)/g;
const operators: ReadonlySet<string> = new Set(['=', '<>', '<=', '>=', '<', '>', '+', '-', '||', '%']);

/**
 * `text` must not hold UPDATE or SET. So written, all operators bind alike, from left to right: arithmetic beside a comparison needs parentheses. What looks up an operator without writing it down
 * (IN, LIKE, BETWEEN, IS DISTINCT FROM, NULLIF, CASE with a value) has another form: the recorder's test fails on these.
 */
export function ownSql(text: string): string {
  return text.replaceAll(token, (found) => (operators.has(found) ? `OPERATOR(pg_catalog.${found})` : found));
}
