/**
 * Which relations of a database are compared, and how each of them is read: one query over the catalogs. Pure.
 *
 * A SELECT from a client's table would run the client's code as the superuser: when PostgreSQL plans it, it evaluates the constant parts of the expressions of indexes and statistics. COPY of a table plans nothing,
 * and calls only the functions that bring values of the columns' types to bytes, which are PostgreSQL's own or an extension's. So tables are copied, those with generated columns without these, which COPY refuses
 * (what is stored of them is named as not compared), and materialized views where COPY takes them, from version 18 on.
 *
 * - The format is the binary one, which has names of other objects (regclass) as numbers; the text format where a type has no other.
 * - What a value comes to may depend on how its type is defined now, not in the snapshot: the labels of an enum, the columns of a composite type. So each relation has a `state`, of itself and of all types within its
 *   columns, which changes with each change of them, even if it is taken back.
 * - Rights in the catalogs have no binary format, and in the text format the names that roles have now. They are selected, with the ids of roles. Nobody but the superuser can make indexes of catalogs.
 * - Left out are columns that PostgreSQL changes in place, whatever the snapshot, and values of statistics, which have types of their own.
 */

import { ownSql } from '../../../pgwire/own-sql.ts';
import { hashSql } from './type-traits.ts';

/** A row of the query. */
export interface RelationRow {
  readonly oid: string;
  readonly isShared: boolean;
  /** With its schema, in the database's encoding. */
  readonly name: Buffer;
  /** What COPY is told to read, in the database's encoding. */
  readonly source: Buffer;
  /** Null: it cannot be compared, for `reason`. */
  readonly format: 'binary' | 'text' | null;
  readonly reason: string;
  /** It has generated columns that are stored. */
  readonly hasGenerated: boolean;
  readonly state: string;
  /** The files that hold its rows and their long values, as they are now if `isMapped`: then they are in no catalog. */
  readonly storage: string;
  readonly isMapped: boolean;
  /** As far as it is known. */
  readonly pages: number;
}

const changedInPlace: Readonly<Record<string, readonly string[]>> = {
  pg_class: [
    'relpages',
    'reltuples',
    'relallvisible',
    'relallfrozen',
    'relhasindex',
    'relhasrules',
    'relhastriggers',
    'relfrozenxid',
    'relminmxid',
  ],
  pg_database: ['datfrozenxid', 'datminmxid', 'datconnlimit', 'dathasloginevt'],
};

const isChangedInPlace = Object.entries(changedInPlace)
  .map(
    ([table, columns]) =>
      `(a.attrelid = 'pg_catalog.${table}'::pg_catalog.regclass AND a.attname = ANY ('{${columns.join(',')}}'::pg_catalog.name[]))`,
  )
  .join(' OR ');

const fileOf = (relation: string): string =>
  `CASE WHEN ${relation}.relfilenode = 0 THEN pg_catalog.pg_relation_filenode(${relation}.oid) ELSE ${relation}.relfilenode END`;

const storage = `pg_catalog.concat(${fileOf('c')}, '/', ${fileOf('l')})`;
const withLongValues = 'LEFT JOIN pg_catalog.pg_class l ON l.oid = c.reltoastrelid';
const inDatabasesEncoding = (text: string): string =>
  `pg_catalog.convert_to(${text}, pg_catalog.getdatabaseencoding())`;

/** Of relations whose files are in no catalog, and so in no snapshot: `oid` and `storage`. */
export const mappedStorageSql = ownSql(`SELECT c.oid::pg_catalog.text AS oid, ${storage} AS storage
  FROM pg_catalog.pg_class c ${withLongValues} WHERE c.relfilenode = 0 AND c.relkind = 'r'`);

/** A table that is in this database's catalog, and has its rows on other servers. */
export interface ElsewhereRow {
  readonly oid: string;
  readonly name: Buffer;
}

/** Whether Citus is here. Nobody but a superuser makes a table in this schema. */
export const hasDistributedSql = `SELECT pg_catalog.to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS is`;

export const elsewhereSql = (hasDistributed: boolean): string =>
  ownSql(`SELECT c.oid::pg_catalog.text AS oid, ${inDatabasesEncoding("pg_catalog.concat(pg_catalog.quote_ident(n.nspname), '.', pg_catalog.quote_ident(c.relname))")} AS name
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind = 'f'${
    hasDistributed
      ? ' OR EXISTS (SELECT FROM pg_catalog.pg_dist_partition d WHERE d.logicalrelid::pg_catalog.oid = c.oid)'
      : ''
  }`);

