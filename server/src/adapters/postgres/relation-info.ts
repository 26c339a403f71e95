/**
 * What the applier must know of a table: its columns, how to find a row again, and whether writing to it runs code of a client.
 *
 * A row is found by the primary key, else by a unique index that is whole (not partial, no expressions, not deferrable) over columns
 * that are never null; else by the text of the whole row. Read from the catalog, kept by the applier until the next DDL.
 *
 * Code of a client may name functions without their schema, and which search_path the leader's session had is not known here: the
 * owner's usual one comes first, then every other schema, so that whatever the leader found is found.
 */
import type { Client } from 'pg';
import { quoteIdentifier } from './pg-client.ts';

export interface Column {
  readonly name: string;
  /** Computed by PostgreSQL, on every replica alike. */
  readonly generated: boolean;
  /** GENERATED ALWAYS AS IDENTITY: may be inserted with OVERRIDING SYSTEM VALUE, never updated. */
  readonly identityAlways: boolean;
}

export interface KeyColumn {
  /** Index into `columns`. */
  readonly column: number;
  /** The key's own equality, such as `OPERATOR("pg_catalog".=)`. */
  readonly equals: string;
}

export interface RelationInfo {
  readonly oid: number;
  /** Schema-qualified and quoted. */
  readonly name: string;
  readonly owner: string;
  /** Those that are not dropped, in order: the fields of a row's text. */
  readonly columns: readonly Column[];
  /** Null: no key. */
  readonly key: readonly KeyColumn[] | null;
  /** The topmost table that this one is a partition of, or itself. */
  readonly root: number;
  /** Tables with CHECK constraints that look at more than the row, such as the clock; they held on the leader, and that counts. */
  readonly uncheckable: readonly number[];
  /** Domains, checks, expression indexes...: a client's functions may run, and must not run as the superuser. */
  readonly runsClientCode: boolean;
  /** For that code: where names without a schema are looked up. */
  readonly searchPath: string;
}

