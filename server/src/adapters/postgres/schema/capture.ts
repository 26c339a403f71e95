/**
 * Capture: statement triggers that note the rows which a client's statement inserted, updated, deleted or truncated.
 *
 * A record is one array of byte strings in PostgreSQL's binary form: a letter with the relation's name, the statement's text for
 * people, then the rows (for an update first all rows before, then all after). See harvest-row.ts for its reading.
 *
 * Why it is written as it is:
 * - `concat(x.*)` and never a cast: a client owns its row types and may define casts, which would run here as the superuser.
 *   `x.*` and never `x`: a column may be called x.
 * - The settings that change the text of a value are pinned; the client's own would otherwise decide what replicas store.
 * - A statement of many rows is cut into records of bounded size, row by row, so that memory stays bounded, too.
 */
const rowsMax = 1_000;
const bytesMax = 256 * 1_024;
/** Up to here one query takes all rows at once: the way of most statements. */
const smallRowsMax = 32;

/** Also what the applier uses to read the rows back. */
export const pinnedSettings = {
  search_path: 'pg_catalog, pg_temp',
  datestyle: 'ISO, MDY',
  intervalstyle: 'postgres',
  timezone: 'UTC',
  extra_float_digits: '1',
  bytea_output: 'hex',
  lc_monetary: 'C',
  quote_all_identifiers: 'off',
  xmloption: 'content',
} as const;

export const pinnedClauses = Object.entries(pinnedSettings)
  .map(([name, value]) =>
    name === 'search_path' ? `SET search_path = ${value}` : `SET ${name} = '${value}'`,
  )
  .join(' ');

const header = (letter: string): string => `ARRAY[
    convert_to(concat('${letter}', '"', replace(TG_TABLE_SCHEMA, '"', '""'), '"."', replace(TG_TABLE_NAME, '"', '""'), '"'), 'UTF8'),
    convert_to(left(current_query(), 300), 'UTF8')]`;

const small = (source: string, target: string): string => `
  SELECT array_agg(convert_to(t.r, 'UTF8')) INTO ${target}
  FROM (SELECT concat(x.*) AS r FROM ${source} x LIMIT ${smallRowsMax + 1}) t;`;

/** Insert or delete: one list of rows. */
function captureRows(name: string, letter: string, source: string): string {
  return `
CREATE OR REPLACE FUNCTION _barista.${name}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER ${pinnedClauses} AS $capture$
DECLARE
  header bytea[];
  batch bytea[];
  bytes bigint := 0;
  row_text text;
BEGIN ${small(source, 'batch')}
  IF batch IS NULL THEN RETURN NULL; END IF;
  header := ${header(letter)};
  IF cardinality(batch) <= ${smallRowsMax} AND pg_column_size(batch) <= ${bytesMax} THEN
    INSERT INTO _barista.captured (record) VALUES (array_send(array_cat(header, batch)));
    RETURN NULL;
  END IF;
  batch := '{}';
  FOR row_text IN SELECT concat(x.*) FROM ${source} x LOOP
    batch := array_append(batch, convert_to(row_text, 'UTF8'));
    bytes := bytes + octet_length(row_text);
    IF cardinality(batch) >= ${rowsMax} OR bytes >= ${bytesMax} THEN
      INSERT INTO _barista.captured (record) VALUES (array_send(array_cat(header, batch)));
      batch := '{}';
      bytes := 0;
      header[2] := '';
    END IF;
  END LOOP;
  IF cardinality(batch) > 0 THEN
    INSERT INTO _barista.captured (record) VALUES (array_send(array_cat(header, batch)));
  END IF;
  RETURN NULL;
END $capture$;`;
}

