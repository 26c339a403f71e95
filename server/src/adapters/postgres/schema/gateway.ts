/**
 * The functions that the gateway calls in a client's session: harvest before agreement, record_slot or record_transaction before
 * the end. Anybody may try to call them; without the secret they refuse. Its hash is in their text, which clients can read:
 * the secret has 256 random bits.
 */
import { createHash } from 'node:crypto';
import { claimRequestSql, findRequestSql, requestsSql } from './requests.ts';
import { movedSequencesQuery } from './sequences.ts';

const checkSecret = (secret: string): string => `
  IF sha256(convert_to(secret, 'UTF8')) <> '\\x${createHash('sha256').update(secret).digest('hex')}'::bytea THEN
    RAISE EXCEPTION 'permission denied' USING ERRCODE = 'insufficient_privilege';
  END IF;`;

/** Catalogs shared by all databases: changing them fires no event trigger. With the ways in which an ordinary role can change them. */
const sharedCatalogs: Readonly<Record<string, readonly string[]>> = {
  pg_authid: ['updated'],
  pg_database: ['updated'],
  pg_auth_members: ['inserted', 'updated', 'deleted'],
  pg_db_role_setting: ['inserted', 'updated', 'deleted'],
  pg_shdescription: ['inserted', 'updated', 'deleted'],
};

/** Rows of these catalogs that the transaction changed, and new relations. */
const changesCounted = [
  `pg_stat_get_xact_tuples_inserted('pg_class'::regclass)`,
  ...Object.entries(sharedCatalogs).flatMap(([name, ways]) =>
    ways.map((way) => `pg_stat_get_xact_tuples_${way}('${name}'::regclass)`),
  ),
].join(' + ');

const timeouts = (majorVersion: number): string =>
  [
    'statement_timeout',
    'idle_in_transaction_session_timeout',
    'lock_timeout',
    ...(majorVersion >= 17 ? ['transaction_timeout'] : []),
  ]
    .map(
      (name) => `IF current_setting('${name}') <> '0' THEN PERFORM set_config('${name}', '0', true); END IF;`,
    )
    .join('\n  ');

/**
 * What no trigger saw. The counters of changed rows are cheap but may hold those of the session's previous transaction, too;
 * so the locks, which the transaction keeps, have the last word.
 */
const unseen = `
CREATE OR REPLACE FUNCTION _barista.unseen_change() RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  IF EXISTS (SELECT FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation' AND mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
      AND relation IN (${Object.keys(sharedCatalogs)
        .map((name) => `'${name}'::regclass`)
        .join(', ')})) THEN
    RETURN 'cannot replicate a change of roles, databases, their settings or large objects';
  END IF;
  IF EXISTS (
    SELECT FROM pg_class c WHERE c.relpersistence <> 't' AND c.relnamespace <> '_barista'::regnamespace AND c.oid >= 16384
      AND (_barista.is_replicated(c.oid) AND NOT _barista.capture_intact(c.oid) OR c.relkind = 'm' AND c.relispopulated
        OR c.relkind = 'r' AND c.relpersistence = 'u')) THEN
    RETURN 'cannot replicate a table made in this way';
  END IF;
  RETURN NULL;
END $body$;`;

