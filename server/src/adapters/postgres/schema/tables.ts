/**
 * The tables of the schema `_barista`. They belong to the replica, are never replicated, and no client may read or write them.
 *
 * - captured: what the transactions that are running have done so far. Unlogged: after a crash no transaction is running.
 * - pointer, configuration, applied_above, applied_transaction: the application pointer and what is kept with it, moved in the
 *   transactions that it stands for.
 * - tracked_sequence: for each sequence of the clients another one that holds the position last agreed on. A sequence and
 *   not a column, since it must be read and moved without regard to snapshots, row locks and serializability.
 */
export const tablesSql = `
CREATE SCHEMA IF NOT EXISTS _barista;
REVOKE ALL ON SCHEMA _barista FROM PUBLIC;
-- To call the gateway's functions; each of them asks for the secret.
GRANT USAGE ON SCHEMA _barista TO PUBLIC;

CREATE UNLOGGED SEQUENCE IF NOT EXISTS _barista.captured_order CACHE 1000;
CREATE UNLOGGED TABLE IF NOT EXISTS _barista.captured (
  transaction xid8 NOT NULL DEFAULT pg_catalog.pg_current_xact_id(),
  position bigint NOT NULL DEFAULT pg_catalog.nextval('_barista.captured_order'),
  record bytea NOT NULL
) WITH (
  autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0,
  autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_threshold = 2000000000, vacuum_truncate = off
);
ALTER TABLE _barista.captured ALTER COLUMN record SET STORAGE EXTERNAL;
CREATE INDEX IF NOT EXISTS captured_by_transaction ON _barista.captured (transaction, position);

CREATE TABLE IF NOT EXISTS _barista.pointer (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  slot bigint NOT NULL,
  keep_from bigint NOT NULL DEFAULT 1,
  leader_round bigint NOT NULL DEFAULT 0,
  leader text NOT NULL DEFAULT ''
) WITH (fillfactor = 10);
INSERT INTO _barista.pointer (slot) VALUES (0) ON CONFLICT DO NOTHING;
-- The newest configuration at or below the pointer, as JSON: beside it, since it changes so seldom. No row: none yet.
CREATE TABLE IF NOT EXISTS _barista.configuration (one boolean PRIMARY KEY DEFAULT true CHECK (one), body text NOT NULL);
CREATE TABLE IF NOT EXISTS _barista.applied_above (slot bigint PRIMARY KEY)
  WITH (autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);
-- positions: of sequences, agreed on with this transaction. seen_at: the highest slot known when the row was first seen.
CREATE TABLE IF NOT EXISTS _barista.applied_transaction (transaction text PRIMARY KEY, positions text, seen_at bigint);

CREATE TABLE IF NOT EXISTS _barista.tracked_sequence (sequence oid PRIMARY KEY, agreed oid NOT NULL);
-- Hold no rows: locked by transactions that take a sequence back, or move one; and while what is agreed on is moved.
CREATE TABLE IF NOT EXISTS _barista.sequence_setback ();
CREATE TABLE IF NOT EXISTS _barista.sequence_turn ();
-- Holds no rows: locked by a transaction that changes the schema.
CREATE TABLE IF NOT EXISTS _barista.ddl_turn ();
`;

/** Rights that PostgreSQL gives to everybody and that would escape replication or harm other clients. */
export const hardeningSql = `
DO $harden$
DECLARE
  f pg_catalog.regprocedure;
BEGIN
  FOR f IN
    SELECT oid::pg_catalog.regprocedure FROM pg_catalog.pg_proc
    WHERE pronamespace = 'pg_catalog'::pg_catalog.regnamespace
      AND proname IN ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_import', 'lo_export', 'lo_open', 'lo_put', 'lo_truncate',
        'lo_truncate64', 'lo_unlink', 'lowrite', 'pg_terminate_backend', 'pg_cancel_backend')
  LOOP
    EXECUTE pg_catalog.format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f);
  END LOOP;
END $harden$;
`;
