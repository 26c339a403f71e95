/**
 * Names that clients give to their transactions (`SET barista.request_id`), so that one that is repeated takes effect once.
 *
 * A name belongs to the role that logged in. It is claimed in the transaction itself, at its harvest: a unique index, so that of two at the same
 * time the second waits for the first. `tag` tells a committed row from a claim: it is null until the transaction is chosen, and no
 * other transaction can see it then. Every replica records the same names. The newest `requestsKept` are kept, and about as many claims
 * that came to nothing: `position` counts both.
 */
export const requestsKept = 1_000_000;
export const requestIdCharsMax = 128;

export const requestTablesSql = `
CREATE SEQUENCE IF NOT EXISTS _barista.request_order;
-- slot: null where the transaction was prepared before its slot was known (SERIALIZABLE, on the replica that led).
-- tag: how success was told; empty where more was told than can be told again.
CREATE TABLE IF NOT EXISTS _barista.request (
  role text NOT NULL, id text NOT NULL, slot bigint, tag text,
  position bigint NOT NULL DEFAULT pg_catalog.nextval('_barista.request_order'),
  PRIMARY KEY (role, id)
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS request_by_position ON _barista.request (position);
`;

const settings = 'SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off';

export const requestsSql = (checkSecret: string): string => `
-- The row of an earlier transaction under this name, or none: then the name is claimed for this one.
CREATE OR REPLACE FUNCTION _barista.claim_request(request text, OUT earlier boolean, OUT slot bigint, OUT tag text)
LANGUAGE plpgsql ${settings} AS $body$
BEGIN
  earlier := false;
  BEGIN
    INSERT INTO _barista.request (role, id) VALUES (session_user, request);
  EXCEPTION WHEN unique_violation THEN
    -- Perhaps too new for this transaction's snapshot: then only its slot is not known.
    earlier := true;
    SELECT r.slot, r.tag INTO slot, tag FROM _barista.request r WHERE r.role = session_user AND r.id = request;
  END;
END $body$;

-- Before anything is run: raises RQ001 if the name is taken by a committed transaction; waits for one that is under way.
CREATE OR REPLACE FUNCTION _barista.begin_request(secret text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER ${settings} AS $body$
DECLARE
  request text := coalesce(current_setting('barista.request_id', true), '');
  earlier record;
BEGIN ${checkSecret}
  IF request = '' THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended(concat(session_user, ' ', request), 7432));
  SELECT r.slot, r.tag INTO earlier FROM _barista.request r WHERE r.role = session_user AND r.id = request;
  IF FOUND THEN
    RAISE EXCEPTION 'committed before' USING ERRCODE = 'RQ001', DETAIL = concat(earlier.slot, ' ', earlier.tag);
  END IF;
END $body$;

-- When the transaction is chosen, or about to be prepared (then the slot is empty). The name is used up with it.
CREATE OR REPLACE FUNCTION _barista.record_request(secret text, chosen_slot text, told text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER ${settings} AS $body$
BEGIN ${checkSecret}
  UPDATE _barista.request r SET slot = nullif(chosen_slot, '')::bigint, tag = told
    WHERE r.role = session_user AND r.id = current_setting('barista.request_id') AND r.tag IS NULL;
  IF chosen_slot <> '' THEN PERFORM set_config('barista.request_id', '', false); END IF;
END $body$;

-- The other replicas. A name that one has forgotten already and another has not may come again.
CREATE OR REPLACE FUNCTION _barista.apply_request(of_role text, request text, chosen_slot bigint, told text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $body$
  INSERT INTO _barista.request (role, id, slot, tag) VALUES (of_role, request, chosen_slot, told)
    ON CONFLICT (role, id) DO UPDATE SET slot = excluded.slot, tag = excluded.tag, position = excluded.position
$body$;

CREATE OR REPLACE FUNCTION _barista.forget_requests() RETURNS void
LANGUAGE plpgsql ${settings} AS $body$
DECLARE
  newest bigint := (SELECT last_value FROM _barista.request_order);
BEGIN
  IF newest > ${requestsKept} THEN
    DELETE FROM _barista.request WHERE position <= newest - ${requestsKept};
  END IF;
END $body$;

-- For clients: whether a transaction of this name has been committed. Their own names only.
CREATE OR REPLACE FUNCTION _barista.request_committed(request text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER ${settings} AS $body$
  SELECT EXISTS (SELECT FROM _barista.request r WHERE r.role = session_user AND r.id = request AND r.tag IS NOT NULL)
$body$;
`;

/** In the harvest, before the rows: a repetition of much data need not be sent to be found out. */
export const findRequestSql = `
    IF request <> '' AND EXISTS (SELECT FROM _barista.captured c WHERE c.transaction = mine) THEN
      SELECT r.slot, r.tag INTO earlier FROM _barista.request r WHERE r.role = session_user AND r.id = request AND r.tag IS NOT NULL;
      IF FOUND THEN
        RETURN NEXT array_send(ARRAY[convert_to('P', 'UTF8'), '', convert_to(concat(earlier.slot), 'UTF8'), convert_to(concat(earlier.tag), 'UTF8')]);
        RETURN;
      END IF;
    END IF;`;

/** In the harvest of a transaction that wrote, after the rows. */
export const claimRequestSql = `
  IF request <> '' THEN
    IF char_length(request) > ${requestIdCharsMax} THEN
      RETURN NEXT array_send(ARRAY[convert_to('R', 'UTF8'), '', convert_to('22023', 'UTF8'),
        convert_to('barista.request_id is longer than ${requestIdCharsMax} characters', 'UTF8'),
        convert_to('Use a UUID, for example.', 'UTF8')]);
      RETURN;
    END IF;
    SELECT * INTO earlier FROM _barista.claim_request(request);
    IF earlier.earlier THEN
      RETURN NEXT array_send(ARRAY[convert_to('P', 'UTF8'), '', convert_to(concat(earlier.slot), 'UTF8'), convert_to(concat(earlier.tag), 'UTF8')]);
      RETURN;
    END IF;
    RETURN NEXT array_send(ARRAY[convert_to('Q', 'UTF8'), '', convert_to(session_user::text, 'UTF8'), convert_to(request, 'UTF8')]);
  END IF;`;
