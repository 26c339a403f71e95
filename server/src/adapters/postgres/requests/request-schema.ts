/**
 * Names that clients give to their transactions (`SET barista.request_id`), so that one that is repeated takes effect once: the table of names and the functions around it.
 *
 * They are made in a database when its first transaction is named, by the superuser, in a schema that begins with `pg_`: so neither `\d` nor `\dn` nor pg_dump shows them. They are replicated like everything
 * else, and nothing is done to a transaction that has no name.
 *
 * A name belongs to the role that logged in, by its object id: what is renamed keeps its names, and a new role of an old name has none of them. It is claimed inside the transaction itself, just before it is committed, so it is there if and only if the transaction is; a unique index makes
 * the second of two that run at the same time wait for the first. `tag` is how its success was told; null if more was told than can be told again.
 *
 * Safe against clients: each may call the functions by hand, and affects names of its own role only, in its own transaction. All names in the bodies are resolved in pg_catalog, and no text of a client is
 * executed.
 */
import type { Client } from 'pg';
import { ownSql } from '../../../pgwire/own-sql.ts';
import { sqlStateOf } from '../database-error.ts';

/** Names of one role that are kept: the newest. */
export const requestsKept = 100_000;
export const requestIdCharsMax = 128;
/** Tags are short: `INSERT 0 1`. */
const tagCharsMax = 64;

/** Waiting for others that make the same. */
const lockTimeoutMs = 5_000;
/** Beyond PostgreSQL's `deadlock_timeout`: so long a name is waited for before it is looked again who has it. A look goes through all locks. */
const spellMs = 500;

/** To be raised with every change of what is below. */
const version = 'barista requests 6';

const definer = 'SECURITY DEFINER SET search_path = pg_catalog, pg_temp';

const tables = `
CREATE SCHEMA IF NOT EXISTS pg_barista;
GRANT USAGE ON SCHEMA pg_barista TO PUBLIC;
CREATE SEQUENCE IF NOT EXISTS pg_barista.request_order;
CREATE TABLE IF NOT EXISTS pg_barista.request (
  role pg_catalog.oid NOT NULL, id pg_catalog.text NOT NULL, tag pg_catalog.text,
  position bigint NOT NULL DEFAULT pg_catalog.nextval('pg_barista.request_order'),
  PRIMARY KEY (role, id)
);
CREATE INDEX IF NOT EXISTS request_by_position ON pg_barista.request (role, position);
`;

/** Before version 6 the table had names of roles, and functions of other names told these: a database may be made from a template that was not brought over, and nobody may take one for the other. */
const byName = ownSql(`SELECT FROM pg_catalog.pg_attribute a
WHERE a.attrelid = pg_catalog.to_regclass('pg_barista.request') AND a.attname = 'role' AND a.atttypid = 'pg_catalog.text'::pg_catalog.regtype`);
const lockNames = 'LOCK TABLE pg_barista.request IN ACCESS EXCLUSIVE MODE';
const roleOf = 'pg_catalog.to_regrole(pg_catalog.quote_ident(role))';
const bringOver = `
DELETE FROM pg_barista.request WHERE ${roleOf} IS NULL;
ALTER TABLE pg_barista.request ALTER COLUMN role TYPE pg_catalog.oid USING ${roleOf}::pg_catalog.oid;
DROP FUNCTION IF EXISTS pg_barista.describe_request(pg_catalog.text, pg_catalog.text), pg_barista.begin_request(), pg_barista.claim_request(pg_catalog.text);
`;

