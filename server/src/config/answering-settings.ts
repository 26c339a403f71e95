/**
 * Settings of PostgreSQL by which a statement's answer, or what it leaves, differs: where statements travel they are the same at all replicas, so that no member's configuration may have its own.
 *
 * Plans and memory are not among them: what they may change (the order of rows) is nobody's promise, and is not compared. A test compares with adapters/postgres/pinned-settings.ts.
 */
export const answeringSettings: readonly string[] = [
  // Names, and whose rights count.
  'search_path',
  'transform_null_equals',
  'row_security',
  'session_replication_role',
  'lo_compat_privileges',
  'allow_system_table_mods',
  'allow_in_place_tablespaces',
  'restrict_nonsystem_relation_kind',
  'createrole_self_grant',
  'role',
  'event_triggers',
  // Transactions.
  'default_transaction_read_only',
  'default_transaction_deferrable',
  'exit_on_error',
  // How SQL is read.
  'standard_conforming_strings',
  'backslash_quote',
  'array_nulls',
  'quote_all_identifiers',
  'check_function_bodies',
  'icu_validation_level',
  'plpgsql.variable_conflict',
  'plpgsql.check_asserts',
  'plpgsql.extra_errors',
  // How values are told.
  'client_encoding',
  'bytea_output',
  'datestyle',
  'intervalstyle',
  'timezone',
  'timezone_abbreviations',
  'extra_float_digits',
  'xmlbinary',
  'xmloption',
  'lc_monetary',
  'lc_numeric',
  'lc_time',
  'default_text_search_config',
  // Where objects are made, and how.
  'default_tablespace',
  'temp_tablespaces',
  'default_table_access_method',
  'default_toast_compression',
  'password_encryption',
  // What is found, and what is too much.
  'gin_fuzzy_search_limit',
  'debug_parallel_query',
  'force_parallel_mode',
  'pg_trgm.similarity_threshold',
  'pg_trgm.word_similarity_threshold',
  'pg_trgm.strict_word_similarity_threshold',
  'max_stack_depth',
  'temp_file_limit',
];
