/**
 * What a schema change is checked for before it is noted: that the other replicas, who run the statement again, come to the same.
 * Refuses with 0A000 and a hint, or has the rows sent again that the statement computed. Noting the statement is ddl.ts's.
 */
export const refuse = (message: string, hint: string): string =>
  `RAISE EXCEPTION ${message} USING ERRCODE = 'feature_not_supported', HINT = '${hint}';`;

const relationChecks = `
-- Might the expression (a node tree) give another value on another replica?
CREATE OR REPLACE FUNCTION _barista.is_mutable(expression text) RETURNS boolean
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $body$
  SELECT expression ~ 'SQLVALUEFUNCTION|NEXTVALUEEXPR' OR EXISTS (
    SELECT FROM regexp_matches(expression, ':(?:funcid|opfuncid) (\\d+)', 'g') m JOIN pg_proc p ON p.oid = m[1]::oid
    WHERE p.provolatile <> 'i')
$body$;

-- Computed for existing rows: what a client declares of a function is not taken for granted there.
CREATE OR REPLACE FUNCTION _barista.is_doubtful(expression text) RETURNS boolean
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $body$
  SELECT _barista.is_mutable(expression) OR EXISTS (
    SELECT FROM regexp_matches(expression, ':(?:funcid|opfuncid) (\\d+)', 'g') m WHERE m[1]::oid >= 16384)
$body$;

-- Is this row of a catalog the work of the running transaction (or one of its subtransactions)?
CREATE OR REPLACE FUNCTION _barista.is_mine(x xid) RETURNS boolean
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $body$
  SELECT x::text::bigint >= 3 AND (x::text::bigint - (pg_current_xact_id()::text::bigint & 4294967295)) & 4294967295 < 2147483648
$body$;

-- Did this transaction grant something on one of the session's temporary relations?
CREATE OR REPLACE FUNCTION _barista.granted_on_temporary() RETURNS boolean
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $body$
  SELECT pg_my_temp_schema() <> 0 AND EXISTS (
    SELECT FROM pg_class c WHERE c.relnamespace = pg_my_temp_schema() AND (c.relacl IS NOT NULL AND _barista.is_mine(c.xmin)
      OR EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attacl IS NOT NULL AND _barista.is_mine(a.xmin))))
$body$;

CREATE OR REPLACE FUNCTION _barista.check_relation(relation oid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  c pg_class%ROWTYPE;
BEGIN
  SELECT * INTO c FROM pg_class WHERE oid = relation;
  IF NOT FOUND OR c.relpersistence = 't' THEN RETURN; END IF;
  IF c.relpersistence = 'u' THEN
    ${refuse(`'cannot replicate the unlogged relation %', relation::regclass`, 'Leave out UNLOGGED: commits wait for no disk here anyway.')}
  END IF;
  IF c.relkind = 'm' AND c.relispopulated THEN
    ${refuse(`'cannot replicate the rows of materialized view %', relation::regclass`, 'Use a table, filled by INSERT ... SELECT.')}
  END IF;
  IF NOT c.relispartition AND EXISTS (SELECT FROM pg_inherits WHERE inhrelid = relation) AND c.relkind IN ('r', 'f') THEN
    ${refuse(`'cannot replicate the inheritance child %', relation::regclass`, 'Use declarative partitioning.')}
  END IF;
  IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = relation AND NOT tgisinternal AND tgenabled IN ('A', 'R'))
    OR EXISTS (SELECT FROM pg_rewrite WHERE ev_class = relation AND ev_enabled IN ('A', 'R')) THEN
    ${refuse(`'triggers and rules that fire on replicas are not supported (%)', relation::regclass`, 'What they did on the leader is replicated already. Use plain ENABLE.')}
  END IF;
  IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = relation AND NOT tgisinternal AND tgname < '!barista_z') THEN
    ${refuse(`'a trigger of this name would fire before replication sees the change (%)', relation::regclass`, 'Let its name begin with a letter.')}
  END IF;
  -- Hashes of these are made of OIDs.
  IF EXISTS (
    SELECT FROM pg_partitioned_table p CROSS JOIN LATERAL unnest(p.partattrs, p.partclass) AS k(attnum, class)
      JOIN pg_opclass oc ON oc.oid = k.class LEFT JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = k.attnum AND k.attnum > 0
      LEFT JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type e ON e.oid = t.typelem
    WHERE p.partrelid = relation AND p.partstrat = 'h' AND (
      oc.opcintype IN ('anyenum'::regtype, 'record'::regtype, 'anyrange'::regtype, 'anymultirange'::regtype)
      OR oc.opcintype = 'anyarray'::regtype AND (e.typtype IS DISTINCT FROM 'b' OR e.typcategory = 'N' AND e.typname ~ '^reg')
      OR oc.opcintype = 'oid'::regtype AND a.atttypid IS DISTINCT FROM 'oid'::regtype)) THEN
    ${refuse(`'cannot replicate %: hashes of this type of key differ between replicas', relation::regclass`, 'Partition by list, or by the hash of a text or a number.')}
  END IF;
  IF NOT _barista.is_replicated(relation) THEN RETURN; END IF;
  IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = relation AND tgname LIKE '!barista\\_%') THEN
    PERFORM _barista.attach_capture(relation);
  ELSIF NOT _barista.capture_intact(relation) THEN
    RAISE EXCEPTION 'replication of % may not be changed', relation::regclass USING ERRCODE = 'insufficient_privilege';
  END IF;
END $body$;

-- ALTER TABLE that computed values for existing rows in a way that may differ elsewhere: the others get all rows again.
CREATE OR REPLACE FUNCTION _barista.check_computed(relation oid, statement text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  filled boolean;
BEGIN
  IF NOT _barista.is_replicated(relation) OR NOT EXISTS (
    SELECT FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
      LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped AND _barista.is_mine(a.xmin)
      AND (a.attidentity <> '' OR a.attgenerated = '' AND _barista.is_doubtful(coalesce(d.adbin, t.typdefaultbin)::text) OR statement ~* '\\musing\\M')) THEN
    RETURN;
  END IF;
  EXECUTE format('SELECT EXISTS (SELECT FROM %s)', relation::regclass) INTO filled;
  IF NOT filled THEN RETURN; END IF;
  IF EXISTS (SELECT FROM pg_constraint WHERE confrelid = relation AND contype = 'f') THEN
    ${refuse(
      `'cannot replicate values computed for the existing rows of %, which other tables refer to', relation::regclass`,
      'Add the column without a default, UPDATE the rows, then set the default.',
    )}
  END IF;
  INSERT INTO _barista.captured (record)
  SELECT array_send(ARRAY[
    convert_to(concat('T', '"', replace(n.nspname, '"', '""'), '"."', replace(c.relname, '"', '""'), '"'), 'UTF8'), ''])
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation;
  PERFORM _barista.record_rows(relation);
END $body$;`;

