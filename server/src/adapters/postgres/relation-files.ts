/**
 * Which files the relations of a database have, as its catalog and the file system say, and what is wrong with one by that.
 *
 * Not of temporary and unlogged relations, which are made anew.
 */
import type { Client } from 'pg';
import { ownSql } from '../../pgwire/own-sql.ts';
import { pageBytes } from './copy/page.ts';

/** At once. */
export const relationsMax = 500;

/**
 * Relations with an oid above $1 that have a file of their own. A part that is missing has no size. No catalog is empty without whose rows no session begins, no sequence, and no valid index: each has a page from the beginning. (One
 * that CREATE INDEX CONCURRENTLY makes is empty while that waits for others, and for good if it fails then.) A table may be.
 */
const relationsSql =
  ownSql(`SELECT c.oid::pg_catalog.int8::pg_catalog.text AS oid, pg_catalog.pg_relation_filepath(c.oid) AS path,
    (pg_catalog.pg_stat_file(pg_catalog.pg_relation_filepath(c.oid), true)).size::pg_catalog.text AS size, c.relpages AS pages,
    c.relkind = ANY ('{r,t,m}'::pg_catalog."char"[]) AS "isTable", c.oid::pg_catalog.regclass::pg_catalog.text AS name,
    c.relkind = 'S' OR coalesce(i.indisvalid, false)
      OR c.relname = ANY ('{pg_class,pg_attribute,pg_proc,pg_type,pg_operator,pg_opclass,pg_am,pg_authid,pg_database,pg_namespace,pg_tablespace}'::pg_catalog.name[])
      AND c.relnamespace = 11 AS "hasPages",
    EXISTS (SELECT FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class xc ON xc.oid = x.indexrelid
      WHERE x.indrelid = c.oid AND x.indisvalid AND x.indisready AND x.indpred IS NULL AND xc.relam = ANY ('{403,783,2742,4000}'::pg_catalog.oid[])) AS "areRowsIndexed"
  FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
  WHERE c.oid > $1::pg_catalog.text::pg_catalog.oid AND c.relkind = ANY ('{r,i,t,m,S}'::pg_catalog."char"[]) AND c.relpersistence = 'p'
  ORDER BY c.oid LIMIT ${relationsMax}`);

export interface RelationFile {
  readonly oid: string;
  readonly name: string;
  /** Null: it has none. */
  readonly path: string | null;
  /** Of its first file, in bytes; null: the file is not there. */
  readonly size: string | null;
  /** When it was last vacuumed or analysed; 0 or less: that is not known. */
  readonly pages: number;
  readonly isTable: boolean;
  readonly hasPages: boolean;
  /** An index of a kind that is compared with its rows (backup/check-entries.ts) names each of them. */
  readonly areRowsIndexed: boolean;
}

/** The next ones above this oid. @throws Error of PostgreSQL */
export async function listRelationFiles(client: Client, above: string): Promise<readonly RelationFile[]> {
  const { rows } = await client.query<RelationFile>(relationsSql, [above]);
  return rows;
}

/** Null: it is there, and holds something if it has to. */
export function lackOf({ path, size, hasPages }: RelationFile): string | null {
  if (path === null) return null;
  if (size === null) return 'is missing';
  return hasPages && size === '0' ? 'is empty' : null;
}

/**
 * Of a database at rest: VACUUM makes a file shorter, and notes that a moment later. Of a relation with several files, or whose rows an index names, nothing is said. Null: it is as long as it was.
 *
 * It may be shorter and lack nothing: PostgreSQL makes empty pages ahead, which no WAL tells of, and counts them.
 */
export function shortnessOf(
  { size, pages, areRowsIndexed }: RelationFile,
  segmentPages: number,
): string | null {
  if (size === null || pages > segmentPages || areRowsIndexed) return null;
  const now = Math.floor(Number(size) / pageBytes);
  return now < pages ? `has ${now} pages, and had ${pages} when it was last vacuumed or analysed` : null;
}