/** The answers of those that describe, begin and claim are read by gateways/pgwire/session/named/request-row.ts: ASCII, so that the client's encoding does not matter. */
const functions = `
-- The role that logged in. PostgreSQL tells its name alone, and that may be another role's a moment later.
CREATE OR REPLACE FUNCTION pg_barista.own_role() RETURNS pg_catalog.oid
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  -- As it is now: a snapshot of pg_authid may be older.
  role oid := to_regrole(quote_ident(session_user));
BEGIN
  IF role IS NULL OR pg_get_userbyid(role) <> session_user THEN
    RAISE EXCEPTION 'the role of this session has just been renamed' USING ERRCODE = '40001';
  END IF;
  RETURN role;
END $body$;

CREATE OR REPLACE FUNCTION pg_barista.describe_name(kind pg_catalog.text, request pg_catalog.text) RETURNS pg_catalog.text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $body$
  SELECT kind || ' ' || pg_barista.own_role() || ':' || d.oid || ' ' || encode(convert_to(request, 'UTF8'), 'hex') FROM pg_database d WHERE d.datname = current_database()
$body$;

-- Waits for the lock for so long; whether it was given. In PostgreSQL's own queue, so that a circle of waits is found: by whoever has waited for deadlock_timeout. Clients may not call it.
CREATE OR REPLACE FUNCTION pg_barista.queue_for_name(key bigint, milliseconds bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = 0 AS $body$
BEGIN
  -- In force until this function ends.
  PERFORM set_config('lock_timeout', milliseconds::text, true);
  PERFORM pg_advisory_xact_lock(key);
  RETURN true;
EXCEPTION WHEN lock_not_available THEN
  RETURN false;
END $body$;
REVOKE ALL ON FUNCTION pg_barista.queue_for_name FROM PUBLIC;

-- Marks the name as in use until the transaction ends; waits for a transaction of the same role that has it. Every client can take every advisory lock, so one that a session of another role
-- or a prepared transaction holds is passed over: the table's unique index alone makes a name take effect once, whoever holds what. Obeys lock_timeout. Clients may not call it.
CREATE OR REPLACE FUNCTION pg_barista.await_name(key bigint) RETURNS pg_catalog.void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  since timestamptz := clock_timestamp();
  patience bigint;
  spell bigint;
BEGIN
  WHILE NOT pg_try_advisory_xact_lock(key) LOOP
    PERFORM pg_stat_clear_snapshot();
    IF NOT EXISTS (
      SELECT FROM pg_lock_status() held CROSS JOIN LATERAL pg_stat_get_activity(held.pid) holder
      WHERE held.locktype = 'advisory' AND held.objsubid = 1 AND held.granted AND held.pid IS NOT NULL
        AND held.classid = ((key >> 32) & 4294967295)::oid AND held.objid = (key & 4294967295)::oid
        AND held.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
        AND holder.usesysid = pg_barista.own_role()
    ) THEN
      -- It may have ended just now.
      PERFORM pg_try_advisory_xact_lock(key);
      RETURN;
    END IF;
    patience := coalesce(patience, (SELECT setting::bigint FROM pg_settings WHERE name = 'lock_timeout'));
    spell := (SELECT setting::bigint FROM pg_settings WHERE name = 'deadlock_timeout') + ${spellMs};
    IF patience > 0 THEN
      spell := least(spell, patience - (1000 * extract(epoch FROM clock_timestamp() - since))::bigint);
      IF spell <= 0 THEN
        RAISE EXCEPTION 'canceling statement due to lock timeout' USING ERRCODE = '55P03';
      END IF;
    END IF;
    -- Not for long: whoever is next in the queue may be of another role.
    IF pg_barista.queue_for_name(key, spell) THEN RETURN; END IF;
  END LOOP;
END $body$;
REVOKE ALL ON FUNCTION pg_barista.await_name FROM PUBLIC;

-- Before anything is run in the transaction: fails with RQ001 if the name is taken; waits for a transaction of the same name that has begun so, too.
CREATE OR REPLACE FUNCTION pg_barista.begin_name() RETURNS pg_catalog.text
LANGUAGE plpgsql ${definer} AS $body$
DECLARE
  request text := coalesce(current_setting('barista.request_id', true), '');
  own oid;
  earlier pg_barista.request;
BEGIN
  IF request = '' THEN RETURN 'none'; END IF;
  IF char_length(request) > ${requestIdCharsMax} THEN
    RAISE EXCEPTION 'barista.request_id is longer than ${requestIdCharsMax} characters' USING ERRCODE = '22023', HINT = 'Use a UUID, for example.';
  END IF;
  own := pg_barista.own_role();
  PERFORM pg_barista.await_name(hashtextextended(own || ' ' || request, 7432));
  SELECT r.* INTO earlier FROM pg_barista.request r WHERE r.role = own AND r.id = request;
  IF FOUND THEN
    RAISE EXCEPTION 'committed before' USING ERRCODE = 'RQ001', DETAIL = coalesce(earlier.tag, '');
  END IF;
  RETURN pg_barista.describe_name('named', request);
END $body$;

-- For a transaction that is about to be prepared under its name: fails with RQ001 if one is that the same role has prepared, and nobody has decided. Nobody would end a wait for it. Other waits are as ever. Clients may not call it.
CREATE OR REPLACE FUNCTION pg_barista.mark_prepared(key bigint) RETURNS pg_catalog.void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  IF EXISTS (
    SELECT FROM pg_lock_status() held
    JOIN pg_lock_status() own ON own.locktype = 'transactionid' AND own.pid IS NULL AND own.virtualtransaction = held.virtualtransaction
    JOIN pg_prepared_xact() prepared ON prepared.transaction = own.transactionid
    WHERE held.locktype = 'advisory' AND held.objsubid = 1 AND held.granted AND held.pid IS NULL
      AND held.classid = ((key >> 32) & 4294967295)::oid AND held.objid = (key & 4294967295)::oid
      AND prepared.ownerid = pg_barista.own_role() AND prepared.dbid = held.database
      AND held.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
  ) THEN
    RAISE EXCEPTION 'committed before' USING ERRCODE = 'RQ001', DETAIL = 'PREPARE TRANSACTION';
  END IF;
  -- It is kept until the transaction is decided. Somebody else's lock keeps nobody from preparing.
  PERFORM pg_try_advisory_xact_lock(key);
END $body$;
REVOKE ALL ON FUNCTION pg_barista.mark_prepared FROM PUBLIC;

-- Just before the transaction is committed. Every transaction takes its name that is not READ ONLY: that it has no id yet does not say that it changes nothing, for ids are given inside COMMIT,
-- and effects can be elsewhere. One that has written and is READ ONLY since fails here. The name is used up by the commit.
CREATE OR REPLACE FUNCTION pg_barista.claim_name(told pg_catalog.text) RETURNS pg_catalog.text
LANGUAGE plpgsql ${definer} AS $body$
DECLARE
  request text := coalesce(current_setting('barista.request_id', true), '');
  own oid;
  earlier pg_barista.request;
BEGIN
  IF request = '' THEN RETURN 'none'; END IF;
  IF current_setting('transaction_read_only') = 'on' AND pg_current_xact_id_if_assigned() IS NULL THEN RETURN pg_barista.describe_name('unused', request); END IF;
  IF char_length(request) > ${requestIdCharsMax} THEN
    RAISE EXCEPTION 'barista.request_id is longer than ${requestIdCharsMax} characters' USING ERRCODE = '22023', HINT = 'Use a UUID, for example.';
  END IF;
  own := pg_barista.own_role();
  IF told LIKE 'PREPARE TRANSACTION%' THEN
    PERFORM pg_barista.mark_prepared(hashtextextended(own || ' ' || request, 7432));
  END IF;
  IF current_setting('transaction_read_only') = 'on' THEN
    RAISE EXCEPTION 'a transaction that has written and is READ ONLY cannot be committed under a request_id' USING ERRCODE = '25006',
      HINT = 'Repeating it fails again. Leave out SET TRANSACTION READ ONLY, or reset barista.request_id before the transaction.';
  END IF;
  INSERT INTO pg_barista.request (role, id, tag) VALUES (own, request, nullif(left(told, ${tagCharsMax}), '')) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    SELECT r.* INTO earlier FROM pg_barista.request r WHERE r.role = own AND r.id = request;
    RAISE EXCEPTION 'committed before' USING ERRCODE = 'RQ001', DETAIL = coalesce(earlier.tag, '');
  END IF;
  PERFORM set_config('barista.request_id', '', false);
  RETURN pg_barista.describe_name('claimed', request);
END $body$;

-- For clients: whether a transaction of this name has been committed. Their own names only.
CREATE OR REPLACE FUNCTION pg_barista.request_committed(request pg_catalog.text) RETURNS boolean
LANGUAGE sql STABLE ${definer} AS $body$
  SELECT EXISTS (SELECT FROM pg_barista.request r WHERE r.role = pg_barista.own_role() AND r.id = request)
$body$;
`;

