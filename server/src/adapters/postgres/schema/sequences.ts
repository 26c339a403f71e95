/**
 * Sequences are not transactional: what nextval handed out stays handed out, whatever becomes of the transaction.
 *
 * Each sequence of a client has one of ours beside it, which holds the position last agreed on. A transaction that ends while the
 * two differ carries the position in its effects; when it is chosen, ours follows. So no position is taken for agreed
 * before it is chosen, and a transaction that waits for no other never says less than what it handed out.
 */

/** PostgreSQL 18 tells a sequence's state cheaply; before, one that was never called has to be read as a table. */
const sequenceState = (majorVersion: number): string =>
  majorVersion >= 18
    ? `
CREATE OR REPLACE FUNCTION _barista.sequence_state(sequence oid, OUT last_value bigint, OUT is_called boolean)
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $body$
  SELECT d.last_value, d.is_called FROM pg_get_sequence_data(sequence) d
$body$;`
    : `
CREATE OR REPLACE FUNCTION _barista.sequence_state(sequence oid, OUT last_value bigint, OUT is_called boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  last_value := pg_sequence_last_value(sequence::regclass);
  is_called := true;
  IF last_value IS NULL THEN
    EXECUTE format('SELECT last_value, is_called FROM %s', sequence::regclass) INTO last_value, is_called;
  END IF;
END $body$;`;

const tracking = `
CREATE OR REPLACE FUNCTION _barista.track_sequences() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  s oid;
  agreed regclass;
BEGIN
  FOR s IN
    SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'S' AND c.relpersistence = 'p' AND n.nspname <> '_barista'
      AND NOT EXISTS (SELECT FROM _barista.tracked_sequence t WHERE t.sequence = c.oid)
  LOOP
    EXECUTE format('CREATE SEQUENCE _barista.%I MINVALUE -9223372036854775808 MAXVALUE 9223372036854775807', 'agreed_' || s);
    agreed := format('_barista.%I', 'agreed_' || s)::regclass;
    INSERT INTO _barista.tracked_sequence (sequence, agreed) VALUES (s, agreed);
    PERFORM setval(agreed, st.last_value, st.is_called) FROM _barista.sequence_state(s) st;
  END LOOP;
END $body$;

-- Follower: take the positions over, never back unless that was the point.
CREATE OR REPLACE FUNCTION _barista.apply_positions(names text[], last_values bigint[], called boolean[], exacts boolean[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  target regclass;
  state record;
  step bigint;
BEGIN
  FOR i IN 1 .. cardinality(names) LOOP
    target := names[i]::regclass;
    SELECT * INTO state FROM _barista.sequence_state(target);
    SELECT seqincrement INTO STRICT step FROM pg_sequence WHERE seqrelid = target;
    IF exacts[i] OR NOT state.is_called OR (step > 0 AND last_values[i] > state.last_value) OR (step < 0 AND last_values[i] < state.last_value) THEN
      PERFORM setval(target, last_values[i], called[i]);
      PERFORM setval(t.agreed::regclass, last_values[i], called[i]) FROM _barista.tracked_sequence t WHERE t.sequence = target;
    END IF;
  END LOOP;
END $body$;
`;

/** Where sequences stand beyond what is agreed: name, position, which way it counts, and whether it was taken back on purpose. Written out where it is used. */
export function movedSequencesQuery(majorVersion: number): string {
  const state = majorVersion >= 18 ? 'pg_get_sequence_data' : '_barista.sequence_state';
  return `
    SELECT t.agreed, concat('"', replace(n.nspname, '"', '""'), '"."', replace(c.relname, '"', '""'), '"') AS name,
      now_at.last_value, now_at.is_called, s.seqincrement > 0 AS ascending,
      NOT now_at.is_called OR CASE WHEN s.seqincrement > 0 THEN now_at.last_value < then_at.last_value
        ELSE now_at.last_value > then_at.last_value END AS exact
    FROM _barista.tracked_sequence t
      CROSS JOIN LATERAL ${state}(t.sequence) now_at CROSS JOIN LATERAL ${state}(t.agreed) then_at
      JOIN pg_sequence s ON s.seqrelid = t.sequence JOIN pg_class c ON c.oid = t.sequence
      JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE now_at.last_value IS DISTINCT FROM then_at.last_value OR now_at.is_called IS DISTINCT FROM then_at.is_called`;
}

