/**
 * The built-in functions that read a clock, chance, the machine or the next number of an object, and what becomes of a call: one of `barista_fn`, or a refusal.
 *
 * Left alone: random(), random_normal(), random(min, max) and setseed(): their generator is the session's own, and the executor seeds it for each operation (`SET seed`). current_user and
 * its kin, version() and sequences are the same at every replica that executes the same.
 */

/** Numbers of arguments with which the built-in is called; others are somebody else's function. */
export const replaced: ReadonlyMap<string, readonly number[]> = new Map([
  ['now', [0]],
  ['transaction_timestamp', [0]],
  ['statement_timestamp', [0]],
  ['clock_timestamp', [0]],
  ['timeofday', [0]],
  ['age', [1]],
  ['gen_random_uuid', [0]],
  ['uuidv4', [0]],
  ['uuidv7', [0, 1]],
  ['pg_backend_pid', [0]],
  ['lo_create', [1]],
  ['lo_creat', [1]],
  ['lo_from_bytea', [2]],
]);

const transactionIds =
  'txid_current txid_current_if_assigned txid_current_snapshot pg_current_xact_id pg_current_xact_id_if_assigned pg_current_snapshot txid_status pg_xact_status pg_xact_commit_timestamp pg_last_committed_xact mxid_age';
const machine =
  'inet_client_addr inet_client_port inet_server_addr inet_server_port pg_postmaster_start_time pg_conf_load_time pg_current_wal_lsn pg_current_wal_insert_lsn pg_current_wal_flush_lsn pg_current_logfile pg_my_temp_schema pg_last_wal_replay_lsn pg_last_wal_receive_lsn pg_last_xact_replay_timestamp pg_control_system pg_control_checkpoint';
const outside =
  'pg_read_file pg_read_binary_file pg_ls_dir pg_stat_file pg_ls_logdir pg_ls_waldir pg_ls_tmpdir pg_ls_archive_statusdir lo_import lo_export dblink dblink_connect dblink_exec dblink_open dblink_send_query pg_terminate_backend pg_cancel_backend pg_reload_conf pg_rotate_logfile pg_switch_wal pg_promote pg_create_restore_point pg_backup_start pg_backup_stop pg_create_physical_replication_slot pg_create_logical_replication_slot pg_logical_emit_message pg_replication_origin_advance pg_export_snapshot';
const chance =
  'array_shuffle array_sample gen_salt gen_random_bytes pgp_sym_encrypt pgp_sym_encrypt_bytea pgp_pub_encrypt pgp_pub_encrypt_bytea uuid_generate_v1 uuid_generate_v1mc uuid_generate_v4 normal_rand';
const waits = 'pg_sleep pg_sleep_for pg_sleep_until pg_advisory_lock pg_advisory_lock_shared';

const stateOfExtensions = 'state of extensions';

export interface RefusedFunction {
  readonly rule: string;
  readonly hint: string;
}

const rows: readonly (readonly [names: string, rule: string, hint: string])[] = [
  [transactionIds, 'transaction ids', 'They differ between replicas.'],
  [machine, 'the machine', 'Its result is specific to one replica.'],
  [outside, 'outside the database', 'It has an effect at one replica only.'],
  [chance, 'other chance', 'Use random() or gen_random_uuid().'],
  [
    'query_to_xml query_to_xmlschema query_to_xml_and_xmlschema cursor_to_xml cursor_to_xmlschema table_to_xml table_to_xmlschema table_to_xml_and_xmlschema schema_to_xml schema_to_xmlschema schema_to_xml_and_xmlschema database_to_xml database_to_xmlschema database_to_xml_and_xmlschema ts_stat',
    'SQL in a string',
    'The SQL in its argument is not checked.',
  ],
  [
    'set_limit',
    stateOfExtensions,
    'Use SET pg_trgm.similarity_threshold, which a replica keeps when it is restarted.',
  ],
  [
    'isn_weak',
    stateOfExtensions,
    'Its effect is lost when a replica restarts. From PostgreSQL 18 on, use SET isn.weak.',
  ],
  [waits, 'waiting functions', 'A statement that waits would block all other sessions.'],
  [
    'currval lastval',
    'numbers of a session',
    'They are lost when a replica restarts. Use RETURNING, or the value from nextval().',
  ],
  [
    'current_query',
    'the text that is executed',
    'It returns the rewritten statement, not the one that was sent.',
  ],
];

export const refusedFunctions: ReadonlyMap<string, RefusedFunction> = new Map(
  rows.flatMap(([names, rule, hint]) => names.split(' ').map((name) => [name, { rule, hint }] as const)),
);