/** Temporary objects are the session's: what is to exist on every replica must not need them. */
const temporaryChecks = `
-- What depends on a temporary object is temporary itself, or refused.
CREATE OR REPLACE FUNCTION _barista.check_temporary_references() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  offender text;
BEGIN
  IF pg_my_temp_schema() = 0 THEN RETURN; END IF;
  WITH temporary AS (
    SELECT 'pg_class'::regclass AS class, oid FROM pg_class WHERE relnamespace = pg_my_temp_schema()
    UNION ALL SELECT 'pg_type'::regclass, oid FROM pg_type WHERE typnamespace = pg_my_temp_schema()
    UNION ALL SELECT 'pg_proc'::regclass, oid FROM pg_proc WHERE pronamespace = pg_my_temp_schema()
  )
  SELECT i.identity INTO offender
    FROM temporary t JOIN pg_depend d ON d.refclassid = t.class AND d.refobjid = t.oid
      CROSS JOIN LATERAL pg_identify_object(d.classid, d.objid, 0) i
    WHERE coalesce(i.schema, '') !~ '^pg_(toast_)?temp' AND i.identity !~ '(^|^for | on )pg_(toast_)?temp' LIMIT 1;
  IF offender IS NOT NULL THEN
    ${refuse(`'cannot replicate %, which refers to a temporary object', offender`, 'Only this session has the temporary object. Make it a permanent one.')}
  END IF;
END $body$;

-- LIKE, a function's text and the like leave no dependency: there the name decides.
CREATE OR REPLACE FUNCTION _barista.check_temporary_names(statement text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  mentioned text;
BEGIN
  IF pg_my_temp_schema() = 0 THEN RETURN; END IF;
  SELECT n.name INTO mentioned FROM (
      SELECT relname AS name FROM pg_class WHERE relnamespace = pg_my_temp_schema() AND relkind <> 'i'
      UNION SELECT typname FROM pg_type WHERE typnamespace = pg_my_temp_schema() AND typrelid = 0 AND typelem = 0
      UNION SELECT proname FROM pg_proc WHERE pronamespace = pg_my_temp_schema()) n
    WHERE statement ~* concat('(?:^|[^.[:alnum:]_$"]|[^."]"|pg_temp(?:_[0-9]+)?"?\\s*[.]\\s*"?)',
      regexp_replace(replace(n.name, '"', '""'), '([^[:alnum:]_])', '\\\\\\1', 'g'), '(?![[:alnum:]_$])') LIMIT 1;
  IF mentioned IS NOT NULL THEN
    ${refuse(
      `'cannot replicate a statement that may mean the temporary %', quote_ident(mentioned)`,
      'Only this session has the temporary object. Write the schema before the name of a permanent one.',
    )}
  END IF;
END $body$;`;

