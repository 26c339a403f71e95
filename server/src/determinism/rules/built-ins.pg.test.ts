/** Every relation of PostgreSQL's, and every function that is not immutable, is known to the rules, or stands here as one that tells the same everywhere: a new version of PostgreSQL makes somebody decide. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestPostgres, type TestPostgres } from '../../gateways/pgwire/testing/postgres.ts';
import { ofOneReplica, ownViews, refusedFunctions, replaced, takesSql } from './functions.ts';

let postgres: TestPostgres;

beforeAll(async () => {
  postgres = await startTestPostgres();
});
afterAll(() => postgres.stop());

async function names(sql: string): Promise<readonly string[]> {
  const { rows } = await postgres.superuser.query<{ name: string }>(sql);
  return rows.map(({ name }) => name);
}

const words = (...lists: readonly string[]): ReadonlySet<string> => new Set(lists.join(' ').split(' '));

/** What clients have written, or had written, in the same order everywhere. */
const alikeRelations = words(
  'aggregate am amop amproc attrdef attribute auth_members authid cast class collation constraint conversion database db_role_setting default_acl depend description enum event_trigger extension',
  'foreign_data_wrapper foreign_server foreign_table group index indexes inherits init_privs language largeobject largeobject_metadata matviews namespace opclass operator opfamily parameter_acl',
  'partitioned_table policies policy proc publication publication_namespace publication_rel publication_tables range rewrite roles rules seclabel seclabels sequence sequences shadow shdepend',
  'shdescription shseclabel statistic_ext tables tablespace transform trigger ts_config ts_config_map ts_dict ts_parser ts_template type user user_mapping user_mappings views',
);

test('relations: those of one replica are refused as a source, the others tell the same', async () => {
  const unknown = await names(
    "SELECT substr(relname, 4) AS name FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v')",
  );
  expect(unknown.filter((name) => !ownViews.test(`pg_${name}`) && !alikeRelations.has(name))).toEqual([]);
  expect([...alikeRelations].filter((name) => ownViews.test(`pg_${name}`))).toEqual([]);
});

/** Of types, operators' estimates, languages, access methods and aggregates; what only pg_upgrade calls. */
const alikeKinds =
  /(?:^reg\w+|^any\w+|_|recv|send)(?:in|out|recv|send|sel|typanalyze|handler|validator|transfn|finalfn)$|^(?:area|array|arraycont|cont|eq|i?c?n?like|icregex[en][eq]|matching|multirange|neq|network|n?like|position|prefix|range|regex[en][eq]|scalar[gl][te]|tsmatch|icnlike)(?:join)?sel$|(?:recv|send|handler|typanalyze|validator)$|^binary_upgrade_|^RI_FKey_/;