const harvest = (secret: string, majorVersion: number): string => `
CREATE OR REPLACE FUNCTION _barista.harvest(secret text) RETURNS SETOF bytea
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $body$
DECLARE
  mine xid8 := pg_current_xact_id_if_assigned();
  refused text;
  positions text := '';
  rows_found boolean := false;
  sequences_used boolean := true;
  moved record;
  takes_back boolean;
  request text := coalesce(current_setting('barista.request_id', true), '');
  earlier record;
BEGIN ${checkSecret(secret)}
  IF mine IS NULL THEN
    -- nextval assigns no transaction id most times it is called.
    BEGIN
      PERFORM lastval();
      sequences_used := true;
    EXCEPTION WHEN object_not_in_prerequisite_state THEN
      sequences_used := false;
    END;
  ELSE
    IF ${changesCounted} > 0 THEN
      refused := _barista.unseen_change();
    END IF;
    IF refused IS NOT NULL THEN
      RETURN NEXT array_send(ARRAY[convert_to('R', 'UTF8'), '', convert_to('0A000', 'UTF8'), convert_to(refused, 'UTF8'),
        convert_to(CASE WHEN refused LIKE '%table made%' THEN 'Leave out EXPLAIN ANALYZE, or explain the query alone.'
          ELSE 'Roles and databases are configured with the replicas.' END, 'UTF8')]);
      RETURN;
    END IF;
    ${findRequestSql}
    RETURN QUERY SELECT c.record FROM _barista.captured c WHERE c.transaction = mine ORDER BY c.position;
    rows_found := FOUND;
    IF rows_found THEN
      DELETE FROM _barista.captured c WHERE c.transaction = mine;
    END IF;
  END IF;
  IF sequences_used AND EXISTS (SELECT FROM _barista.tracked_sequence) THEN
    -- Who takes a sequence back waits for all who move one, and they for him, so that followers see them in the order of their slots.
    takes_back := EXISTS (SELECT FROM (${movedSequencesQuery(majorVersion)}) m WHERE m.exact);
    IF takes_back THEN
      LOCK TABLE _barista.sequence_setback IN EXCLUSIVE MODE;
    ELSIF EXISTS (${movedSequencesQuery(majorVersion)}) THEN
      LOCK TABLE _barista.sequence_setback IN ROW EXCLUSIVE MODE;
    END IF;
    FOR moved IN ${movedSequencesQuery(majorVersion)} LOOP
      -- Taken back just now by another one, who tells it himself.
      CONTINUE WHEN moved.exact AND NOT takes_back;
      rows_found := true;
      positions := concat(positions, moved.agreed, ' ', moved.last_value, ' ', moved.is_called, ' ',
        CASE WHEN moved.exact THEN 'exact' WHEN moved.ascending THEN 'up' ELSE 'down' END, ';');
      RETURN NEXT array_send(ARRAY[convert_to('S' || moved.name, 'UTF8'), '', convert_to(moved.last_value::text, 'UTF8'),
        convert_to(moved.is_called::text, 'UTF8'), convert_to(moved.exact::text, 'UTF8')]);
    END LOOP;
  END IF;
  IF positions <> '' OR coalesce(current_setting('barista.positions', true), '') <> '' THEN
    PERFORM set_config('barista.positions', positions, true);
  END IF;
  -- The query of such a cursor runs to its end at COMMIT, after the harvest: it must not write then.
  IF EXISTS (SELECT FROM pg_cursor() WHERE is_holdable AND creation_time >= transaction_timestamp()) THEN
    IF rows_found THEN
      RETURN NEXT array_send(ARRAY[convert_to('R', 'UTF8'), '', convert_to('0A000', 'UTF8'),
        convert_to('cannot replicate a transaction that declares a cursor WITH HOLD and writes', 'UTF8'),
        convert_to('Declare the cursor in a transaction of its own.', 'UTF8')]);
      RETURN;
    END IF;
    PERFORM set_config('transaction_read_only', 'on', true);
  END IF;
  IF NOT rows_found THEN RETURN; END IF;
  ${claimRequestSql}
  IF current_setting('transaction_isolation') = 'serializable' THEN
    RETURN NEXT array_send(ARRAY[convert_to('Z', 'UTF8'), '']);
  END IF;
  -- From here on nothing but the outcome of the agreement may end the transaction.
  ${timeouts(majorVersion)}
END $body$;
`;

const record = (secret: string): string => `
CREATE OR REPLACE FUNCTION _barista.record_slot(secret text, slot text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  positions text := current_setting('barista.positions', true);
BEGIN ${checkSecret(secret)}
  INSERT INTO _barista.applied_above (slot) VALUES (slot::bigint);
  IF positions <> '' THEN
    -- Sessions come here in any order, and what is agreed on must not fall back to an earlier slot's position.
    LOCK TABLE _barista.sequence_turn IN EXCLUSIVE MODE;
    PERFORM setval(m.agreed::regclass, m.position, m.called)
      FROM (SELECT split_part(p, ' ', 1)::oid AS agreed, split_part(p, ' ', 2)::bigint AS position,
          split_part(p, ' ', 3)::boolean AS called, split_part(p, ' ', 4) AS way
        FROM regexp_split_to_table(rtrim(positions, ';'), ';') p) m
      CROSS JOIN LATERAL _barista.sequence_state(m.agreed) st
      WHERE m.way = 'exact' OR NOT st.is_called OR m.way = 'up' AND m.position > st.last_value
        OR m.way = 'down' AND m.position < st.last_value;
  END IF;
END $body$;

CREATE OR REPLACE FUNCTION _barista.record_transaction(secret text, transaction text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
BEGIN ${checkSecret(secret)}
  INSERT INTO _barista.applied_transaction (transaction, positions)
    VALUES (transaction, nullif(current_setting('barista.positions', true), ''));
END $body$;`;

export const gatewaySql = (secret: string, majorVersion: number): string =>
  [unseen, requestsSql(checkSecret(secret)), harvest(secret, majorVersion), record(secret)].join('\n');
