/** The next transaction id of a PostgreSQL. */

/**
 * As SQL, of type text. The end of a snapshot alone is too low where a transaction is open or prepared, and none with a higher id has ended: the age of an id is counted from the next one.
 */
export const nextXidSql = `(
  SELECT (xmax::text::numeric + age((xmax::text::numeric % 4294967296)::text::xid))::text
  FROM pg_snapshot_xmax(pg_current_snapshot()) AS xmax
)`;
