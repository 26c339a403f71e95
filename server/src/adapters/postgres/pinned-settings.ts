/**
 * The settings that Barista's own sessions bring along in their startup packet.
 *
 * A setting of a role, of a database or of the configuration file is in force from a session's beginning. What the startup packet says outranks all three; only the session itself outranks the packet.
 * pinned-settings.pg.test.ts asks PostgreSQL for all settings that a session can have, and fails on one that is neither here nor harmless.
 */

/** Every version from 15 on knows these. */
const always: Readonly<Record<string, string>> = {
  // Names.
  search_path: 'pg_catalog, pg_temp',
  transform_null_equals: 'off',
  // Whose session it is.
  role: 'none',
  row_security: 'off',
  session_replication_role: 'origin',
  lo_compat_privileges: 'off',
  allow_system_table_mods: 'off',
  // No code of others.
  local_preload_libraries: '',
  session_preload_libraries: '',
  jit: 'off',
  // Transactions. A standby can begin none that is serializable.
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: 'off',
  default_transaction_deferrable: 'off',
  synchronous_commit: 'on',
  commit_delay: '0',
  exit_on_error: 'off',
  // Time-outs. The last one is a wait ahead of the first statement.
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
  // Goes by the wall clock: a clock that steps would end the session that hears of commits, and with it a leadership. Who is on the other end runs on the same machine.
  wal_sender_timeout: '0',
  vacuum_cost_delay: '0',
  post_auth_delay: '0',
  // How SQL is read.
  standard_conforming_strings: 'on',
  backslash_quote: 'safe_encoding',
  array_nulls: 'on',
  quote_all_identifiers: 'off',
  check_function_bodies: 'on',
  // How values are told. Nothing is converted: not every encoding can be brought into another one.
  client_encoding: 'SQL_ASCII',
  client_min_messages: 'warning',
  bytea_output: 'hex',
  datestyle: 'ISO, YMD',
  intervalstyle: 'postgres',
  timezone: 'UTC',
  timezone_abbreviations: 'Default',
  extra_float_digits: '1',
  xmlbinary: 'base64',
  xmloption: 'content',
  // Where objects are made, and how.
  default_tablespace: '',
  temp_tablespaces: '',
  default_table_access_method: 'heap',
  default_toast_compression: 'pglz',
  password_encryption: 'scram-sha-256',
  // What is read, and in which order.
  gin_fuzzy_search_limit: '0',
  ignore_system_indexes: 'off',
  ignore_checksum_failure: 'off',
  zero_damaged_pages: 'off',
  max_parallel_workers_per_gather: '0',
  temp_file_limit: '-1',
  // An extension that carries DDL to other servers. PostgreSQL takes a name with a dot whether or not the extension is there.
  'citus.enable_ddl_propagation': 'off',
};

interface Era {
  /** Major versions, both inclusive. */
  readonly first: number;
  readonly last: number;
  readonly settings: Readonly<Record<string, string>>;
}

/** What some versions do not know. */
const eras: readonly Era[] = [
  { first: 15, last: 15, settings: { force_parallel_mode: 'off' } },
  { first: 16, last: Infinity, settings: { debug_parallel_query: 'off', createrole_self_grant: '' } },
  { first: 17, last: Infinity, settings: { transaction_timeout: '0', event_triggers: 'off' } },
];

/** For reading what clients have made, in the order in which it lies. */
export const readingSettings: Readonly<Record<string, string>> = {
  search_path: '',
  synchronize_seqscans: 'off',
  enable_indexscan: 'off',
  enable_indexonlyscan: 'off',
  enable_bitmapscan: 'off',
  client_min_messages: 'error',
};

/** The versions that know different sets of them, the newest first. */
export const settingsVersions: readonly number[] = [17, 16, 15];

/** What a server of this version is told. */
export function pinnedSettings(majorVersion: number): Readonly<Record<string, string>> {
  const known = eras
    .filter(({ first, last }) => first <= majorVersion && majorVersion <= last)
    .map(({ settings }) => settings);
  return Object.assign({}, always, ...known) as Record<string, string>;
}
