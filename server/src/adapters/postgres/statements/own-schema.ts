/**
 * What the executor of statements has in each database: the application pointer, and the function that advances it within a client's transaction. In the database `postgres` also what is remembered of sessions, and of requests that are held back.
 *
 * The schema begins with `pg_`: neither `\d` nor pg_dump shows it, and it is no role's own by its name, as `barista` would be.
 *
 * A client can call the function, and cannot forge: it takes a proof made from a secret that only the superuser can read. The proof of a slot is shown to the session that executes it, as part of its own text, and moves the
 * pointer nowhere else: rows are only added, the newest counts, and by then everything up to that slot has been executed. So nobody can hold a lock on the pointer, either.
 */
import { createHash } from 'node:crypto';
import type { Client } from 'pg';
import { functionsSql } from './own-functions.ts';
import type { Pointer } from '../../../ports/statement-database.ts';
import { ownSql } from '../../../pgwire/own-sql.ts';
import { quoteLiteral } from '../pg-client.ts';

const version = 'barista statements 8';

const definer = 'SECURITY DEFINER SET search_path = pg_catalog, pg_temp';

function schemaSql(secret: string): string {
  return `
CREATE TABLE IF NOT EXISTS pg_barista.statement_secret (value pg_catalog.text NOT NULL);
REVOKE ALL ON pg_barista.statement_secret FROM PUBLIC;
DELETE FROM pg_barista.statement_secret;
INSERT INTO pg_barista.statement_secret VALUES (${quoteLiteral(secret)});
CREATE TABLE IF NOT EXISTS pg_barista.sqlpaxoslog (lastseqnum bigint NOT NULL, step int NOT NULL, open int NOT NULL);
ALTER TABLE pg_barista.sqlpaxoslog ADD COLUMN IF NOT EXISTS seqs pg_catalog.text;
CREATE INDEX IF NOT EXISTS sqlpaxoslog_newest ON pg_barista.sqlpaxoslog (lastseqnum, step);
REVOKE ALL ON pg_barista.sqlpaxoslog FROM PUBLIC;
CREATE TABLE IF NOT EXISTS pg_barista.statement_session (
  position bigint PRIMARY KEY, slot bigint NOT NULL, session bigint NOT NULL, state pg_catalog.text NOT NULL
);
ALTER TABLE pg_barista.statement_session ADD COLUMN IF NOT EXISTS step int NOT NULL DEFAULT 0;
CREATE TABLE IF NOT EXISTS pg_barista.statement_alone (slot bigint NOT NULL, is_done boolean NOT NULL);
CREATE TABLE IF NOT EXISTS pg_barista.statement_held (slot bigint NOT NULL, operation pg_catalog.bytea NOT NULL);
REVOKE ALL ON pg_barista.statement_session, pg_barista.statement_alone, pg_barista.statement_held FROM PUBLIC;

-- Within the client's transaction, at its end. Only where that has written, or may write in its COMMIT.
DROP FUNCTION IF EXISTS pg_barista.advance(bigint, int, int, pg_catalog.text), pg_barista.advance(bigint, int, int, pg_catalog.text, pg_catalog.text),
  pg_barista.advance(bigint, int, int, pg_catalog.text, boolean, pg_catalog.text);
CREATE OR REPLACE FUNCTION pg_barista.advance(slot bigint, step int, still_open int, seqs pg_catalog.text, is_serial boolean, wait_key bigint, proof pg_catalog.text) RETURNS pg_catalog.void
LANGUAGE plpgsql ${definer} AS $body$
DECLARE
  secret text;
BEGIN
  -- The executor has cancelled it, for it waited, and it has caught that.
  IF wait_key <> 0 AND NOT pg_try_advisory_xact_lock_shared(wait_key) THEN
    RAISE EXCEPTION 'canceling statement due to a wait' USING ERRCODE = '57014';
  END IF;
  -- Nobody waited for its end.
  IF NOT is_serial AND current_setting('transaction_isolation') = 'serializable' THEN
    RAISE EXCEPTION 'SERIALIZABLE has to be asked for by that word under payload: statements' USING ERRCODE = '0A000',
      HINT = 'Write BEGIN ISOLATION LEVEL SERIALIZABLE, or set default_transaction_isolation in a request of its own.';
  END IF;
  IF pg_current_xact_id_if_assigned() IS NULL THEN
    -- The query of a cursor WITH HOLD is run in the COMMIT, behind this, and may write there.
    IF current_setting('transaction_read_only') = 'on' OR NOT EXISTS (SELECT FROM pg_cursors WHERE is_holdable) THEN RETURN; END IF;
  END IF;
  SELECT value INTO STRICT secret FROM pg_barista.statement_secret;
  IF proof IS DISTINCT FROM encode(sha256(convert_to(secret || ' ' || slot || ' ' || step || ' ' || still_open || ' ' || seqs, 'UTF8')), 'hex') THEN
    RAISE EXCEPTION 'permission denied to advance the application pointer' USING ERRCODE = '42501';
  END IF;
  IF current_setting('transaction_read_only') = 'on' THEN
    RAISE EXCEPTION 'a transaction that has written cannot be made read-only under payload: statements' USING ERRCODE = '0A000';
  END IF;
  IF pg_my_temp_schema() <> 0 THEN
    IF EXISTS (SELECT FROM pg_class WHERE relnamespace = pg_my_temp_schema() AND relkind IN ('r', 'p', 'v', 'S', 'c'))
      OR EXISTS (SELECT FROM pg_proc WHERE pronamespace = pg_my_temp_schema())
      OR EXISTS (SELECT FROM pg_type WHERE typnamespace = pg_my_temp_schema()) THEN
      RAISE EXCEPTION 'temporary tables, types and functions cannot outlive a transaction under payload: statements' USING ERRCODE = '0A000',
        HINT = 'Drop it before the end of the transaction that makes it, or use a table that is not temporary.';
    END IF;
  END IF;
  INSERT INTO pg_barista.sqlpaxoslog VALUES (slot, step, still_open, seqs);
END $body$;
`;
}

