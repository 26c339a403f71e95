/** What became of a transaction that its client has named, as this replica's PostgreSQL has it. Reads only: a standby can be asked, too. */
import type { Client } from 'pg';

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
    `SELECT to_regclass('pg_barista.request') IS NOT NULL AS found`,
  );
  if (there.rows[0]?.found !== true) return null;
  const { rows } = await client.query<{ tag: string | null }>(
    'SELECT tag FROM pg_barista.request WHERE role = $1 AND id = $2',
    [request.role, request.name],
  );
  return rows[0] ?? null;
}
