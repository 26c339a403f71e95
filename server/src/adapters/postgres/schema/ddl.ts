/**
 * DDL: event triggers that note each schema change as its statement, put capture on new tables, and refuse what cannot be
 * replicated. They are enabled ALWAYS, so a follower that runs the statement again attaches capture, too, and notes nothing.
 *
 * Who runs the statement matters, and only a function with the invoker's rights sees it: so on_ddl and on_drop run as the client
 * and hand over to functions that run as the superuser. Those check by their own call stack that nobody else has called them.
 */
import { ddlChecksSql, refuse } from './ddl-checks.ts';

const recordedSettings = [
  'TimeZone',
  'DateStyle',
  'IntervalStyle',
  'default_tablespace',
  'default_table_access_method',
  'default_toast_compression',
  'check_function_bodies',
  'standard_conforming_strings',
  'backslash_quote',
  'transform_null_equals',
  'array_nulls',
  'xmloption',
  // ALTER COLUMN ... TYPE text makes texts of values.
  'bytea_output',
  'extra_float_digits',
  'lc_monetary',
];

/** The text of the statement that is running, from the call stack below the event trigger. */
const statementText = `
CREATE OR REPLACE FUNCTION _barista.statement_text(stack text, tag text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  frame constant text := E'"\\nPL/pgSQL function ';
  statement text;
  rest text;
BEGIN
  IF stack = '' THEN
    RETURN current_query();
  END IF;
  IF NOT starts_with(stack, 'SQL statement "') OR strpos(stack, frame) = 0 THEN
    ${refuse(`'cannot replicate % from within this kind of function', tag`, 'Run it as a statement of its own, or from PL/pgSQL.')}
  END IF;
  statement := substr(stack, 16, strpos(stack, frame) - 16);
  -- Nested calls: one of the frames could be part of the statement's own text, so that text must be beyond doubt.
  IF strpos(substr(stack, strpos(stack, frame) + 1), frame) > 0 THEN
    rest := regexp_replace(statement, $re$'(?:[^']|'')*'|"(?:[^"]|"")*"$re$, '', 'g');
    IF right(statement, 1) = '"' OR statement ~ '[\\\\]|/[*]|--' OR rest ~ $re$['"]|[$][^ $]*[$]$re$ THEN
      ${refuse(`'cannot replicate % from within nested functions: its text is ambiguous', tag`, 'Run it as a statement of its own.')}
    END IF;
  END IF;
  -- EXECUTE takes several statements, and each of them would be noted as the whole text.
  IF tag NOT IN ('CREATE FUNCTION', 'CREATE PROCEDURE', 'CREATE RULE') THEN
    rest := regexp_replace(statement, $re$'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\\n]*|/[*].*?[*]/|([$][^ $]*[$]).*?\\1$re$, '', 'g');
    IF rest ~ ';\\s*\\S' THEN
      ${refuse(`'cannot replicate several statements in one EXECUTE'`, 'Execute them one by one.')}
    END IF;
  END IF;
  RETURN statement;
END $body$;`;