/**
 * A constant 'now' or 'today' of a type of dates or times becomes a value when the statement is read, on each replica another one.
 * The text decides: the constant that came out tells no more where it is from. `'now'::text` is no such constant.
 */
const momentChecks = `
CREATE OR REPLACE FUNCTION _barista.check_moments(statement text, tag text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  code text := statement;
BEGIN
  IF statement !~* '\\m(now|today|tomorrow|yesterday)\\M' OR tag ~ '^(COMMENT|SECURITY LABEL|GRANT|REVOKE|CREATE TYPE|ALTER TYPE)' THEN RETURN; END IF;
  IF tag IN ('CREATE FUNCTION', 'CREATE PROCEDURE') THEN
    -- The body is read when it runs.
    code := regexp_replace(code, '([$][^ $]*[$]).*?\\1', '', 'g');
  END IF;
  IF code ~* $re$(?<!')'[^'a-z]*(now|today|tomorrow|yesterday)[^'a-z]*((am|pm|at|allballs|utc|gmt|zulu|z)\\M[^'a-z]*)*'(?!')(?!\\s*::\\s*"?(text|varchar|character|bpchar|name)\\M)$re$
    AND (code ~* '\\m(date|time|timetz|timestamp|timestamptz|tsrange|tstzrange|daterange)\\M' OR EXISTS (
      SELECT FROM _barista.ddl_commands() d JOIN pg_attribute a ON a.attrelid = d.relation JOIN pg_type t ON t.oid = a.atttypid
      WHERE a.attnum > 0 AND t.typcategory = 'D')
      OR tag NOT IN ('CREATE TABLE', 'ALTER TABLE', 'CREATE INDEX', 'CREATE FUNCTION', 'CREATE PROCEDURE')) THEN
    ${refuse(
      `'cannot replicate a constant that means the moment, such as ''now'''`,
      "Use now(), CURRENT_TIMESTAMP or CURRENT_DATE; for a text that reads so, write ''today''::text.",
    )}
  END IF;
END $body$;`;

export const ddlChecksSql = [relationChecks, temporaryChecks, momentChecks].join('\n');
