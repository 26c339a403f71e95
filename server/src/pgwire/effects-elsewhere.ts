/**
 * Whether a session may change anything that is not in the rows of its own database: then it tells nothing that its transaction is not committed there.
 *
 * Pure: the question that PostgreSQL is asked. Every client may ask it. It is answered from what the database has, never from what a session did: foreign data wrappers, code that PostgreSQL
 * cannot confine, and every extension that is not known to act on local data alone.
 */

import { ownSql } from './own-sql.ts';

/** They change nothing but data of their own database, with the transaction. */
const localExtensions = [
  'amcheck autoinc bloom btree_gin btree_gist citext cube dict_int dict_xsyn earthdistance fuzzystrmatch hstore hstore_plperl insert_username intagg intarray isn',
  'jsonb_plperl lo ltree moddatetime pageinspect pg_buffercache pg_freespacemap pg_prewarm pg_stat_statements pg_trgm pg_visibility pg_walinspect pgcrypto pgrowlocks pgstattuple',
  'plperl plpgsql pltcl refint seg sslinfo tablefunc tcn tsm_system_rows tsm_system_time unaccent uuid-ossp vector xml2',
].flatMap((line) => line.split(' '));

/** The setting by which an operator, a role or a client says so itself. */
export const effectsSetting = 'barista.effects_elsewhere';

const firstUserOid = 16_384;
const procedures = 1255;
const languageC = 13;

/** One row of one column: `t` or `f`. `role`: an expression of SQL for the name of the role that logged in. */
export function effectsElsewhere(role: string): string {
  return `SELECT (
  COALESCE(pg_catalog.lower(pg_catalog.current_setting('${effectsSetting}', true)), '') OPERATOR(pg_catalog.<>) ALL ('{"",off,of,false,f,no,n,0}'::pg_catalog.text[])
  OR EXISTS (SELECT FROM pg_catalog.pg_db_role_setting s CROSS JOIN LATERAL pg_catalog.unnest(s.setconfig) c
    WHERE s.setdatabase OPERATOR(pg_catalog.=) ANY (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database() UNION ALL SELECT 0::pg_catalog.oid)
    AND s.setrole OPERATOR(pg_catalog.=) ANY (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname OPERATOR(pg_catalog.=) ${role} UNION ALL SELECT 0::pg_catalog.oid)
    AND pg_catalog.lower(c) OPERATOR(pg_catalog.~) '^barista[.]effects_elsewhere=(?!(off|of|false|f|no|n|0|)$)')
  OR EXISTS (SELECT FROM pg_catalog.pg_foreign_data_wrapper)
  OR EXISTS (SELECT FROM pg_catalog.pg_extension e WHERE e.extname OPERATOR(pg_catalog.<>) ALL ('{${localExtensions.map((name) => `"${name}"`).join()}}'::pg_catalog.name[]))
  OR EXISTS (SELECT FROM pg_catalog.pg_language l WHERE NOT l.lanpltrusted AND l.lanname OPERATOR(pg_catalog.<>) ALL ('{internal,c}'::pg_catalog.name[]))
  OR EXISTS (SELECT FROM pg_catalog.pg_proc p WHERE p.prolang OPERATOR(pg_catalog.=) ${languageC}::pg_catalog.oid AND p.oid OPERATOR(pg_catalog.>=) ${firstUserOid}::pg_catalog.oid
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend m WHERE m.classid OPERATOR(pg_catalog.=) ${procedures}::pg_catalog.oid AND m.objid OPERATOR(pg_catalog.=) p.oid
      AND m.deptype OPERATOR(pg_catalog.=) 'e'::pg_catalog."char"))
)`;
}

const roleNow =
  ownSql(`SELECT a.rolname FROM pg_catalog.pg_authid a CROSS JOIN pg_catalog.pg_database b WHERE b.datname = pg_catalog.current_database()
  AND CASE WHEN $2::pg_catalog.text IS NULL THEN a.rolname = $1::pg_catalog.name ELSE pg_catalog.concat_ws(':', a.oid, b.oid) = $2 END`);

/** The same of a session of somebody else's, for the superuser. `$1`: its role's name, which counts only where `$2`, the object ids of its role and database, is null. True as well where there is no such role, or the database is another one. */
export const effectsOfSession = `SELECT NOT EXISTS (${roleNow}) OR (${effectsElsewhere(`(${roleNow})`)}) AS acts`;
