/**
 * What a hostile client can make in a database of its own: a shadow of everything that PostgreSQL has, in front of it by the search path, and every default that a role or a database can have.
 *
 * A shadow that is called says so in the server's log, with the role in whose name it runs.
 */

export const shadowCalled = 'a shadow was called';

/** For a role that owns its database: statements, one after the other. All functions with their very arguments, all operators, all relations, all types that can be the basis of a domain. */
export const shadowStatements: readonly string[] = [
  'CREATE SCHEMA evil',
  'GRANT ALL ON SCHEMA evil TO PUBLIC',
  `CREATE FUNCTION evil.seen(what text) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN RAISE WARNING '${shadowCalled}: %', what; RETURN true; END $$`,
  'SET check_function_bodies = off',
  // Pseudo-types that functions of clients cannot have are passed over.
  `DO $do$ DECLARE f record; BEGIN
    FOR f IN SELECT p.oid, p.proname, pg_get_function_identity_arguments(p.oid) AS arguments, format_type(p.prorettype, NULL) AS result, p.proretset
      FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND p.oid < 16384
    LOOP
      BEGIN
        EXECUTE format('CREATE FUNCTION evil.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', f.proname,
          (SELECT string_agg(format_type(t, NULL), ', ' ORDER BY i) FROM unnest((SELECT proargtypes FROM pg_proc WHERE oid = f.oid)::oid[]) WITH ORDINALITY AS a(t, i)),
          CASE WHEN f.proretset THEN 'SETOF ' ELSE '' END || f.result,
          format('BEGIN PERFORM evil.seen(%L); RETURN%s; END', f.proname, CASE WHEN f.proretset OR f.result = 'void' THEN '' ELSE ' NULL' END));
      EXCEPTION WHEN OTHERS THEN NULL;
      END;
    END LOOP;
  END $do$`,
  `DO $do$ DECLARE o record; BEGIN
    FOR o IN SELECT oprname, format_type(oprleft, NULL) AS l, format_type(oprright, NULL) AS r, oprleft, format_type(oprresult, NULL) AS result
      FROM pg_operator WHERE oprnamespace = 'pg_catalog'::regnamespace
    LOOP
      BEGIN
        IF o.oprleft = 0 THEN
          EXECUTE format('CREATE FUNCTION evil.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', 'operator ' || o.oprname, o.r, o.result, format('BEGIN PERFORM evil.seen(%L); RETURN NULL; END', 'operator ' || o.oprname));
          EXECUTE format('CREATE OPERATOR evil.%s (RIGHTARG = %s, FUNCTION = evil.%I)', o.oprname, o.r, 'operator ' || o.oprname);
        ELSE
          EXECUTE format('CREATE FUNCTION evil.%I(%s, %s) RETURNS %s LANGUAGE plpgsql AS %L', 'operator ' || o.oprname, o.l, o.r, o.result, format('BEGIN PERFORM evil.seen(%L); RETURN NULL; END', 'operator ' || o.oprname));
          EXECUTE format('CREATE OPERATOR evil.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = evil.%I)', o.oprname, o.l, o.r, 'operator ' || o.oprname);
        END IF;
      EXCEPTION WHEN OTHERS THEN NULL;
      END;
    END LOOP;
  END $do$`,
  `DO $do$ DECLARE c record; BEGIN
    FOR c IN SELECT relname FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v')
    LOOP
      BEGIN
        EXECUTE format('CREATE VIEW evil.%I AS SELECT * FROM pg_catalog.%I WHERE evil.seen(%L)', c.relname, c.relname, c.relname);
      EXCEPTION WHEN OTHERS THEN NULL;
      END;
    END LOOP;
  END $do$`,
  `DO $do$ DECLARE t record; BEGIN
    FOR t IN SELECT typname FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype = 'b' AND typelem = 0
    LOOP
      BEGIN
        EXECUTE format('CREATE DOMAIN evil.%I AS pg_catalog.%I CHECK (evil.seen(%L))', t.typname, t.typname, t.typname);
      EXCEPTION WHEN OTHERS THEN NULL;
      END;
    END LOOP;
  END $do$`,
  // What backups are tested with, by the names that it had once.
  'CREATE SCHEMA amcheck_of_barista',
  `CREATE FUNCTION amcheck_of_barista.verify_heapam(o oid, OUT blkno text, OUT msg text) RETURNS SETOF record LANGUAGE plpgsql AS $$
    BEGIN PERFORM evil.seen('verify_heapam'); END $$`,
  `CREATE FUNCTION amcheck_of_barista.bt_index_check(o oid, b boolean) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN PERFORM evil.seen('bt_index_check'); END $$`,
];

/** By those who may: all that a role's or a database's session can begin with, but for what keeps the client itself from coming. */
export function hostileDefaults(database: string): readonly string[] {
  const settings = [
    'search_path = evil, pg_catalog, public',
    "default_transaction_isolation = 'serializable'",
    'default_transaction_read_only = on',
    'default_transaction_deferrable = on',
    "statement_timeout = '1ms'",
    "lock_timeout = '1ms'",
    "idle_in_transaction_session_timeout = '1ms'",
    "idle_session_timeout = '1ms'",
    "transaction_timeout = '1ms'",
    "client_encoding = 'LATIN1'",
    'role = evil_role',
    'row_security = off',
    'check_function_bodies = off',
    "bytea_output = 'escape'",
    "datestyle = 'German'",
    "intervalstyle = 'sql_standard'",
    'extra_float_digits = -15',
    "timezone = 'Asia/Tokyo'",
    'synchronous_commit = off',
    'standard_conforming_strings = off',
    'quote_all_identifiers = on',
    'transform_null_equals = on',
    'exit_on_error = on',
    "xmloption = 'document'",
    "local_preload_libraries = 'nowhere'",
  ];
  return settings.map((setting) => `ALTER DATABASE ${database} SET ${setting}`);
}