/** They ask the catalogs, the session's own settings, or the arguments. */
const alike = words(
  'aclexplode anytextcat array_to_json array_to_string amvalidate bernoulli system cash_in col_description concat concat_ws convert convert_from convert_to current_database current_schema current_schemas',
  'current_setting current_user date date_add date_part date_subtract date_trunc dsnowball_init dsnowball_lexize enum_first enum_last enum_range extract format format_type generate_series',
  'get_current_ts_config getdatabaseencoding getpgusername has_any_column_privilege has_column_privilege has_database_privilege has_foreign_data_wrapper_privilege has_function_privilege',
  'has_language_privilege has_largeobject_privilege has_parameter_privilege has_schema_privilege has_sequence_privilege has_server_privilege has_table_privilege has_tablespace_privilege',
  'has_type_privilege in_range interval_pl_timestamptz json_agg json_agg_strict json_build_array json_build_object json_object_agg json_object_agg_strict json_object_agg_unique',
  'json_object_agg_unique_strict json_populate_record json_populate_recordset json_to_record json_to_recordset json_to_tsvector jsonb_agg jsonb_agg_strict jsonb_build_array jsonb_build_object',
  'jsonb_object_agg jsonb_object_agg_strict jsonb_object_agg_unique jsonb_object_agg_unique_strict jsonb_path_exists_tz jsonb_path_match_tz jsonb_path_query_array_tz jsonb_path_query_first_tz',
  'jsonb_path_query_tz jsonb_populate_record jsonb_populate_record_valid jsonb_populate_recordset jsonb_to_record jsonb_to_recordset jsonb_to_tsvector length make_timestamptz money numeric obj_description',
  'oidvectortypes overlaps phraseto_tsquery plainto_tsquery quote_literal quote_nullable regclass row_security_active row_to_json session_user shobj_description system_user textanycat time timestamp',
  'timestamptz timestamptz_mi_interval timestamptz_pl_interval timetz timezone to_char to_date to_json to_jsonb to_number to_regclass to_regcollation to_regnamespace to_regoper to_regoperator to_regproc',
  'to_regprocedure to_regrole to_regtype to_regtypemod to_timestamp to_tsquery to_tsvector ts_debug ts_headline ts_match_tq ts_match_tt ts_parse ts_token_type version websearch_to_tsquery xml',
  'xml_is_well_formed aclitemin aclitemout suppress_redundant_updates_trigger tsvector_update_trigger tsvector_update_trigger_column unique_key_recheck',
  // Large objects, chance and sequences, which go on alike.
  'lo_close lo_get lo_lseek lo_lseek64 lo_open lo_put lo_tell lo_tell64 lo_truncate lo_truncate64 lo_unlink loread lowrite nextval random random_normal setseed setval',
  // Has rules of its own.
  'set_config',
);
const alikeOfPg = words(
  'advisory_unlock advisory_unlock_all advisory_unlock_shared advisory_xact_lock advisory_xact_lock_shared try_advisory_lock try_advisory_lock_shared try_advisory_xact_lock',
  'try_advisory_xact_lock_shared basetype client_encoding collation_for collation_is_visible column_compression column_is_updatable conversion_is_visible event_trigger_ddl_commands',
  'event_trigger_dropped_objects event_trigger_table_rewrite_oid event_trigger_table_rewrite_reason extension_config_dump extension_update_paths function_is_visible get_acl get_catalog_foreign_keys',
  'get_constraintdef get_expr get_function_arg_default get_function_arguments get_function_identity_arguments get_function_result get_function_sqlbody get_functiondef get_indexdef get_keywords',
  'get_object_address get_partition_constraintdef get_partkeydef get_publication_tables get_replica_identity_index get_ruledef get_serial_sequence get_statisticsobjdef',
  'get_statisticsobjdef_columns get_statisticsobjdef_expressions get_triggerdef get_userbyid get_viewdef has_role index_column_has_property index_has_property indexam_has_property input_error_info',
  'input_is_valid is_in_recovery listening_channels notify opclass_is_visible operator_is_visible opfamily_is_visible options_to_table partition_ancestors partition_root partition_tree',
  'relation_is_publishable relation_is_updatable sequence_last_value sequence_parameters settings_get_flags statistics_obj_is_visible table_is_visible trigger_depth ts_config_is_visible',
  'ts_dict_is_visible ts_parser_is_visible ts_template_is_visible type_is_visible typeof encoding_to_char char_to_encoding',
  'stop_making_pinned_objects split_walfile_name',
);

function isAlike(name: string): boolean {
  return name.startsWith('pg_') ? alikeOfPg.has(name.slice(3)) : alike.has(name);
}

test('functions: those of one replica are refused or replaced, the others tell the same', async () => {
  const unknown = await names(
    "SELECT DISTINCT proname AS name FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND provolatile <> 'i' ORDER BY 1",
  );
  const isKnown = (name: string): boolean =>
    refusedFunctions.has(name) || replaced.has(name) || takesSql.has(name) || ofOneReplica.test(name);
  const comparing = /^(?:date|timestamp|timestamptz)_(?:cmp|eq|ge|gt|le|lt|ne)_\w+$/;
  expect(
    unknown.filter(
      (name) => !isKnown(name) && !isAlike(name) && !alikeKinds.test(name) && !comparing.test(name),
    ),
  ).toEqual([]);
  expect([...alike, ...[...alikeOfPg].map((name) => `pg_${name}`)].filter(isKnown)).toEqual([]);
});