/** Of each role that has more than are kept, and all of one that is gone: its object id may be another's one day. Skips what somebody else is removing. */
const forget = ownSql(`
DELETE FROM pg_barista.request gone USING (
  SELECT crowd.role, crowd.id FROM (
    SELECT n.role, CASE WHEN a.oid IS NULL THEN 0 ELSE $1 END AS kept
    FROM (SELECT role, pg_catalog.count(*) AS names FROM pg_barista.request GROUP BY role) n LEFT JOIN pg_catalog.pg_authid a ON a.oid = n.role
    WHERE a.oid IS NULL OR n.names > $1
  ) crowded CROSS JOIN LATERAL (
    SELECT r.role, r.id FROM pg_barista.request r WHERE r.role = crowded.role
    ORDER BY r.position DESC OFFSET crowded.kept FOR UPDATE SKIP LOCKED
  ) crowd
) old WHERE gone.role = old.role AND gone.id = old.id`);

/**
 * Makes what named transactions need in the database of this connection, if it is not there, and forgets the oldest names beyond `kept` of each role. `client` is the superuser's, and is in
 * no transaction. Waits for the commit like everybody: when it resolves, the replicas have it. @throws Error of PostgreSQL
 */
export async function prepareRequests(client: Client, kept = requestsKept): Promise<void> {
  const { rows } = await client.query<{ version: string | null }>(
    ownSql(
      `SELECT pg_catalog.obj_description(oid, 'pg_namespace') AS version FROM pg_catalog.pg_namespace WHERE nspname = 'pg_barista'`,
    ),
  );
  if (rows[0]?.version !== version) await install(client);
  await client.query(forget, [kept]);
}

async function install(client: Client): Promise<void> {
  await client.query('BEGIN');
  try {
    // Two at the same time: the second finds everything there. No client can take a lock that conflicts with this one: that needs rights to write to the catalog, which nothing of a client's writes to.
    await client.query(`SET LOCAL lock_timeout = '${lockTimeoutMs}ms'`);
    await client.query('LOCK TABLE pg_catalog.pg_replication_origin IN SHARE ROW EXCLUSIVE MODE');
    await client.query('SET LOCAL allow_system_table_mods = on');
    if ((await client.query(byName)).rows.length > 0) await takeNamesForIds(client);
    await client.query(`${tables}${functions}COMMENT ON SCHEMA pg_barista IS '${version}'`);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** What roles that are renamed meanwhile have done under their old names cannot be known. @throws Error of PostgreSQL */
async function takeNamesForIds(client: Client): Promise<void> {
  try {
    await client.query(lockNames);
  } catch (error) {
    if (sqlStateOf(error) !== '55P03') throw error;
    throw new Error(
      'names that were given before the upgrade are brought over, and a transaction still uses them: end it, or decide it where it is prepared (pg_prepared_xacts)',
      { cause: error },
    );
  }
  await client.query(bringOver);
}
