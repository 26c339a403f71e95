/** What became of a transaction that its client has named, as this replica's PostgreSQL has it. Reads only: a standby can be asked, too. */
import { isAscii as isAsciiBytes } from 'node:buffer';
import type { Client } from 'pg';
import type { NamedRequest } from '../../../ports/client-service.ts';
import { ownSql } from '../../../pgwire/own-sql.ts';

export interface RecordedRequest {
  /** How its success was told; null: that was not kept. */
  readonly tag: string | null;
}

const whoIsThere = ownSql(`SELECT d.oid = $2::pg_catalog.oid AS "isDatabase",
  EXISTS (SELECT FROM pg_catalog.pg_authid a WHERE a.oid = $1::pg_catalog.oid) AS "hasRole"
FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()`);

/**
 * Null: no transaction of this name is visible there. `unknown`: that says nothing, for the database of that name is another one, or the role is gone, and with it what is recorded. `client`: connected to the database of that
 * name, as the superuser. @throws Error of PostgreSQL
 */
export async function readRequest(
  client: Client,
  { owner, name }: Omit<NamedRequest, 'database'>,
): Promise<RecordedRequest | 'unknown' | null> {
  const [, role, database] = /^(\d{1,10}):(\d{1,10})$/.exec(owner) ?? [];
  // As releases before tell it: by the name of the role.
  if (role === undefined) return 'unknown';
  const found = await find(client, role, name);
  const { rows } = await client.query<{ isDatabase: boolean; hasRole: boolean }>(whoIsThere, [
    role,
    database,
  ]);
  const { isDatabase, hasRole } = rows[0]!;
  return isDatabase && (hasRole || found !== null) ? found : 'unknown';
}

async function find(client: Client, role: string, name: string): Promise<RecordedRequest | null> {
  const there = await client.query<{ found: boolean }>(
    `SELECT pg_catalog.to_regclass('pg_barista.request') IS NOT NULL AS found`,
  );
  if (there.rows[0]?.found !== true) return null;
  // Bytes pass as they are, and the name is in the encoding of the database.
  const isAscii = isAsciiBytes(Buffer.from(name, 'utf8'));
  const nameSql = isAscii ? '$2' : "pg_catalog.convert_from($2::pg_catalog.bytea, 'UTF8')";
  const { rows } = await client.query<{ tag: string | null }>(
    ownSql(`SELECT tag FROM pg_barista.request WHERE role = $1::pg_catalog.oid AND id = ${nameSql}`),
    [role, isAscii ? name : Buffer.from(name, 'utf8')],
  );
  if (rows[0] === undefined) return null;
  // What else was recorded stands behind it (gateways/pgwire/session/named/request-digest.ts).
  const tag = rows[0].tag?.split('\n', 1)[0] ?? '';
  return { tag: tag === '' ? null : tag };
}