/** With `$1`: an array of oids, or null for all; `$2` to `$6`: what is known of types (type-traits.ts). */
export const relationsSql = ownSql(`WITH relation AS MATERIALIZED (
    SELECT c.oid, n.nspname, c.relname, c.relkind, c.relisshared, c.relfilenode = 0 AS mapped, ${storage} AS storage, pg_catalog.concat_ws(' ', c.xmin, n.xmin) AS version,
      greatest(c.relpages, 0) + greatest(l.relpages, 0) AS pages
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace ${withLongValues}
    WHERE (c.relkind = 'r' OR c.relkind = 'm') AND c.relpersistence = 'p' AND c.relispopulated AND ($1::pg_catalog.oid[] IS NULL OR c.oid = ANY ($1::pg_catalog.oid[]))
  ), field AS MATERIALIZED (
    SELECT a.attrelid, a.attnum, a.attname, a.atttypid, a.xmin AS version, a.attgenerated = 's' AS generated, a.attgenerated = '' AND NOT (${isChangedInPlace}) AS wanted
    FROM relation JOIN pg_catalog.pg_attribute a ON a.attrelid = relation.oid
    WHERE a.attnum > 0 AND NOT a.attisdropped
  ), trait AS MATERIALIZED (
    SELECT * FROM ROWS FROM (pg_catalog.unnest($2::pg_catalog.oid[]), pg_catalog.unnest($3::pg_catalog.bool[]), pg_catalog.unnest($4::pg_catalog.bool[]), pg_catalog.unnest($5::pg_catalog.bool[]), pg_catalog.unnest($6::pg_catalog.text[]))
      AS known (root, is_pseudo, has_text_only, has_names, state)
  ), described AS (
    SELECT relation.oid, relation.nspname, relation.relname, relation.relkind, relation.relisshared, relation.mapped, relation.storage, relation.pages,
      pg_catalog.concat(pg_catalog.quote_ident(relation.nspname), '.', pg_catalog.quote_ident(relation.relname)) AS name,
      coalesce(pg_catalog.bool_or(trait.has_text_only) FILTER (WHERE used), false) AS has_text_only,
      coalesce(pg_catalog.bool_or(trait.has_names) FILTER (WHERE used), false) AS has_names,
      coalesce(pg_catalog.bool_or(field.generated), false) AS has_generated,
      pg_catalog.string_agg(pg_catalog.quote_ident(field.attname), ', ' ORDER BY field.attnum) FILTER (WHERE used) AS columns,
      pg_catalog.string_agg(CASE WHEN trait.has_text_only
        THEN pg_catalog.concat('(SELECT pg_catalog.concat(x.', field.attname, ' IS NULL, pg_catalog.string_agg(pg_catalog.concat_ws('':'', e.grantor, e.grantee, e.privilege_type, e.is_grantable), '','')) FROM pg_catalog.aclexplode(x.', field.attname, ') e)')
        ELSE pg_catalog.concat('x.', pg_catalog.quote_ident(field.attname)) END, ', ' ORDER BY field.attnum) FILTER (WHERE used) AS expressions,
      ${hashSql(
        'relation.version',
        `pg_catalog.sum(${hashSql('field.attnum', 'field.version', 'field.attname', 'field.atttypid', 'trait.state')})`,
      )} AS state
    FROM relation LEFT JOIN field ON field.attrelid = relation.oid LEFT JOIN trait ON trait.root = field.atttypid
      CROSS JOIN LATERAL (SELECT field.wanted AND NOT trait.is_pseudo AS used) u
    GROUP BY relation.oid, relation.nspname, relation.relname, relation.relkind, relation.relisshared, relation.mapped, relation.storage, relation.version, relation.pages
  ), judged AS (
    SELECT *, nspname = 'pg_catalog' AND has_text_only AS is_selected, CASE
      WHEN relkind = 'm' AND pg_catalog.current_setting('server_version_num')::pg_catalog.int4 < 180000 THEN 'materialized views are compared from PostgreSQL 18 on'
      WHEN has_text_only AND has_names AND nspname <> 'pg_catalog' THEN 'it holds names of other objects beside values that have no binary format'
      ELSE '' END AS reason
    FROM described
  )
  SELECT oid::pg_catalog.text AS oid, relisshared AS "isShared", ${inDatabasesEncoding('name')} AS name,
    ${inDatabasesEncoding(`CASE WHEN is_selected THEN pg_catalog.concat('(SELECT ', expressions, ' FROM ONLY ', name, ' x)')
      ELSE pg_catalog.concat(name, ' (' || columns || ')') END`)} AS source,
    CASE WHEN reason <> '' THEN NULL WHEN has_text_only AND NOT is_selected THEN 'text' ELSE 'binary' END AS format,
    reason, has_generated AS "hasGenerated", state::pg_catalog.text AS state, storage, mapped AS "isMapped", pages
  FROM judged ORDER BY oid`);