const recordStatement = `
CREATE OR REPLACE FUNCTION _barista.record_statement(statement text, caller name, path text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  INSERT INTO _barista.captured (record) SELECT array_send(array_agg(convert_to(v.value, 'UTF8') ORDER BY v.i))
  FROM unnest(ARRAY['X', left(current_query(), 300), statement, caller, 'search_path', path,
    ${recordedSettings.map((name) => `'${name}', current_setting('${name}')`).join(', ')}]) WITH ORDINALITY AS v(value, i);
END $body$;

-- All rows of a table, as one insert would have been captured.
CREATE OR REPLACE FUNCTION _barista.record_rows(relation oid) RETURNS void
LANGUAGE plpgsql PINNED AS $body$
DECLARE
  name text := (SELECT concat('"', replace(n.nspname, '"', '""'), '"."', replace(c.relname, '"', '""'), '"')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation);
  batch bytea[] := '{}';
  bytes bigint := 0;
  row_text text;
  header bytea[] := ARRAY[convert_to('I' || name, 'UTF8'), ''];
BEGIN
  FOR row_text IN EXECUTE format('SELECT concat(x.*) FROM %s x', name) LOOP
    batch := array_append(batch, convert_to(row_text, 'UTF8'));
    bytes := bytes + octet_length(row_text);
    IF cardinality(batch) >= 1000 OR bytes >= 262144 THEN
      INSERT INTO _barista.captured (record) VALUES (array_send(array_cat(header, batch)));
      batch := '{}';
      bytes := 0;
    END IF;
  END LOOP;
  IF cardinality(batch) > 0 THEN
    INSERT INTO _barista.captured (record) VALUES (array_send(array_cat(header, batch)));
  END IF;
END $body$;

-- CREATE TABLE AS and SELECT INTO ran a query: the others get the table that came out, then its rows.
CREATE OR REPLACE FUNCTION _barista.record_table_with_rows(relation oid, caller name, path text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  statement text;
BEGIN
  SELECT format('CREATE TABLE %I.%I (%s) USING %I%s%s', n.nspname, c.relname,
      (SELECT string_agg(format('%I %s%s', a.attname, format_type(a.atttypid, a.atttypmod),
          CASE WHEN a.attcollation <> t.typcollation
            THEN (SELECT format(' COLLATE %I.%I', cn.nspname, co.collname) FROM pg_collation co
              JOIN pg_namespace cn ON cn.oid = co.collnamespace WHERE co.oid = a.attcollation) END), ', ' ORDER BY a.attnum)
        FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
      am.amname,
      ' WITH (' || nullif(array_to_string(c.reloptions, ', '), '') || ')',
      (SELECT format(' TABLESPACE %I', spcname) FROM pg_tablespace WHERE oid = c.reltablespace))
    INTO statement
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_am am ON am.oid = c.relam WHERE c.oid = relation;
  PERFORM _barista.record_statement(statement, caller, path);
  PERFORM _barista.record_rows(relation);
END $body$;`;

/** `stack`: what is below the caller's frame. Only on_ddl and on_drop get through. */
const stackCheck = (self: string, caller: string): string => `
  GET DIAGNOSTICS stack = PG_CONTEXT;
  frames := regexp_match(stack, '^PL/pgSQL function _barista\\.${self}\\(name,text,text\\) line \\d+ at GET DIAGNOSTICS\\nPL/pgSQL function _barista\\.${caller}\\(\\) line \\d+ at assignment(?:\\n(.*))?$');
  IF frames IS NULL THEN
    RAISE EXCEPTION 'permission denied for function ${self}' USING ERRCODE = 'insufficient_privilege';
  END IF;
  stack := coalesce(frames[1], '');`;