const infoSql = `
WITH rel AS (
  SELECT c.oid, c.relowner, n.nspname, c.relname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.oid = to_regclass($1) AND c.relkind IN ('r', 'p')
), members AS (
  SELECT oid FROM rel UNION SELECT relid FROM rel, pg_partition_tree(rel.oid)
), live AS (
  SELECT a.*, row_number() OVER (ORDER BY a.attnum) - 1 AS position FROM pg_attribute a JOIN rel ON a.attrelid = rel.oid
  WHERE a.attnum > 0 AND NOT a.attisdropped
), key AS (
  SELECT i.indexrelid, i.indkey, i.indclass, i.indnkeyatts FROM pg_index i JOIN rel ON i.indrelid = rel.oid
    JOIN pg_class ic ON ic.oid = i.indexrelid JOIN pg_am am ON am.oid = ic.relam
  WHERE i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND am.amname = 'btree'
    AND (SELECT bool_and(l.attnotnull) FROM live l WHERE l.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]))
  ORDER BY i.indisprimary DESC, i.indnkeyatts, i.indexrelid LIMIT 1
), default_path AS (
  SELECT coalesce((
    SELECT substr(line, 13) FROM rel JOIN pg_db_role_setting s ON s.setrole = rel.relowner
        AND s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database())), unnest(s.setconfig) line
    WHERE line LIKE 'search_path=%' ORDER BY s.setdatabase DESC LIMIT 1
  ), (SELECT reset_val FROM pg_settings WHERE name = 'search_path')) AS path
), trees AS (
  SELECT conbin::text AS tree FROM pg_constraint JOIN members ON conrelid = members.oid WHERE contype = 'c'
  UNION ALL SELECT indexprs::text FROM pg_index JOIN members ON indrelid = members.oid WHERE indexprs IS NOT NULL
  UNION ALL SELECT indpred::text FROM pg_index JOIN members ON indrelid = members.oid WHERE indpred IS NOT NULL
  UNION ALL SELECT partexprs::text FROM pg_partitioned_table JOIN members ON partrelid = members.oid WHERE partexprs IS NOT NULL
  UNION ALL SELECT d.adbin::text FROM pg_attrdef d JOIN members ON d.adrelid = members.oid
    JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE a.attgenerated <> ''
)
SELECT rel.oid::int8::text AS oid, rel.nspname, rel.relname, pg_get_userbyid(rel.relowner) AS owner,
  (SELECT coalesce(json_agg(json_build_object('name', attname, 'generated', attgenerated <> '', 'identityAlways', attidentity = 'a')
    ORDER BY attnum), '[]') FROM live) AS columns,
  (SELECT json_agg(json_build_object('column', l.position, 'operator', o.oprname, 'schema', n.nspname) ORDER BY k.i)
    FROM key CROSS JOIN LATERAL generate_series(0, key.indnkeyatts - 1) AS k(i)
      JOIN live l ON l.attnum = key.indkey[k.i] JOIN pg_opclass oc ON oc.oid = key.indclass[k.i]
      JOIN pg_amop ao ON ao.amopfamily = oc.opcfamily AND ao.amopstrategy = 3
        AND ao.amoplefttype = oc.opcintype AND ao.amoprighttype = oc.opcintype
      JOIN pg_operator o ON o.oid = ao.amopopr JOIN pg_namespace n ON n.oid = o.oprnamespace) AS key,
  EXISTS (
    SELECT FROM live l JOIN pg_type t ON t.oid = l.atttypid LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
    WHERE coalesce(e.typtype, t.typtype) NOT IN ('b', 'e') AND coalesce(e.oid, t.oid) >= 16384)
  OR EXISTS (
    SELECT FROM trees WHERE tree ~ 'COERCEVIAIO|ROWCOMPARE|COERCETODOMAIN|SQLVALUEFUNCTION|XMLEXPR' OR EXISTS (
      SELECT FROM regexp_matches(tree, ':(?:funcid|opfuncid) (\\d+)', 'g') m
      WHERE NOT EXISTS (SELECT FROM pg_proc p WHERE p.oid = m[1]::oid AND p.oid < 16384 AND p.provolatile = 'i')))
  AS runs_client_code,
  (SELECT concat_ws(', ', nullif(d.path, ''), quote_ident(rel.nspname), (
      SELECT string_agg(quote_ident(n.nspname), ', ' ORDER BY n.nspname) FROM pg_namespace n
      WHERE n.nspname !~ '^pg_' AND n.nspname NOT IN ('_barista', 'information_schema')), 'pg_temp') FROM default_path d) AS search_path,
  coalesce(pg_partition_root(rel.oid), rel.oid)::int8::text AS root,
  (SELECT coalesce(json_agg(DISTINCT k.conrelid::int8), '[]') FROM pg_constraint k JOIN members ON k.conrelid = members.oid
    WHERE k.contype = 'c' AND _barista.is_mutable(k.conbin::text)) AS uncheckable
FROM rel`;

interface InfoRow {
  readonly oid: string;
  readonly nspname: string;
  readonly relname: string;
  readonly owner: string;
  readonly columns: readonly Column[];
  readonly key:
    | readonly { readonly column: number; readonly operator: string; readonly schema: string }[]
    | null;
  readonly runs_client_code: boolean;
  readonly search_path: string;
  readonly root: string;
  readonly uncheckable: readonly number[];
}

/** Null if there is no such table. */
export async function readRelation(client: Client, relation: string): Promise<RelationInfo | null> {
  const result = await client.query<InfoRow>(infoSql, [relation]);
  const row = result.rows[0];
  if (row === undefined) return null;
  return {
    oid: Number(row.oid),
    name: `${quoteIdentifier(row.nspname)}.${quoteIdentifier(row.relname)}`,
    owner: row.owner,
    columns: row.columns,
    key:
      row.key?.map(({ column, operator, schema }) => ({
        column,
        equals: `OPERATOR(${quoteIdentifier(schema)}.${operator})`,
      })) ?? null,
    root: Number(row.root),
    uncheckable: row.uncheckable,
    runsClientCode: row.runs_client_code,
    searchPath: row.search_path,
  };
}
