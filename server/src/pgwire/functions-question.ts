/**
 * What PostgreSQL is asked about the functions of a database's clients: a mark that changes with them and with what uses them, and the functions themselves.
 *
 * Pure. Every client may ask both. Objects in temporary schemas are left out: they end with the session that made them, which hears so.
 */
import { ownSql } from './own-sql.ts';

/** PostgreSQL's own functions that change what a session has, or execute a text that they are given. */
const tellingNames =
  '{set_config,query_to_xml,query_to_xmlschema,query_to_xml_and_xmlschema,ts_stat,ts_rewrite}';
/** All but those that hold a lock up to the end of the transaction. */
const isTelling = ownSql(`(b.proname = ANY ('${tellingNames}'::pg_catalog.name[])
  OR (pg_catalog.strpos(b.proname::pg_catalog.text, 'advisory') > 0 AND pg_catalog.strpos(b.proname::pg_catalog.text, '_xact_') = 0))`);

function isLasting(schema: string): string {
  return ownSql(
    `NOT EXISTS (SELECT FROM pg_catalog.pg_namespace n WHERE n.oid = ${schema} AND pg_catalog.starts_with(n.nspname::pg_catalog.text, 'pg_temp_'))`,
  );
}

function markOf(oid: string, row: string, rest: string): string {
  return `(SELECT pg_catalog.concat_ws('.', pg_catalog.count(*), pg_catalog.sum(pg_catalog.hashtextextended(pg_catalog.concat_ws('.', ${oid}, ${row}.xmin), 0))) FROM ${rest})`;
}

const ofTable = (table: string, relation: string): string =>
  ownSql(
    `pg_catalog.${table} x JOIN pg_catalog.pg_class c ON c.oid = x.${relation} WHERE x.oid >= 16384 AND c.relpersistence <> 't'`,
  );

/** One row of one column, a text. The same text means the same functions, used by the same objects. */
export const functionsMark = ownSql(`SELECT pg_catalog.concat_ws(' ',
  ${markOf('p.oid', 'p', `pg_catalog.pg_proc p WHERE p.oid >= 16384 AND ${isLasting('p.pronamespace')}`)},
  ${markOf('d.objid', 'd', `pg_catalog.pg_depend d WHERE d.refclassid = 1255::pg_catalog.oid AND d.refobjid >= 16384 AND d.classid <> 1255::pg_catalog.oid`)},
  ${markOf('x.oid', 'x', ofTable('pg_rewrite', 'ev_class'))},
  ${markOf('x.oid', 'x', ofTable('pg_attrdef', 'adrelid'))},
  ${markOf('x.oid', 'x', ofTable('pg_policy', 'polrelid'))},
  ${markOf('y.oid', 'y', `pg_catalog.pg_type y WHERE y.typdefaultbin IS NOT NULL AND y.oid >= 16384 AND ${isLasting('y.typnamespace')}`)},
  ${markOf('x.oid', 'x', `pg_catalog.pg_constraint x WHERE x.oid >= 16384 AND x.conbin IS NOT NULL AND ${isLasting('x.connamespace')}`)}) AS mark`);

/** How many they are, and how long their sources. */
export const functionsSize =
  ownSql(`SELECT pg_catalog.count(*)::pg_catalog.int4 AS functions, COALESCE(pg_catalog.sum(pg_catalog.length(p.prosrc)), 0)::pg_catalog.text AS characters
  FROM pg_catalog.pg_proc p WHERE p.oid >= 16384 AND p.prolang <> 13::pg_catalog.oid`);

const tells = ownSql(
  `tells AS (SELECT b.oid, b.proname, pg_catalog.concat(':funcid ', b.oid, ' ') AS mark FROM pg_catalog.pg_proc b WHERE b.oid < 16384 AND ${isTelling})`,
);

/** Whether anything else than a function names one of PostgreSQL's own that tells: a view, a default, a policy, a check. What clients' functions do PostgreSQL writes down, and what its own do it does not. */
export const unnamedTells = ownSql(`WITH ${tells} SELECT EXISTS (SELECT FROM tells b, (
    SELECT x.ev_action::pg_catalog.text AS tree FROM ${ofTable('pg_rewrite', 'ev_class')}
    UNION ALL SELECT x.adbin::pg_catalog.text FROM ${ofTable('pg_attrdef', 'adrelid')}
    UNION ALL SELECT pg_catalog.concat(x.polqual::pg_catalog.text, x.polwithcheck::pg_catalog.text) FROM ${ofTable('pg_policy', 'polrelid')}
    UNION ALL SELECT g.tgqual::pg_catalog.text FROM pg_catalog.pg_trigger g WHERE g.oid >= 16384
    UNION ALL SELECT y.typdefaultbin::pg_catalog.text FROM pg_catalog.pg_type y WHERE y.oid >= 16384
    UNION ALL SELECT x.conbin::pg_catalog.text FROM pg_catalog.pg_constraint x WHERE x.oid >= 16384) t
  WHERE pg_catalog.strpos(t.tree, b.mark) > 0)
  OR EXISTS (SELECT FROM tells b JOIN pg_catalog.pg_depend d ON d.refclassid = 1255::pg_catalog.oid AND d.refobjid = b.oid AND d.classid <> 1255::pg_catalog.oid)
  OR EXISTS (SELECT FROM tells b JOIN pg_catalog.pg_operator o ON o.oid >= 16384 AND o.oprcode::pg_catalog.oid = b.oid)
  OR EXISTS (SELECT FROM tells b JOIN pg_catalog.pg_cast a ON a.oid >= 16384 AND a.castfunc = b.oid) AS tells`);

/**
 * A row for each that is not written in C: its name, its language, its source, whether something else than a function uses it, and the names of functions that PostgreSQL knows it to call (in a body or a default of an argument that is not
 * a string; as parts of an aggregate), its own that tell among them.
 */
export const clientFunctions =
  ownSql(`WITH ${tells} SELECT p.proname::pg_catalog.text AS name, l.lanname::pg_catalog.text AS language, p.prosrc AS source,
    EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.refclassid = 1255::pg_catalog.oid AND d.refobjid = p.oid AND d.classid <> 1255::pg_catalog.oid) AS "isUsed",
    ARRAY(SELECT q.proname::pg_catalog.text FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_proc q ON q.oid = d.refobjid
      WHERE d.classid = 1255::pg_catalog.oid AND d.objid = p.oid AND d.refclassid = 1255::pg_catalog.oid
      UNION ALL SELECT b.proname::pg_catalog.text FROM tells b
        WHERE pg_catalog.strpos(pg_catalog.concat(p.prosqlbody::pg_catalog.text, p.proargdefaults::pg_catalog.text), b.mark) > 0
      UNION ALL SELECT b.proname::pg_catalog.text FROM tells b JOIN pg_catalog.pg_aggregate a
        ON b.oid = ANY (ARRAY[a.aggtransfn::pg_catalog.oid, a.aggfinalfn::pg_catalog.oid, a.aggmtransfn::pg_catalog.oid, a.aggminvtransfn::pg_catalog.oid, a.aggmfinalfn::pg_catalog.oid])
        WHERE a.aggfnoid::pg_catalog.oid = p.oid) AS calls
  FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_language l ON l.oid = p.prolang
  WHERE p.oid >= 16384 AND p.prolang <> 13::pg_catalog.oid AND ${isLasting('p.pronamespace')}`);