const recordDdl = `
-- What the statement made or changed: the relation concerned, if any, and whether it is a temporary thing.
CREATE OR REPLACE FUNCTION _barista.ddl_commands() RETURNS TABLE (classid oid, objid oid, relation oid, temporary boolean)
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $body$
  SELECT d.classid, d.objid, r.relation, (d.schema_name ~ '^pg_temp'
      OR EXISTS (SELECT FROM pg_class WHERE oid = r.relation AND relpersistence = 't')
      OR d.object_identity ~ '(^| on )pg_temp'
      -- GRANT does not say on what.
      OR d.command_tag IN ('GRANT', 'REVOKE') AND _barista.granted_on_temporary()) IS TRUE
  FROM pg_event_trigger_ddl_commands() d CROSS JOIN LATERAL (SELECT CASE d.classid
      WHEN 'pg_class'::regclass THEN d.objid
      WHEN 'pg_trigger'::regclass THEN (SELECT tgrelid FROM pg_trigger WHERE oid = d.objid)
      WHEN 'pg_rewrite'::regclass THEN (SELECT ev_class FROM pg_rewrite WHERE oid = d.objid)
      WHEN 'pg_policy'::regclass THEN (SELECT polrelid FROM pg_policy WHERE oid = d.objid)
      WHEN 'pg_constraint'::regclass THEN (SELECT conrelid FROM pg_constraint WHERE oid = d.objid)
    END AS relation) r
  WHERE d.schema_name IS DISTINCT FROM '_barista'
$body$;

-- Extension scripts, our own statements, and the operator: nothing is noted, but new tables get capture.
CREATE OR REPLACE FUNCTION _barista.ddl_by_superuser() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  -- Our own triggers, while attach_capture makes them, are not complete yet.
  PERFORM _barista.check_relation(r.relation) FROM (
    SELECT DISTINCT c.relation FROM _barista.ddl_commands() c WHERE c.classid <> 'pg_trigger'::regclass) r;
  IF EXISTS (SELECT FROM _barista.ddl_commands() c) THEN PERFORM _barista.track_sequences(); END IF;
END $body$;

CREATE OR REPLACE FUNCTION _barista.record_ddl(caller name, path text, tag text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  stack text;
  frames text[];
  statement text;
  local_only boolean;
  any_command boolean;
  recording boolean := current_setting('session_replication_role') <> 'replica';
BEGIN ${stackCheck('record_ddl', 'on_ddl')}
  SELECT count(*) > 0, coalesce(bool_and(c.temporary), true) INTO any_command, local_only FROM _barista.ddl_commands() c;
  PERFORM _barista.check_relation(r.relation) FROM (SELECT DISTINCT c.relation FROM _barista.ddl_commands() c) r;
  PERFORM _barista.track_sequences();
  IF NOT recording OR NOT any_command AND tag NOT IN ('DROP OWNED', 'GRANT', 'REVOKE', 'ALTER DEFAULT PRIVILEGES') OR any_command AND local_only
    OR tag LIKE 'DROP %' AND tag <> 'DROP OWNED' OR tag IN ('REINDEX') THEN
    RETURN false;
  END IF;
  IF tag = 'REFRESH MATERIALIZED VIEW' THEN
    ${refuse(`'cannot replicate the rows of a materialized view'`, 'Use a table, filled by INSERT ... SELECT.')}
  END IF;
  PERFORM _barista.check_temporary_references();
  IF tag IN ('CREATE TABLE AS', 'SELECT INTO') THEN
    PERFORM _barista.record_table_with_rows(d.objid, caller, path)
      FROM pg_event_trigger_ddl_commands() d WHERE d.classid = 'pg_class'::regclass;
    RETURN true;
  END IF;
  IF EXISTS (SELECT FROM _barista.ddl_commands() c JOIN pg_constraint k ON k.contypid = c.objid AND c.classid = 'pg_type'::regclass
    WHERE _barista.is_mutable(k.conbin::text)) THEN
    ${refuse(`'cannot replicate a domain whose check may change its mind'`, 'Use only immutable functions in the check of a domain.')}
  END IF;
  statement := _barista.statement_text(stack, tag);
  PERFORM _barista.check_temporary_names(statement);
  PERFORM _barista.check_moments(statement, tag);
  PERFORM _barista.record_statement(statement, caller, path);
  IF tag = 'ALTER TABLE' THEN
    PERFORM _barista.check_computed(r.objid, statement) FROM (
      SELECT DISTINCT objid FROM pg_event_trigger_ddl_commands() WHERE classid = 'pg_class'::regclass) r;
  END IF;
  RETURN true;
END $body$;

CREATE OR REPLACE FUNCTION _barista.on_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $body$
DECLARE
  recorded boolean;
BEGIN
  IF CURRENT_USER OPERATOR(pg_catalog.=) 'postgres' THEN
    PERFORM _barista.ddl_by_superuser();
    RETURN;
  END IF;
  recorded := _barista.record_ddl(CURRENT_USER, pg_catalog.current_setting('search_path'), TG_TAG);
END $body$;`;

