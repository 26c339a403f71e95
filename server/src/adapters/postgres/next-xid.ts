/** The next transaction id of a PostgreSQL. */
import { ownSql } from '../../pgwire/own-sql.ts';

/**
 * As SQL, of type text. The end of a snapshot alone is too low where a transaction is open or prepared, and none with a higher id has ended: the age of an id is counted from the next one.
 */
export const nextXidSql = ownSql(`(
  SELECT (xmax::pg_catalog.text::numeric + pg_catalog.age((xmax::pg_catalog.text::numeric % 4294967296)::pg_catalog.text::pg_catalog.xid))::pg_catalog.text
  FROM pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot()) AS xmax
)`);