/** The two transition tables hold the rows in the same order. */
const captureUpdate = `
CREATE OR REPLACE FUNCTION _barista.capture_update() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER ${pinnedClauses} AS $capture$
DECLARE
  header bytea[];
  before bytea[];
  after bytea[];
  bytes bigint := 0;
  before_text text;
  after_text text;
  before_rows CURSOR FOR SELECT concat(x.*) FROM old_rows x;
  after_rows CURSOR FOR SELECT concat(x.*) FROM new_rows x;
BEGIN ${small('old_rows', 'before')}
  IF before IS NULL THEN RETURN NULL; END IF;
  header := ${header('U')};
  IF cardinality(before) <= ${smallRowsMax} AND pg_column_size(before) <= ${bytesMax} THEN ${small('new_rows', 'after')}
    IF cardinality(before) <> cardinality(after) THEN
      RAISE EXCEPTION 'capture: % rows before, % after', cardinality(before), cardinality(after);
    END IF;
    INSERT INTO _barista.captured (record) VALUES (array_send(array_cat(array_cat(header, before), after)));
    RETURN NULL;
  END IF;
  before := '{}';
  after := '{}';
  OPEN before_rows;
  OPEN after_rows;
  LOOP
    FETCH before_rows INTO before_text;
    EXIT WHEN NOT FOUND;
    FETCH after_rows INTO after_text;
    IF NOT FOUND THEN RAISE EXCEPTION 'capture: fewer rows after than before'; END IF;
    before := array_append(before, convert_to(before_text, 'UTF8'));
    after := array_append(after, convert_to(after_text, 'UTF8'));
    bytes := bytes + octet_length(before_text) + octet_length(after_text);
    IF cardinality(before) >= ${rowsMax} OR bytes >= ${bytesMax} THEN
      INSERT INTO _barista.captured (record) VALUES (array_send(array_cat(array_cat(header, before), after)));
      before := '{}';
      after := '{}';
      bytes := 0;
      header[2] := '';
    END IF;
  END LOOP;
  CLOSE before_rows;
  CLOSE after_rows;
  IF cardinality(before) > 0 THEN
    INSERT INTO _barista.captured (record) VALUES (array_send(array_cat(array_cat(header, before), after)));
  END IF;
  RETURN NULL;
END $capture$;`;

/**
 * With several tables in one TRUNCATE, a trigger of the first could have written to the second before this one runs for it: the
 * record would then wipe what is to stay. So the table must still be empty.
 */
const captureTruncate = `
CREATE OR REPLACE FUNCTION _barista.capture_truncate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER ${pinnedClauses} AS $capture$
DECLARE
  filled boolean;
BEGIN
  EXECUTE format('SELECT EXISTS (SELECT FROM %I.%I)', TG_TABLE_SCHEMA, TG_TABLE_NAME) INTO filled;
  IF filled THEN
    RAISE EXCEPTION 'cannot replicate a TRUNCATE whose triggers fill another table of the same statement'
      USING ERRCODE = 'feature_not_supported', HINT = 'Truncate the tables in separate statements.';
  END IF;
  INSERT INTO _barista.captured (record) VALUES (array_send(${header('T')}));
  RETURN NULL;
END $capture$;`;

export const captureSql = [
  captureRows('capture_insert', 'I', 'new_rows'),
  captureRows('capture_delete', 'D', 'old_rows'),
  captureUpdate,
  captureTruncate,
].join('\n');

/** Attaching the triggers, and telling whether they are attached as they should be. */
export const captureInstallSql = `
-- Tables whose rows are replicated.
CREATE OR REPLACE FUNCTION _barista.is_replicated(relation oid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $body$
  SELECT EXISTS (
    SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = relation AND c.relkind IN ('r', 'p') AND c.relpersistence = 'p'
      AND n.nspname NOT IN ('_barista', 'pg_catalog', 'information_schema', 'pg_toast'))
$body$;

-- The four triggers as they were made: enabled, ours, unconditional, and first in the order of firing.
CREATE OR REPLACE FUNCTION _barista.capture_intact(relation oid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $body$
  SELECT count(*) = 4 FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
  WHERE t.tgrelid = relation AND t.tgisinternal AND t.tgenabled = 'O' AND t.tgqual IS NULL
    AND p.pronamespace = '_barista'::regnamespace
    AND (t.tgname, p.proname, t.tgtype) IN (
      ('!barista_insert', 'capture_insert', 4), ('!barista_delete', 'capture_delete', 8),
      ('!barista_update', 'capture_update', 16), ('!barista_truncate', 'capture_truncate', 32))
$body$;

CREATE OR REPLACE FUNCTION _barista.attach_capture(relation oid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  target text := relation::regclass::text;
BEGIN
  EXECUTE format('CREATE TRIGGER "!barista_insert" AFTER INSERT ON %s REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION _barista.capture_insert()', target);
  EXECUTE format('CREATE TRIGGER "!barista_delete" AFTER DELETE ON %s REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION _barista.capture_delete()', target);
  EXECUTE format('CREATE TRIGGER "!barista_update" AFTER UPDATE ON %s REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION _barista.capture_update()', target);
  EXECUTE format('CREATE TRIGGER "!barista_truncate" AFTER TRUNCATE ON %s
    FOR EACH STATEMENT EXECUTE FUNCTION _barista.capture_truncate()', target);
  -- Not the client's: hidden from \\d and pg_dump, and the table's owner cannot disable or replace them.
  UPDATE pg_trigger SET tgisinternal = true WHERE tgrelid = relation AND tgname LIKE '!barista\\_%';
END $body$;
`;
