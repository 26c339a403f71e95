/** What became of a transaction that its client has named, as this replica's PostgreSQL has it. Reads only: a standby can be asked, too. */
import { isAscii as isAsciiBytes } from 'node:buffer';
import type { Client } from 'pg';
import { ownSql } from '../../../pgwire/own-sql.ts';

export interface RecordedRequest {
  /** How its success was told; null: that was not kept. */
  readonly tag: string | null;
}

/** Null: no transaction of this name is visible there. `client`: connected to the database of the request, as the superuser. @throws Error of PostgreSQL */
export async function readRequest(
  client: Client,
  request: { readonly role: string; readonly name: string },
): Promise<RecordedRequest | null> {
  const there = await client.query<{ found: boolean }>(
    `SELECT pg_catalog.to_regclass('pg_barista.request') IS NOT NULL AS found`,
  );
  if (there.rows[0]?.found !== true) return null;
  // Bytes pass as they are, and the name is in the encoding of the database. That of a role is the same in all.
  const isAscii = isAsciiBytes(Buffer.from(request.name, 'utf8'));
  const nameSql = isAscii ? '$2' : "pg_catalog.convert_from($2::pg_catalog.bytea, 'UTF8')";
  const { rows } = await client.query<{ tag: string | null }>(
    ownSql(`SELECT tag FROM pg_barista.request WHERE role = $1 AND id = ${nameSql}`),
    [request.role, isAscii ? request.name : Buffer.from(request.name, 'utf8')],
  );
  if (rows[0] === undefined) return null;
  // What else was recorded stands behind it (gateways/pgwire/session/named/request-digest.ts).
  const tag = rows[0].tag?.split('\n', 1)[0] ?? '';
  return { tag: tag === '' ? null : tag };
}
