/**
 * Sessions that could not be opened again: their role or their database is gone, renamed, or lets them in no more. They end at all replicas, right behind the request that has brought that about: a replica that is restarted later could not have them.
 */
import type { StatementDatabase } from '../../ports/statement-database.ts';
import type { ClientSession } from './client-session.ts';
import { ownSql } from '../../pgwire/own-sql.ts';

/** A request that says none of these words leaves everybody welcome. */
export const unwelcoming = /\b(?:alter|drop|revoke|reassign)\b/i;

/** A process that is gone was ended by DROP DATABASE ... WITH (FORCE), or by what the next request of its session will tell: only what is there by name decides. */
const question = ownSql(`SELECT number::pg_catalog.text FROM (
    SELECT s.number, r.oid AS role, d.oid AS db, r.rolcanlogin, r.rolsuper, r.rolreplication, d.datallowconn, r.rolconnlimit, d.datconnlimit,
      pg_catalog.row_number() OVER (PARTITION BY s.role ORDER BY s.number) AS of_role, pg_catalog.row_number() OVER (PARTITION BY s.db ORDER BY s.number) AS of_db
    FROM ROWS FROM (pg_catalog.unnest($1::int[]), pg_catalog.unnest($2::pg_catalog.text[]), pg_catalog.unnest($3::pg_catalog.text[]), pg_catalog.unnest($4::bigint[])) AS s (pid, role, db, number)
    LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = s.pid
    LEFT JOIN pg_catalog.pg_roles r ON (a.pid IS NULL OR r.oid = a.usesysid) AND r.rolname = s.role
    LEFT JOIN pg_catalog.pg_database d ON (a.pid IS NULL OR d.oid = a.datid) AND d.datname = s.db
  ) AS known
  WHERE role IS NULL OR db IS NULL OR NOT rolcanlogin OR rolsuper OR rolreplication OR NOT datallowconn
    OR NOT pg_catalog.has_database_privilege(role, db, 'CONNECT')
    OR (rolconnlimit >= 0 AND of_role > rolconnlimit) OR (datconnlimit >= 0 AND of_db > datconnlimit)
  ORDER BY known.number`);

/** Their numbers, in order. */
export async function unwelcomeAmong(
  sessions: Iterable<ClientSession>,
  database: Pick<StatementDatabase, 'query'>,
): Promise<readonly number[]> {
  const all = [...sessions];
  const rows = await database.query(question, [
    all.map(({ connection }) => connection.processId),
    all.map(({ login }) => login.user),
    all.map(({ login }) => login.database),
    all.map(({ number }) => number),
  ]);
  return rows.map((row) => Number(row['number']));
}