/** Names of functions, without their beginning `pg_`, that tell of one replica: sizes, statistics, files, processes, its temporary schemas. */
export const toldByOneReplica = [
  '(?:database|relation|total_relation|table|indexes|tablespace|column)_size|relation_file(?:node|path)|filenode_relation|column_toast_chunk_id|nextoid|numa_available|jit_available',
  'stat_\\w{1,63}|lock_status|notification_queue_usage|prepared_(?:statement|xact)|cursor|show_all_(?:file_)?settings|show_replication_origin_status|ls_\\w{1,63}|hba_file_rules|ident_file_mappings',
  'get_(?:wal|shmem|backend|replication|wait_events|loaded_modules|aios|multixact|sequence_data)\\w{0,63}|(?:safe_snapshot_)?blocking_pids|isolation_test_session_is_blocked|mcv_list_items',
  'available_\\w{1,63}|config|(?:database_)?collation_actual_version|import_system_collations|tablespace_(?:databases|location)|control_(?:init|recovery)',
  'snapshot_x(?:ip|max|min)|visible_in_snapshot|walfile_name(?:_offset)?|wal_(?:replay|summary)_\\w{1,63}|is_wal_replay_paused|log_(?:backend|standby)_\\w{1,63}|xact_commit_timestamp_origin',
  '(?:clear|restore)_(?:attribute|relation)_stats|logical_slot_\\w{1,63}|(?:copy_\\w{1,20}|drop|sync)_replication_slots?|replication_\\w{1,63}',
  'describe_object|identify_object(?:_as_address)?|is_other_temp_schema',
].join('|');
/** Likewise, by their whole names: what they did depends on when autovacuum came, and on where rows are. */
export const maintaining =
  'brin_(?:summarize_new_values|summarize_range|desummarize_range)|gin_clean_pending_list|currtid2?';
/** Views and functions: whether it is summer there depends on the clock. In bodies they are let through, for they are asked for names, which are the same everywhere. */
const zones = 'timezone_(?:names|abbrevs(?:_zone|_abbrevs)?)';
export const ofOneReplica = new RegExp(`^(?:pg_(?:${toldByOneReplica}|${zones})|${maintaining})$`);
/** Views and catalogs that do, without their beginning `pg_`: they show a process, a session's clock, statistics, or what is installed there. */
export const viewsOfOneReplica =
  'stat_\\w{0,63}|statio_\\w{0,63}|stats(?:_ext(?:_exprs)?)?|statistic(?:_ext_data)?|locks|settings|prepared_(?:xacts|statements)|replication_\\w{0,63}|hba_\\w{0,63}|ident_file_\\w{0,63}|file_\\w{0,63}|shmem\\w{0,63}|backend_\\w{0,63}|config|cursors|aios|wait_events|available_\\w{0,63}|subscription(?:_rel)?';
export const ownViews = new RegExp(`^pg_(?:${viewsOfOneReplica}|${zones})$`);

/** Settings that may have another value at each replica. Those of a library are there once the session has loaded it, which one that was opened again has not. */
export const ownSettings =
  /^(?:port|cluster_name|listen_addresses|data_directory|config_file|hba_file|ident_file|external_pid_file|unix_socket_\w+|primary_\w+|restore_command|archive_\w+|log_\w+|ssl_\w+|in_hot_standby|shared_\w+|huge_pages_status|synchronous_standby_names|(?:pg_trgm|pgcrypto|isn)\.\w+)$/i;

/** These execute SQL that a string holds, and are of use all the same: sql-in-strings.ts looks into it. */
export const takesSql: ReadonlySet<string> = new Set(
  'crosstab crosstab2 crosstab3 crosstab4 crosstab_hash connectby ts_rewrite'.split(' '),
);

/** Rules for functions that extensions have, in whatever schema these are. */
export const rulesOfExtensions: ReadonlySet<string> = new Set(['other chance', stateOfExtensions]);

/** A name in its parts is not certainly that of a client's function: the functions of extensions stand in any schema. */
export function mayBeBuiltIn(parts: readonly string[]): boolean {
  const name = parts.at(-1) ?? '';
  const isOfExtension =
    rulesOfExtensions.has(refusedFunctions.get(name)?.rule ?? '') ||
    takesSql.has(name) ||
    name.startsWith('dblink');
  return parts.length === 1 || (parts.length === 2 && (parts[0] === 'pg_catalog' || isOfExtension));
}

/** Up to PostgreSQL 17 pgcrypto has a gen_random_uuid of its own, in whatever schema it is. Without a schema it is PostgreSQL's. */
export function pgcryptoRefusal(
  parts: readonly string[],
): (RefusedFunction & { readonly message: string }) | undefined {
  const [schema, name] = parts;
  if (parts.length !== 2 || name !== 'gen_random_uuid') return undefined;
  if (schema === 'pg_catalog' || schema === 'barista_fn') return undefined;
  return {
    message: `${schema}.${name} is not replicated`,
    hint: 'Call gen_random_uuid() without a schema.',
    rule: 'other chance',
  };
}

/** SQL's own words for the clock, by the parser's names: the function takes the place of the word, so that the column of an answer keeps its name. */
export const clockWords: ReadonlyMap<string, string> = new Map([
  ['SVFOP_CURRENT_DATE', 'current_date'],
  ['SVFOP_CURRENT_TIME', 'current_time'],
  ['SVFOP_CURRENT_TIME_N', 'current_time'],
  ['SVFOP_CURRENT_TIMESTAMP', 'current_timestamp'],
  ['SVFOP_CURRENT_TIMESTAMP_N', 'current_timestamp'],
  ['SVFOP_LOCALTIME', 'localtime'],
  ['SVFOP_LOCALTIME_N', 'localtime'],
  ['SVFOP_LOCALTIMESTAMP', 'localtimestamp'],
  ['SVFOP_LOCALTIMESTAMP_N', 'localtimestamp'],
]);
