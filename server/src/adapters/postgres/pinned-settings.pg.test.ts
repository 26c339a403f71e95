/** Every setting that a session can have from elsewhere is pinned, or is harmless for a reason that stands here. */
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeBarePostgres, type BarePostgres } from '../../wal/record/testing/bare-postgres.ts';
import { openCopySession } from './digest/copy-session.ts';
import { openReadingSession } from './digest/reading-session.ts';
import { connectPg } from './pg-client.ts';
import { pinnedSettings } from './pinned-settings.ts';
import { installedPostgres } from './testing/installed-postgres.ts';
import { testBinaries } from './testing/test-instance.ts';

/** What is neither pinned nor able to do harm, by the reason. Of settings that PostgreSQL 18 has. */
const harmless: Readonly<Record<string, string>> = {
  'each session of ours names itself': 'application_name',
  'a plan costs more or less, and finds the same rows': `
    constraint_exclusion cpu_index_tuple_cost cpu_operator_cost cpu_tuple_cost cursor_tuple_fraction
    effective_cache_size enable_async_append enable_bitmapscan enable_distinct_reordering enable_gathermerge
    enable_group_by_reordering enable_hashagg enable_hashjoin enable_incremental_sort enable_indexonlyscan
    enable_indexscan enable_material enable_memoize enable_mergejoin enable_nestloop enable_parallel_append
    enable_parallel_hash enable_partition_pruning enable_partitionwise_aggregate enable_partitionwise_join
    enable_presorted_aggregate enable_self_join_elimination enable_seqscan enable_sort enable_tidscan
    from_collapse_limit geqo geqo_effort geqo_generations geqo_pool_size geqo_seed geqo_selection_bias
    geqo_threshold join_collapse_limit max_parallel_workers min_parallel_index_scan_size
    min_parallel_table_scan_size parallel_leader_participation parallel_setup_cost parallel_tuple_cost
    plan_cache_mode random_page_cost recursive_worktable_factor seq_page_cost synchronize_seqscans`,
  'jit is off': `
    jit_above_cost jit_debugging_support jit_dump_bitcode jit_expressions jit_inline_above_cost
    jit_optimize_above_cost jit_profiling_support jit_tuple_deforming`,
  'memory and I/O: the work is slower, and ends': `
    backend_flush_after effective_io_concurrency gin_pending_list_limit hash_mem_multiplier io_combine_limit
    logical_decoding_work_mem maintenance_io_concurrency maintenance_work_mem
    max_parallel_maintenance_workers temp_buffers vacuum_buffer_usage_limit work_mem file_copy_method`,
  'vacuum does more or less at once; ours has tables of a few pages': `
    vacuum_cost_limit vacuum_cost_page_dirty vacuum_cost_page_hit vacuum_cost_page_miss vacuum_failsafe_age
    vacuum_freeze_min_age vacuum_freeze_table_age vacuum_max_eager_freeze_failure_rate
    vacuum_multixact_failsafe_age vacuum_multixact_freeze_min_age vacuum_multixact_freeze_table_age
    vacuum_truncate default_statistics_target`,
  'how WAL is written, not what it says': `
    commit_siblings wal_compression wal_consistency_checking wal_init_zero wal_recycle wal_skip_threshold`,
  'what is written to the log, or told as a notice': `
    backtrace_functions debug_pretty_print debug_print_parse debug_print_plan debug_print_rewritten
    escape_string_warning icu_validation_level log_connections log_disconnections log_duration
    log_error_verbosity log_executor_stats log_lock_failures log_lock_waits log_min_duration_sample
    log_min_duration_statement log_min_error_statement log_min_messages log_parameter_max_length
    log_parameter_max_length_on_error log_parser_stats log_planner_stats log_replication_commands
    log_statement log_statement_sample_rate log_statement_stats log_temp_files log_transaction_sample_rate
    md5_password_warnings trace_notify trace_sort lc_messages`,
  'statistics about the session': `
    compute_query_id stats_fetch_consistency track_activities track_cost_delay_timing track_counts
    track_functions track_io_timing track_wal_io_timing update_process_title`,
  'a socket that is no TCP': `
    client_connection_check_interval tcp_keepalives_count tcp_keepalives_idle tcp_keepalives_interval
    tcp_user_timeout`,
  'of formats that no statement of ours uses': `
    default_text_search_config lc_monetary lc_numeric lc_time scram_iterations`,
  'only a superuser sets it, and it names where libraries and extensions are, or is for developers': `
    allow_in_place_tablespaces deadlock_timeout debug_discard_caches dynamic_library_path
    extension_control_path max_stack_depth`,
  'of one transaction: each begins with the default, which is pinned': `
    transaction_deferrable transaction_isolation transaction_read_only`,
  'it restricts views and foreign tables, and our statements read neither':
    'restrict_nonsystem_relation_kind',
  'of logical replication': 'debug_logical_replication_streaming',
};

interface Setting {
  readonly name: string;
  readonly vartype: string;
  readonly setting: string;
  readonly others: readonly string[] | null;
  readonly low: string | null;
}