export function proofOf(secret: string, { slot, step, open }: Pointer, seqs: string): string {
  return createHash('sha256').update(`${secret} ${slot} ${step} ${open} ${seqs}`).digest('hex');
}

const versionSql = `SELECT pg_catalog.obj_description(pg_catalog.to_regclass('pg_barista.sqlpaxoslog')::pg_catalog.oid, 'pg_class') AS version`;

export async function hasStatementSchema(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ version: string | null }>(versionSql);
  return rows[0]?.version === version;
}

/** A schema that is a client's: it was there before Barista needed its name. */
export class ForeignSchemaError extends Error {
  override readonly name = 'ForeignSchemaError';
}

const ownerSql = ownSql(`SELECT n.nspowner = r.oid AS "isOwn" FROM pg_catalog.pg_namespace n
  JOIN pg_catalog.pg_roles r ON r.rolname = current_user WHERE n.nspname = $1`);

/** @throws ForeignSchemaError */
async function makeSchema(client: Client, name: string): Promise<void> {
  const { rows } = await client.query<{ isOwn: boolean }>(ownerSql, [name]);
  if (rows[0]?.isOwn === false)
    throw new ForeignSchemaError(`schema "${name}" of this database belongs to another role: rename it`);
  if (rows.length === 0) await client.query(`CREATE SCHEMA ${name}; GRANT USAGE ON SCHEMA ${name} TO PUBLIC`);
}

/** `client`: the superuser's, in the database that gets it. @throws ForeignSchemaError; Error of PostgreSQL */
export async function installStatementSchema(client: Client, secret: string): Promise<void> {
  if (await hasStatementSchema(client)) return;
  await client.query('BEGIN');
  try {
    await client.query('SET LOCAL allow_system_table_mods = on');
    for (const name of ['pg_barista', 'barista_fn']) await makeSchema(client, name);
    await client.query(functionsSql);
    await client.query(`${schemaSql(secret)}COMMENT ON TABLE pg_barista.sqlpaxoslog IS '${version}'`);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}
