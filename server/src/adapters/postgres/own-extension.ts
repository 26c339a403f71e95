/**
 * An extension that Barista itself needs, in a schema where nobody else can have put anything.
 *
 * Responsible for: making it, or taking one that is there into such a schema, and for naming the schema to whoever calls its functions.
 * Invariant: the schema did not exist a moment before, belongs to the superuser, and holds functions of the extension alone. A schema that clients can write to may hold a function that PostgreSQL prefers to the extension's.
 */
import { randomBytes } from 'node:crypto';
import type { Client } from 'pg';
import { ownSql } from '../../pgwire/own-sql.ts';
import { quoteIdentifier } from './pg-client.ts';

export type ExtensionName = 'amcheck' | 'pg_stat_statements';

const findSql = ownSql(`SELECT n.nspname AS schema, n.nspowner = r.oid AND NOT EXISTS (
    SELECT FROM pg_catalog.pg_proc p WHERE p.pronamespace = n.oid AND NOT EXISTS (
      SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid
        AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.refobjid = e.oid AND d.deptype = 'e'
    )) AS "isOwn"
  FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
    JOIN pg_catalog.pg_roles r ON r.rolname = current_user
  WHERE e.extname = $1`);

interface Found {
  readonly schema: string;
  readonly isOwn: boolean;
}

async function find(client: Client, name: ExtensionName): Promise<Found | null> {
  const [found] = (await client.query<Found>(findSql, [name])).rows;
  if (found === undefined) return null;
  // Bytes that are no UTF-8 are such a character here.
  return found.schema.includes('\ufffd') ? { ...found, isOwn: false } : found;
}

/** As SQL. Null: there is none, or it lies where others can have put something beside it, or in a schema whose name was read as another one. @throws Error of PostgreSQL */
export async function extensionSchema(client: Client, name: ExtensionName): Promise<string | null> {
  const found = await find(client, name);
  return found?.isOwn === true ? quoteIdentifier(found.schema) : null;
}

/** `client`: in no transaction, of a primary. @throws Error of PostgreSQL */
export async function makeExtension(client: Client, name: ExtensionName): Promise<void> {
  const found = await find(client, name);
  if (found?.isOwn === true) return;
  const schema = quoteIdentifier(`barista_${name}_${randomBytes(8).toString('hex')}`);
  await client.query('BEGIN');
  try {
    await client.query(`CREATE SCHEMA ${schema}`);
    if (found === null) await client.query(`CREATE EXTENSION ${name} SCHEMA ${schema}`);
    else {
      await client.query(`ALTER EXTENSION ${name} SET SCHEMA ${schema}`);
      // It may be of an older version.
      await client.query(`ALTER EXTENSION ${name} UPDATE`);
    }
    if ((await find(client, name))?.isOwn !== true)
      throw new Error(`the extension ${name} has functions in its schema that are not its own`);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}