const recordDrop = `
CREATE OR REPLACE FUNCTION _barista.record_drop(caller name, path text, tag text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  stack text;
  frames text[];
  gone record;
  temporary int;
  permanent int;
BEGIN ${stackCheck('record_drop', 'on_drop')}
  IF EXISTS (
    SELECT FROM pg_event_trigger_dropped_objects() WHERE original AND object_type = 'trigger' AND object_identity LIKE '"!barista\\_%') THEN
    RAISE EXCEPTION 'replication of a table may not be changed' USING ERRCODE = 'insufficient_privilege';
  END IF;
  FOR gone IN DELETE FROM _barista.tracked_sequence t WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = t.sequence) RETURNING t.agreed LOOP
    EXECUTE format('DROP SEQUENCE %s', gone.agreed::regclass);
  END LOOP;
  IF current_setting('session_replication_role') = 'replica' OR tag NOT LIKE 'DROP %' OR tag = 'DROP OWNED' THEN
    RETURN false;
  END IF;
  SELECT count(*) FILTER (WHERE is_temporary OR object_identity ~ '(^| on )pg_temp'),
      count(*) FILTER (WHERE NOT (is_temporary OR object_identity ~ '(^| on )pg_temp'))
    INTO temporary, permanent FROM pg_event_trigger_dropped_objects() WHERE original;
  IF permanent = 0 THEN RETURN false; END IF;
  IF temporary > 0 THEN
    ${refuse(`'cannot replicate a statement that drops temporary and permanent objects'`, 'Drop them in separate statements.')}
  END IF;
  PERFORM _barista.record_statement(_barista.statement_text(stack, tag), caller, path);
  RETURN true;
END $body$;

CREATE OR REPLACE FUNCTION _barista.on_drop() RETURNS event_trigger LANGUAGE plpgsql AS $body$
DECLARE
  recorded boolean;
BEGIN
  IF CURRENT_USER OPERATOR(pg_catalog.=) 'postgres' THEN RETURN; END IF;
  recorded := _barista.record_drop(CURRENT_USER, pg_catalog.current_setting('search_path'), TG_TAG);
END $body$;`;

/**
 * PostgreSQL lets two transactions change the schema at once where one builds on what the other drops or replaces; what comes out
 * then depends on moments that other replicas do not see. So one at a time, until the transaction ends: what a statement finds is what
 * the slots before its own have left. Not for temporary tables of a statement by itself, which nobody else sees.
 */
const ddlTurn = `
CREATE OR REPLACE FUNCTION _barista.on_ddl_start() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  stack text;
BEGIN
  IF TG_TAG = 'REINDEX' THEN RETURN; END IF;
  GET DIAGNOSTICS stack = PG_CONTEXT;
  IF TG_TAG = 'CREATE TABLE' AND stack !~ '\\n'
    AND current_query() ~* '^\\s*create\\s+((local|global)\\s+)?temp(orary)?\\s[^;]*;?\\s*$' THEN
    RETURN;
  END IF;
  LOCK TABLE _barista.ddl_turn IN EXCLUSIVE MODE;
END $body$;`;

export const ddlSql = (pinned: string): string =>
  [
    statementText,
    recordStatement.replace('PINNED', pinned),
    ddlChecksSql,
    recordDdl,
    recordDrop,
    ddlTurn,
  ].join('\n');

export const eventTriggersSql = `
-- Only where statements are first run: a follower has them in order.
CREATE EVENT TRIGGER barista_ddl_start ON ddl_command_start EXECUTE FUNCTION _barista.on_ddl_start();
CREATE EVENT TRIGGER barista_ddl ON ddl_command_end EXECUTE FUNCTION _barista.on_ddl();
CREATE EVENT TRIGGER barista_drop ON sql_drop EXECUTE FUNCTION _barista.on_drop();
ALTER EVENT TRIGGER barista_ddl ENABLE ALWAYS;
ALTER EVENT TRIGGER barista_drop ENABLE ALWAYS;
`;