let postgres: BarePostgres;
let admin: Client;
let settings: readonly Setting[];

beforeAll(async () => {
  postgres = await makeBarePostgres();
  await postgres.start();
  admin = await postgres.connect();
  const { rows } = await admin.query<Setting>(
    `SELECT name, vartype, reset_val AS setting, enumvals AS others, min_val AS low FROM pg_settings
     WHERE context IN ('user', 'superuser', 'backend', 'superuser-backend') ORDER BY name`,
  );
  settings = rows;
});
afterAll(() => postgres.remove());

const pinned = (): Readonly<Record<string, string>> => pinnedSettings(postgres.majorVersion);
const isPinned = (name: string): boolean => name.toLowerCase() in pinned();

it('each setting that a role, a database or a file can give a session is pinned or harmless', () => {
  const known = Object.values(harmless).flatMap((names) => names.trim().split(/\s+/));
  const neither = settings.map(({ name }) => name).filter((name) => !isPinned(name) && !known.includes(name));
  const both = known.filter(isPinned);
  expect({ neither, both }).toEqual({ neither: [], both: [] });
  expect(new Set(known).size).toBe(known.length);
});

/** Another value than it has. */
function hostile({ name, vartype, setting, others, low }: Setting): string | null {
  if (name === 'client_encoding') return 'LATIN1';
  // Of the file alone.
  if (name === 'post_auth_delay' || name === 'ignore_system_indexes') return null;
  if (name.endsWith('preload_libraries')) return 'nowhere';
  if (name.endsWith('timeout')) return '1';
  if (name === 'vacuum_cost_delay' || name === 'commit_delay') return '100';
  if (name === 'search_path') return 'evil, public';
  if (name === 'default_table_access_method' || name === 'timezone_abbreviations') return null;
  if (name === 'DateStyle') return 'German';
  if (name === 'TimeZone') return 'Asia/Tokyo';
  if (/tablespace/.test(name)) return null;
  if (vartype === 'bool') return setting === 'on' ? 'off' : 'on';
  if (vartype === 'enum') return others?.find((one) => one !== setting) ?? null;
  if (vartype === 'string') return null;
  return low === setting ? String(Number(low) + 1) : low;
}

describe('where roles and databases have other values', () => {
  const database = 'hostile';

  beforeAll(async () => {
    await admin.query(`CREATE DATABASE ${database}`);
    await admin.query('CREATE ROLE other');
    for (const setting of settings) {
      const value = hostile(setting);
      if (value === null || !isPinned(setting.name)) continue;
      await admin.query(`ALTER DATABASE ${database} SET ${setting.name} = '${value}'`);
      await admin.query(`ALTER ROLE postgres IN DATABASE ${database} SET ${setting.name} = '${value}'`);
    }
    await admin.query(`ALTER DATABASE ${database} SET role = other`);
  });

  it('a session of ours has those that are pinned', async () => {
    const client = await connectPg({ socketDir: postgres.socketDir, database, silentMsMax: null });
    const { rows } = await client.query<{ name: string; value: string }>(
      'SELECT name, pg_catalog.current_setting(name) AS value FROM pg_catalog.unnest($1::pg_catalog.text[]) AS name',
      [Object.keys(pinned())],
    );
    await client.end();
    expect(Object.fromEntries(rows.map(({ name, value }) => [name, value]))).toEqual(pinned());
  });

  it('so have those that read what clients have made', async () => {
    const { version } = await testBinaries();
    const address = { socketDir: postgres.socketDir, version };
    const client = await openReadingSession(address, database);
    const { rows } = await client.query('SHOW enable_indexscan');
    expect(rows).toEqual([{ enable_indexscan: 'off' }]);
    await client.end();
    const copying = await openCopySession(address, database);
    expect(await copying.copy(Buffer.from('COPY pg_catalog.pg_class TO STDOUT'))).toHaveLength(1);
    copying.close();
  });
});

it('a session begins in a database of any encoding', async () => {
  await admin.query(
    "CREATE DATABASE mule ENCODING 'MULE_INTERNAL' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0",
  );
  const client = await connectPg({ socketDir: postgres.socketDir, database: 'mule', silentMsMax: null });
  const { rows } = await client.query("SELECT pg_catalog.current_setting('server_encoding') AS encoding");
  await client.end();
  expect(rows).toEqual([{ encoding: 'MULE_INTERNAL' }]);
});

it('a session begins on the PostgreSQL that is installed, whose version knows other settings', async (context) => {
  const pgBin = await installedPostgres();
  context.skip(pgBin === null, 'no PostgreSQL is installed');
  const older = await makeBarePostgres(pgBin === null ? {} : { pgBin });
  try {
    await older.start();
    const client = await connectPg({ socketDir: older.socketDir, database: 'postgres', silentMsMax: null });
    const { rows } = await client.query('SHOW jit');
    await client.end();
    expect(rows).toEqual([{ jit: 'off' }]);
  } finally {
    await older.remove();
  }
});