const pointerSql = `
-- Positions of transactions that were prepared before they were chosen and have been committed since: agreed, after all.
-- Only forwards, for they may come late.
CREATE OR REPLACE FUNCTION _barista.fold_positions() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  p record;
BEGIN
  LOCK TABLE _barista.sequence_turn IN EXCLUSIVE MODE;
  FOR p IN
    SELECT t.agreed, split_part(line, ' ', 2)::bigint AS last_value, s.seqincrement AS step
    FROM _barista.applied_transaction a CROSS JOIN LATERAL regexp_split_to_table(rtrim(a.positions, ';'), ';') line
      JOIN _barista.tracked_sequence t ON t.agreed::text = split_part(line, ' ', 1) JOIN pg_sequence s ON s.seqrelid = t.sequence
    WHERE a.positions <> ''
  LOOP
    PERFORM setval(p.agreed::regclass, p.last_value, true) FROM _barista.sequence_state(p.agreed) st
      WHERE NOT st.is_called OR (p.step > 0 AND p.last_value > st.last_value) OR (p.step < 0 AND p.last_value < st.last_value);
  END LOOP;
  UPDATE _barista.applied_transaction SET positions = NULL WHERE positions IS NOT NULL;
END $body$;

-- Nobody uses the sequences any more: they stand where they were last agreed to stand.
CREATE OR REPLACE FUNCTION _barista.reset_sequences() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  PERFORM _barista.fold_positions();
  PERFORM setval(t.sequence::regclass, agreed_at.last_value, agreed_at.is_called)
    FROM _barista.tracked_sequence t CROSS JOIN LATERAL _barista.sequence_state(t.sequence) now_at
      CROSS JOIN LATERAL _barista.sequence_state(t.agreed) agreed_at
    WHERE (now_at.last_value, now_at.is_called) IS DISTINCT FROM (agreed_at.last_value, agreed_at.is_called);
END $body$;

-- Never back. The ids of prepared transactions are kept until their slots are at or below the pointer for certain: a transaction
-- that had committed when slot s was the highest known has a slot below s plus what the core's window can hold.
DROP FUNCTION IF EXISTS _barista.move_pointer(bigint, bigint, bigint, text);
CREATE OR REPLACE FUNCTION _barista.move_pointer(up_to bigint, keep bigint, round bigint, newest_leader text, newest_configuration text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  UPDATE _barista.pointer SET slot = up_to, keep_from = keep, leader_round = round, leader = newest_leader WHERE slot <= up_to;
  IF FOUND AND newest_configuration IS NOT NULL THEN
    INSERT INTO _barista.configuration AS c (body) VALUES (newest_configuration)
      ON CONFLICT (one) DO UPDATE SET body = excluded.body WHERE c.body <> excluded.body;
  END IF;
  DELETE FROM _barista.applied_above WHERE slot <= up_to;
  PERFORM _barista.forget_requests();
  IF EXISTS (SELECT FROM _barista.applied_transaction) THEN
    PERFORM _barista.fold_positions();
    DELETE FROM _barista.applied_transaction WHERE seen_at + 131072 <= up_to;
    UPDATE _barista.applied_transaction SET seen_at = greatest(up_to, (SELECT max(slot) FROM _barista.applied_above))
      WHERE seen_at IS NULL;
  END IF;
END $body$;
`;

export const sequencesSql = (majorVersion: number): string =>
  `${sequenceState(majorVersion)}\n${tracking}\n${pointerSql}`;
