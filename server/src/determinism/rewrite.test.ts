import { beforeAll, describe, expect, test } from 'vitest';
import { originalPosition } from './edits.ts';
import { rewriteMessages } from './messages.ts';
import { loadParser } from './parser.ts';
import { refusedFunctions } from './rules/functions.ts';
import { rewriteBinary, rewriteQuery } from './rewrite.ts';

beforeAll(loadParser);

const context = { clientEncoding: 'UTF8', standardConformingStrings: true };

function rewritten(sql: string): string {
  const result = rewriteQuery(sql, context);
  return result.kind === 'rewritten' ? result.sql : `refused: ${result.rule}`;
}

describe('what reads a clock or chance becomes a call of barista_fn', () => {
  test.each([
    ['select now()', 'select barista_fn.now()'],
    ['select é, NOW ( ) as "now" -- now()', 'select é, barista_fn.now ( ) as "now" -- now()'],
    ['select pg_catalog.now(), "now"()', 'select barista_fn.now(), barista_fn.now()'],
    [
      'select current_timestamp(3), CURRENT_DATE',
      'select barista_fn.current_timestamp(3), barista_fn.current_date()',
    ],
    [
      'create table t (a uuid default gen_random_uuid())',
      'create table t (a uuid default barista_fn.gen_random_uuid())',
    ],
    [
      "insert into t values (lo_create(0), pg_catalog.lo_creat(-1), lo_from_bytea(0, '\\x00'))",
      "insert into t values (barista_fn.lo_create(0), barista_fn.lo_creat(-1), barista_fn.lo_from_bytea(0, '\\x00'))",
    ],
    ['select age(d.datfrozenxid) from d', 'select age(d.datfrozenxid) from d'],
    ['select age(a), age(a, b) from t', 'select barista_fn.age(a), age(a, b) from t'],
    ['SET transaction_timeout = 300', 'SET transaction_timeout = 0'],
    ["set local  Idle_Session_Timeout to '1ms'; select 1", 'set local  Idle_Session_Timeout to 0; select 1'],
    ['set session "lock_timeout" = -1', 'set session "lock_timeout" = 0'],
    ['set statement_timeout = default', 'set statement_timeout = default'],
    [
      "select set_config('transaction_timeout', '40ms', true), set_config('a.b', '40ms', true)",
      "select set_config('transaction_timeout', '0', true), set_config('a.b', '40ms', true)",
    ],
    [
      "create function f() returns int set transaction_timeout = '40ms' begin atomic select 1; end",
      'create function f() returns int set transaction_timeout = 0 begin atomic select 1; end',
    ],
    [
      "alter function f() set idle_in_transaction_session_timeout to '1ms'",
      'alter function f() set idle_in_transaction_session_timeout to 0',
    ],
    [
      'create function f() returns timestamptz begin atomic select now(); end',
      'create function f() returns timestamptz begin atomic select barista_fn.now(); end',
    ],
  ])('%s', (sql, expected) => {
    expect(rewritten(sql)).toBe(expected);
    expect(rewritten(expected)).toBe(expected);
  });
});

const effects = 'what a definition does to a session';

test.each([
  "create function f() returns void language plpgsql as $$begin set local work_mem = '8MB'; update t set a = 1; end$$",
  "create function f() returns void language sql as $$update t set a = 'x;' where b in (select 'set' from u)$$",
  'create function f() returns bool language sql as $$select pg_try_advisory_xact_lock(1)$$',
  "do $$begin set work_mem = '8MB'; end$$",
  'select pg_try_advisory_lock(1)',
  'explain select pg_try_advisory_lock(1)',
  'select 1; ; select 2',
  "select 'now()', $$now()$$, U&'\\006eow()', now from t",
  'select public.now(), other.random(), now(1) from t',
  'select random(), setseed(0.5), current_user, nextval($1)',
  "insert into t values ('today'::text, 'know', 'now and then', '(well, now)', '[\"a\", \"now\"]'::jsonb)",
  "select * from crosstab('select a, b, c from t order by 1, 2') as t(a int, b int, c int)",
  "select * from crosstab('select a, b, c from t order by 1, 2', 'select ''x'' union select ''y'' order by 1')",
  "select * from crosstab(source_sql => 'select a, b, c from t', n => 2) as t(a int, b int)",
  "select * from connectby('t', 'k', 'p', $1, 0) as t(a int, b int, l int)",
  "select ts_rewrite(q, 'select a, b from t'), ts_rewrite(q, r, s) from x",
  'insert into pg_search_documents values (pg_search_dmetaphone($1))',
  "insert into t values ('what is pg_temp_3?', current_schema(), 'public.t'::regclass)",
  'create view v as select n.nspname from pg_namespace n where nspname = any (current_schemas(true))',
  'do $$begin perform 1 from pg_namespace where nspname = ANY(current_schemas(false)); end$$',
  "do $$begin perform 1 from pg_timezone_names where name = 'UTC'; end$$",
  "do $$begin perform 1 from pg_namespace where nspname !~ '^pg_temp_'; end$$",
  'do $$begin insert into t values (barista_fn.gen_random_uuid(), app.gen_salt); end$$',
  'set search_path = public, pg_temp',
  "insert into t select relname from pg_class c join pg_namespace n on n.oid = relnamespace where n.nspname = 'a'",
  "insert into t select table_name from information_schema.tables where table_schema in ('a', 'b')",
  "create table t as select nspname from pg_namespace where nspname not like 'pg_%'",
  "create table t as select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> $1",
  'insert into t select schemaname from pg_tables where schemaname = any ($1)',
  'create view v as select schemaname from pg_tables',
  'insert into app.pg_tables values (1)',
  'create trigger g after insert on tt execute function f()',
  "insert into t values (current_setting('app.tenant'))",
  'update t set a = 1 where b in (select b from u order by b limit 3 for update skip locked)',
  'select * from pg_stat_activity limit 3',
  'set timezone = utc',
  'set standard_conforming_strings = on',
  'set synchronize_seqscans to off',
  'reset max_parallel_workers_per_gather',
  "select set_config('max_parallel_workers_per_gather', '0', false)",
  "alter role r valid until '2026-12-31 10:00'",
  "select timestamptz('2026-12-31'::text)",
  'alter role r password null',
  "create role r password 'SCRAM-SHA-256$4096:c2FsdA==$a2V5:a2V5'",
  "select ('then'::text)::date, 'now'::text",
  "select * from xmltable('/a' passing '<a><t>now</t></a>' columns t text path 't')",
  "select * from xmltable('/a' passing '<a><t>you know</t></a>' columns t date path 't')",
  "select json_value('{\"a\":\"now\"}', '$.a' returning text), 'a=>know, now=>1'::hstore, 'a=>now'::text",
  'create operator ?&? (rightarg = int4, function = int4abs)',
  'create aggregate s (int) (sfunc = int4pl, stype = int)',
  'create aggregate s (int) (sfunc = app.lastval, stype = int)',
  `select '${'-'.repeat(2000)}', $$${'*'.repeat(2000)}$$, "${'+'.repeat(2000)}"`,
  `select 1 ${'- '.repeat(1000)} 1`,
])('passed on as it is: %s', (sql) => {
  const result = rewriteQuery(sql, context);
  expect(result).toMatchObject({ kind: 'rewritten', sql, edits: [] });
});

test.each([
  ["select 'now'::timestamp", "'now' as a date or time"],
  ["select timestamptz('now'::text)", "'now' as a date or time"],
  ["select array['2026-01-01'::text, 'now'::text]::timestamptz[]", "'now' as a date or time"],
  ["create role r valid until 'tomorrow'", "'now' as a date or time"],
  ["alter role r valid until 'now'", "'now' as a date or time"],
  ["create aggregate a (int) (sfunc = f, stype = timestamptz, initcond = 'now')", "'now' as a date or time"],
  ["select date 'today 10:00'", "'now' as a date or time"],
  ["insert into t values (' Tomorrow')", "'now' without a type"],
  ["select '[now,infinity)'::tstzrange", "'now' as a date or time"],
  ["select tstzmultirange '{[2026-01-01 10:00,now)}'", "'now' as a date or time"],
  ["insert into t values ('[2026-01-01, Now )')", "'now' without a type"],
  ["select '(1,now)'::pair, '(a,b)'::pair", "'now' without a type"],
  ["select '(a,tomorrow)'::pair", "'now' without a type"],
  [
    "select * from xmltable('/a' passing '<a><t>now</t></a>' columns t timestamptz path 't')",
    "'now' as a date or time",
  ],
  [
    "insert into t select x.d from xmltable('/a' passing xmlparse(document '<a t=\"Today\"/>') columns d date[] path '@t') x",
    "'now' as a date or time",
  ],
  [
    "select * from json_table('{\"t\":\"now\"}', '$' columns (nested path '$' columns (t timestamptz path '$.t')))",
    "'now' as a date or time",
  ],
  ["select json_value('\"tomorrow\"', '$' returning date)", "'now' as a date or time"],
  ["select populate_record(null::r, 't=>now'::hstore)", "'now' without a type"],
  ['select \'a=>1, "t"=>"now", b=>2\'::hstore', "'now' without a type"],
  ['select txid_current()', 'transaction ids'],
  ['select ctid from t', 'system columns'],
  ['select (t).xmin from t', 'system columns'],
  ['delete from t where ctid(t) is null', 'system columns'],
  ['insert into t select (x.*).cmin::text from x', 'system columns'],
  ['create view v as select (a).b.tableoid from t', 'system columns'],
  ['insert into t select relpages(c) from pg_class c', 'statistics views'],
  ['do $$begin insert into t select x.xmin::text from x; end$$', 'bodies as strings'],
  ['do $$begin insert into t select (x).ctid::text from x; end$$', 'bodies as strings'],
  ['insert into t select age(relfrozenxid) from pg_class', 'statistics views'],
  ["insert into t select (('now'::text).timestamptz)", "'now' as a date or time"],
  ['insert into t select (array[1, 2]).array_shuffle', 'other chance'],
  ["insert into t select ('5'::oid).pg_database_size", 'statistics views'],
  ["insert into t select ('5'::xid).age", 'odd names'],
  ['select ($1).age', 'odd names'],
  ['select (2::float8).pg_sleep', 'waiting functions'],
  ['select n.pg_sleep from float8(2) n', 'waiting functions'],
  ["create view v as select ('port'::text).current_setting", 'statistics views'],
  ['create function f() returns oid begin atomic select (5).lo_creat; end', 'odd names'],
  ['do $$begin perform (2::float8).pg_sleep; end$$', 'bodies as strings'],
  ['do $$begin perform (2::float8)/* a */. /* b */pg_sleep; end$$', 'bodies as strings'],
  ['do $$begin perform pg_catalog/* a */.pg_sleep(2); end$$', 'bodies as strings'],
  ["do $$begin a := '--'; perform pg_sleep(2); end$$", 'bodies as strings'],
  ['do $$begin insert into t select (array[1, 2]) . "array_shuffle"; end$$', 'bodies as strings'],
  ["set barista.request_id = 'a'", 'settings of the gateway'],
  ["set local barista.acknowledge = 'sync'", 'settings of the gateway'],
  ['set barista.acknowledge from current', 'settings of the gateway'],
  ['set barista.acknowledge = 1', 'settings of the gateway'],
  ["set barista.acknowledge = 'sync', 'semi'", 'settings of the gateway'],
  ["select set_config('barista.acknowledge', 'sync', false)", 'settings of the gateway'],
  ["alter role r set barista.acknowledge = 'sync'", 'settings of the gateway'],
  ["select set_config('barista.read_consistency', 'snapshot', false)", 'settings of the gateway'],
  ["create role r password 'secret'", 'passwords in the clear'],
  ["alter role r with login password 'SCRAM-SHA-256'", 'passwords in the clear'],
  ["copy t from program 'id'", 'outside the database'],
  ['delete from t where a in (select a from t limit 1)', 'rows picked without an order'],
  ['insert into t select pid from pg_stat_activity', 'statistics views'],
  ["insert into t select n_distinct from pg_stats where tablename = 't'", 'statistics views'],
  ['create table t as select relname, reltuples from pg_class', 'statistics views'],
  ['create table t as select log_cnt from s', 'statistics views'],
  ["create view v as select c::text from pg_class c where relname = 'x'", 'statistics views'],
  ['insert into t select to_jsonb(c) from pg_catalog.pg_class as c', 'statistics views'],
  ['insert into t select max(c.*::text) from pg_class c', 'statistics views'],
  ['insert into t select (c).relname from pg_class c', 'statistics views'],
  ['insert into t select row_to_json(pg_database) from pg_database', 'statistics views'],
  ['insert into t select pg_catalog.pg_class::text from pg_catalog.pg_class', 'statistics views'],
  ['create table t as select * from pg_class', 'statistics views'],
  ['create table t as table pg_database', 'statistics views'],
  ['create view v as select * from pg_type t join pg_class c on c.reltype = t.oid', 'statistics views'],
  ['insert into t select a from (select * from pg_class) s (a, b)', 'statistics views'],
  ['insert into t select h::text from pg_class c (a, b, c, d, e, f, g, h)', 'statistics views'],
  ['insert into t select 1 from pg_class a join pg_class b using (relpages)', 'statistics views'],
  ['update t set a = (select d::text from pg_database d limit 1)', 'rows picked without an order'],
  ['update t set a = d::text from pg_database d', 'statistics views'],
  ['create function f() returns text begin atomic select c::text from pg_class c; end', 'statistics views'],
  ["create function f() returns text language sql as 'select c::text from pg_class c'", 'bodies as strings'],
  ['do $$declare r record; begin for r in select * from pg_class loop end loop; end$$', 'bodies as strings'],
  ['do $$begin insert into t select d.* from pg_catalog.pg_database as d; end$$', 'bodies as strings'],
  ["set transaction_timeout = E'1ms'", 'clocks that end something'],
  ['set transaction_timeout = $$1ms$$', 'clocks that end something'],
  ["select set_config('transaction_timeout', $1, true)", 'clocks that end something'],
  ["select set_config('Lock_Timeout', '1' || 'ms', true)", 'clocks that end something'],
  ["do $$begin set local lock_timeout = '2s'; end$$", 'bodies as strings'],
  ['do $$begin insert into t select relfrozenxid from pg_class; end$$', 'bodies as strings'],
  ['select * from public.normal_rand(5, 1, 2)', 'other chance'],
  ["select * from crosstab('select 1, 2, now()') as t(a int, b int)", 'SQL in a string'],
  ['create function f() returns int language sql as $$select now()$$', 'bodies as strings'],
  ['do $$begin perform clock_timestamp(); end$$', 'bodies as strings'],
  ['set U&"q".U&"\\00e9" = 1', 'names of settings'],
  ["select set_config(E'q.\\u00e9', '1', false)", 'names of settings'],
  ['set q./**/é = 1', 'names of settings'],
  ["do $$begin execute format('alter /**/ database %I rename to y', 'x'); end$$", 'bodies as strings'],
  ['create function f() returns timestamptz language sql as $$select\nnow()$$', 'bodies as strings'],
  ["create function f() returns void language plpgsql as $$begin set work_mem = '8MB'; end$$", effects],
  ["create function f() returns void language sql as $$/* x */ set work_mem = '8MB'$$", effects],
  ['create procedure f() language plpgsql as $$begin if true then\nreset all; end if; end$$', effects],
  ["create function f() returns void language plpgsql as $$begin execute 'set a.b = 1'; end$$", effects],
  ['create function f() returns bool language sql as $$select pg_try_advisory_lock(1)$$', effects],
  ['create view v as select pg_try_advisory_lock(1)', effects],
  ["create function f() returns text begin atomic select set_config('a.b', '1', false); end", effects],
  ["select currval('s')", 'numbers of a session'],
  ['insert into t values (lastval())', 'numbers of a session'],
  ["create function f() returns bigint language sql as $$select currval('s')$$", 'bodies as strings'],
  ["create function f() returns int language c as 'x', 'y'", 'other languages'],
  ["set barista_fn.operation = 'x'", "the operation's clock"],
  ["select set_config('barista_fn.operation', 'x', false)", "the operation's clock"],
  ["select set_config('barista' || '_fn.operation', 'x', false)", 'set_config'],
  ['select * from t tablesample system (10)', 'samples'],
  ['create unlogged table t (a int)', 'unlogged tables'],
  ['create unlogged table t as select 1', 'unlogged tables'],
  ['select 1 into unlogged t', 'unlogged tables'],
  ['create unlogged sequence s', 'unlogged tables'],
  ['alter table t set unlogged', 'unlogged tables'],
  ["do $$begin execute 'create unlogged table t (a int)'; end$$", 'bodies as strings'],
  ['create sequence s cache 20', 'numbers in advance'],
  ['alter sequence s cache 2', 'numbers in advance'],
  ['create table t (a int generated always as identity (cache 5))', 'numbers in advance'],
  ['begin isolation level serializable read only deferrable', 'waiting functions'],
  ['set transaction deferrable', 'waiting functions'],
  ['set default_transaction_deferrable = on', 'waiting functions'],
  ['create function f() returns int set default_transaction_deferrable = on return 1', 'waiting functions'],
  ['set max_parallel_workers_per_gather = 4', 'fixed settings'],
  ['set local synchronize_seqscans = on', 'fixed settings'],
  ["select set_config('gin_fuzzy_search_limit', '10', false)", 'fixed settings'],
  ["select set_config('synchronize_seqscans', $1, false)", 'fixed settings'],
  ['alter role r set max_parallel_workers_per_gather to 2', 'fixed settings'],
  ['create function f() returns int set max_parallel_workers_per_gather = 1 return 1', 'fixed settings'],
  ['set standard_conforming_strings = off', 'fixed settings'],
  ["select query_to_xml('select clock_timestamp()', true, false, '')", 'SQL in a string'],
  ["insert into t select table_to_xml('pg_stat_activity', true, false, '')", 'SQL in a string'],
  ["insert into t select schema_to_xml('pg_catalog', true, false, '')", 'SQL in a string'],
  ["insert into t select database_to_xml(true, false, '')", 'SQL in a string'],
  ['create operator ?&? (rightarg = int4, function = pg_catalog.pg_stat_get_backend_pid)', 'bound functions'],
  [
    'create operator ?&? (leftarg = text, rightarg = text, procedure = "pg_export_snapshot")',
    'bound functions',
  ],
  [
    'create aggregate a (int) (sfunc = int4larger, stype = int, finalfunc = pg_stat_get_backend_pid)',
    'bound functions',
  ],
  [
    'create aggregate a (int) (sfunc = s, stype = int, msfunc = s, minvfunc = s, mstype = int, mfinalfunc = pg_backend_pid)',
    'bound functions',
  ],
  ['create cast (t as interval) with function age(timestamptz)', 'bound functions'],
  [
    'create operator class c for type t using btree as function 1 pg_stat_get_backend_pid(int)',
    'bound functions',
  ],
  ['create type r as range (subtype = float8, subtype_diff = pg_sleep)', 'bound functions'],
  ["create table t (a timestamptz default ('now'::text)::timestamptz)", "'now' as a date or time"],
  ["select ('today'::varchar::text)::date", "'now' as a date or time"],
  ['do $$begin for r in explain analyze select 1 loop end loop; end$$', 'bodies as strings'],
  [
    'create function f() returns int language sql as $$select pid from pg_stat_activity$$',
    'bodies as strings',
  ],
  ['do $$begin perform pg_stat_get_backend_pid(1); end$$', 'bodies as strings'],
  ['insert into t select pg_database_size(current_database())', 'statistics views'],
  ['update t set a = pg_stat_get_numscans(1)', 'statistics views'],
  ['insert into t select prepare_time from pg_prepared_statements', 'statistics views'],
  ['create view v as select prepare_time from pg_prepared_statements', 'statistics views'],
  [
    'create function f() returns text language sql as $$select min(prepare_time) from pg_prepared_statements$$',
    'bodies as strings',
  ],
  ['insert into t select name from pg_available_extensions', 'statistics views'],
  ["insert into t select utc_offset from pg_timezone_names where name = 'x'", 'statistics views'],
  ['insert into t select pg_visible_in_snapshot($1, $2)', 'statistics views'],
  ["insert into t values (brin_summarize_new_values('i'))", 'statistics views'],
  ["insert into t values (current_setting('port'))", 'statistics views'],
  ["insert into t values (current_setting('pg_trgm.similarity_threshold', true))", 'statistics views'],
  ["do $$begin insert into t values (current_setting('cluster_name')); end$$", 'bodies as strings'],
  ['select set_limit(0.5)', 'state of extensions'],
  ['select public.isn_weak(true)', 'state of extensions'],
  ['do $$begin perform public.set_limit(0.5); end$$', 'bodies as strings'],
  ['select public.gen_random_uuid()', 'other chance'],
  ['do $$begin insert into t values (public.gen_random_bytes(8)); end$$', 'bodies as strings'],
  ['do $$begin insert into t values (ext . "gen_random_uuid"()); end$$', 'bodies as strings'],
  ['insert into t select current_schemas(true)::text', 'temporary schemas'],
  ['create view v as select current_schemas(false)', 'temporary schemas'],
  ["do $$begin insert into t select array_to_string(current_schemas(true), ' '); end$$", 'bodies as strings'],
  ["insert into t select 'pg_temp.tt2'::regclass::text", 'temporary schemas'],
  ["insert into t select to_regclass('pg_temp.tt2')", 'temporary schemas'],
  ['insert into t select relnamespace::regnamespace from pg_class', 'temporary schemas'],
  ["insert into t select pg_describe_object('pg_class'::regclass, 1, 0)", 'statistics views'],
  ['insert into t select nspname from pg_namespace', 'temporary schemas'],
  ['update t set a = (select count(*) from pg_catalog.pg_namespace)', 'temporary schemas'],
  ["create table t as select schemaname from pg_tables where tablename = 'tt'", 'temporary schemas'],
  ["select table_schema into t from information_schema.tables where table_name = 'tt'", 'temporary schemas'],
  ['prepare x as delete from t using pg_namespace n where n.nspname = t.a', 'temporary schemas'],
  ['select * from pg_temp_3.tt', 'temporary schemas'],
  ["select 'pg_temp_3.tt'::regclass", 'temporary schemas'],
  ["select has_schema_privilege('pg_temp_3', 'usage')", 'temporary schemas'],
  ['drop schema pg_toast_temp_12', 'temporary schemas'],
  ['set search_path = pg_temp_3, public', 'temporary schemas'],
  ["do $$begin execute 'drop table pg_temp_3.tt'; end$$", 'bodies as strings'],
  ['set search_path = pg_temp, public', 'temporary schemas'],
  ["select set_config('search_path', 'pg_temp, public', true)", 'temporary schemas'],
  ['create function f() returns int set search_path = pg_temp return 1', 'temporary schemas'],
  ['create trigger g after insert on pg_temp.tt execute function f()', 'temporary schemas'],
  ["select * from crosstab('select 1, 2, pg_' || 'backend_pid()') as t(a int, b int)", 'SQL in a string'],
  ['select * from crosstab($1) as t(a int, b int)', 'SQL in a string'],
  ["select * from crosstab(source_sql => format('select %s', a)) as t(a int, b int)", 'SQL in a string'],
  ["select * from public.crosstab3('select 1, 2, ctid from t')", 'SQL in a string'],
  ["select * from crosstab('select 1; select txid_current()', 2) as t(a int)", 'SQL in a string'],
  [
    "select * from crosstab('select 1', 'select U&\"pg_current_xact_\\0069d\"()') as t(a int)",
    'SQL in a string',
  ],
  [
    "insert into u select * from crosstab('select pid, 1, 2 from pg_stat_activity') as t(a int)",
    'SQL in a string',
  ],
  ["insert into u select * from crosstab('select a, b, c from t limit 5') as t(a int)", 'SQL in a string'],
  ["select ts_rewrite(q, 'select a, b from ' || t) from x", 'SQL in a string'],
  ["select ts_rewrite(q, 'selec a')", 'SQL in a string'],
  [
    "create table t as select nspname from pg_namespace where nspname not like 'pg_catalog'",
    'temporary schemas',
  ],
  ["select * from connectby('t', k, 'p', '1', 0) as t(a int, b int, l int)", 'SQL in a string'],
  ["select * from connectby('t', 'k', 'ctid', '1', 0) as t(a int, b int, l int)", 'SQL in a string'],
  [
    'select crosstab($a$select crosstab($b$select crosstab($c$select crosstab($d$select 1$d$)$c$)$b$)$a$)',
    'SQL in a string',
  ],
  ['selec 1', 'syntax errors'],
  ['select 1\0; select now()', 'syntax errors'],
])('refused: %s', (sql, rule) => {
  expect(rewritten(sql)).toBe(`refused: ${rule}`);
});

test('a position in the rewritten text is mapped to the client’s, in characters', () => {
  const sql = 'select é, now(), nope';
  const result = rewriteQuery(sql, context);
  if (result.kind === 'refused') throw new Error(result.message);
  expect(originalPosition(result.edits, result.sql.indexOf('nope') + 1)).toBe(sql.indexOf('nope') + 1);
});

test('a text in an encoding with second bytes below 128 must be ASCII', () => {
  const sjis = { ...context, clientEncoding: 'SJIS' };
  expect(rewriteBinary("select '\x95\\'", sjis)).toMatchObject({ rule: 'client encodings' });
  expect(rewriteBinary('select 1', sjis)).toMatchObject({ kind: 'rewritten' });
});

test('a backslash means nothing sure without standard_conforming_strings', () => {
  const old = { ...context, standardConformingStrings: false };
  expect(rewriteQuery("select '\\', now(), '\\'", old)).toMatchObject({
    rule: 'standard_conforming_strings',
  });
});

test('what a statement is, and where it may run', () => {
  const facts = (sql: string): unknown[] => {
    const result = rewriteQuery(sql, context);
    return result.kind === 'rewritten' ? result.statements.map((s) => `${s.class} ${s.inBlock}`) : [];
  };
  expect(
    facts('begin; select 1; savepoint a; with x as (delete from t returning 1) select 1; commit'),
  ).toEqual(['begin true', 'read true', 'savepoint true', 'other true', 'commit true']);
  expect(facts('vacuum; analyze; select 1 for update; rollback')).toEqual([
    'other false',
    'other true',
    'other true',
    'rollback true',
  ]);
});

const framed = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.write(type, 0, 'latin1');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const bindOf = (value: string): Buffer => {
  const length = Buffer.alloc(4);
  length.writeInt32BE(value.length);
  return framed(
    'B',
    Buffer.concat([
      Buffer.from('\0\0\0\0\0\x01', 'latin1'),
      length,
      Buffer.from(value),
      Buffer.from('\0\0', 'latin1'),
    ]),
  );
};

test('the messages of a request are rewritten, and others are passed on byte for byte', () => {
  const parse = framed('P', Buffer.from('s\0select now(), $1\0\0\x01\0\0\0\x19', 'latin1'));
  const result = rewriteMessages(Buffer.concat([parse, framed('S', Buffer.alloc(0))]), context);
  expect(result).toMatchObject({ kind: 'rewritten', parts: [{ type: 'parse', statement: 's' }] });
  const expected = framed('P', Buffer.from('s\0select barista_fn.now(), $1\0\0\x01\0\0\0\x19', 'latin1'));
  expect(
    result.kind === 'rewritten' &&
      Buffer.from(result.bytes).equals(Buffer.concat([expected, framed('S', Buffer.alloc(0))])),
  ).toBe(true);
  const plain = framed('Q', Buffer.from('select 1\0'));
  const same = rewriteMessages(plain, context);
  expect(same.kind === 'rewritten' && same.bytes === plain).toBe(true);
});

test('a parameter that may be read by the clock is refused unless its type is told', () => {
  expect(rewriteMessages(bindOf('today'), context)).toMatchObject({ rule: "'now' as a parameter" });
  expect(rewriteMessages(bindOf('today'), { ...context, parameterTypes: () => [25] })).toMatchObject({
    kind: 'rewritten',
  });
  expect(rewriteMessages(bindOf('todays'), context)).toMatchObject({ kind: 'rewritten' });
});

test('a statement that is too deep for the parser is refused, and the next is parsed', () => {
  expect(rewriteQuery(`select ${Array(60_000).fill('1').join('+')}`, context)).toMatchObject({
    sqlstate: '54001',
  });
  expect(rewritten('select now()')).toBe('select barista_fn.now()');
});

test('texts of one request that are long together are refused, and data are no text', () => {
  const long = `select '${'x'.repeat(40 * 1024)}'`;
  const one = framed('Q', Buffer.from(`${long}\0`));
  expect(rewriteMessages(one, context)).toMatchObject({ kind: 'rewritten' });
  const parsed = framed('P', Buffer.from(`\0${long}\0\0\0`));
  expect(rewriteMessages(Buffer.concat([parsed, parsed]), context)).toMatchObject({ sqlstate: '54000' });
  const data = framed('d', Buffer.alloc(200 * 1024));
  expect(
    rewriteMessages(Buffer.concat([framed('Q', Buffer.from('copy t from stdin\0')), data]), context),
  ).toMatchObject({
    kind: 'rewritten',
  });
});

test('what is no message is refused', () => {
  expect(rewriteMessages(Buffer.from('Q\0\0'), context)).toMatchObject({ sqlstate: '08P01' });
  expect(rewriteMessages(framed('F', Buffer.alloc(8)), context)).toMatchObject({ sqlstate: '0A000' });
});

test.each([
  ["select 'a'::regclass::oid", 'none'],
  ['select a.oid from b a', 'none'],
  ['select * from pg_class', 'none'],
  ['select typname from pg_catalog.pg_type', 'none'],
  ['select 1 from information_schema.routines', 'none'],
  ['select lo_creat(-1)', 'none'],
  ['select oids, pgx from t', 'rows'],
  ["select 'a'::text, 1::int8 from t", 'rows'],
  ["select pg_database_size('d')", 'none'],
  ['select name from pg_prepared_statement()', 'none'],
  ['select a.* from t_id_seq a', 'none'],
  ['select log_cnt from s', 'none'],
  ['select (c).relpages from c', 'none'],
  ['select relpages(c) from c', 'none'],
  ['select max(age(datfrozenxid)) from d', 'none'],
  ["select ('5'::oid).pg_database_size", 'none'],
  ['select (p).age, u.age, u.uuidv7, t.date, t.lo_a from t', 'rows'],
  ['select current_schemas(true)', 'none'],
  ['select current_schema', 'none'],
  ["select to_regclass('pg_temp.tt')", 'none'],
  ["select current_setting('port')", 'none'],
  ["select current_setting('work_mem')", 'rows'],
  ['select pg_describe_object(1259, 1, 0)', 'none'],
  ['select pg_snapshot_xmin($1)', 'none'],
  ["select * from crosstab('select pid, 1, 2 from pg_stat_activity') as t(a int)", 'none'],
  ["select * from crosstab('select a, b, c from t order by 1') as t(a int)", 'rows'],
])('what is right and differs is not compared: %s', (sql, compare) => {
  const result = rewriteQuery(sql, context);
  expect(result).toMatchObject({ kind: 'rewritten', statements: [{ compare }] });
});

test('each function that is refused is so as a field of what it is called with, too', () => {
  const outcomes = [...refusedFunctions.keys()]
    .flatMap((name) => [
      `select ($1).${name}`,
      `select f.${name} from f`,
      `do $$begin perform (x).${name}; end$$`,
    ])
    .map((sql) => [sql, rewriteQuery(sql, context).kind]);
  expect(outcomes.filter(([, kind]) => kind !== 'refused')).toEqual([]);
});

test.each(['ctid', 'xmin', 'xmax', 'cmin', 'cmax', 'tableoid'])(
  'system column %s is refused in every notation, in statements and in bodies',
  (column) => {
    const notations = [
      column,
      `"${column}"`,
      `t.${column}`,
      `(t).${column}`,
      `${column}(t)`,
      `(t.*).${column}`,
    ];
    const outcomes = notations
      .flatMap((said) => [`select ${said}::text from t`, `do $$begin perform ${said}::text from t; end$$`])
      .map((sql) => [sql, rewriteQuery(sql, context).kind]);
    expect(outcomes.filter(([, kind]) => kind !== 'refused')).toEqual([]);
  },
);

test.each(['+', '+-'])('a long row of operator characters is refused: %s', (some) => {
  const sql = `select 1${some.repeat(30_000)}1`;
  expect(rewriteQuery(sql, context)).toMatchObject({ kind: 'refused', sqlstate: '54000' });
});

test.each([
  'insert into t select c.relname, count(*) from pg_class c group by 1',
  'insert into t select a from u where exists (select * from pg_class where relname = u.a)',
  'insert into t select u.c from u join pg_class c on c.relname = u.a',
  'insert into t select s.* from (select relname from pg_class) s',
  'insert into t select * from other.pg_class',
  "do $$begin if not exists (select * from pg_class c where c.relname = 't') then create table t (a int); end if; end$$",
  "do $$begin insert into t select c.relname, count(*) from pg_class c where c.oid = 'pg_class'::regclass group by 1; end$$",
  'do $$begin perform 1 from pg_class where relname = 1; insert into t select * from u; end$$',
])('what names columns of catalogs is served: %s', (sql) => {
  expect(rewriteQuery(sql, context)).toMatchObject({ kind: 'rewritten' });
});

const routine = (body: string): string =>
  `create function f() returns int language plpgsql as $body$${body}$body$`;

test.each([
  routine(
    "declare v int; begin select id into v from jobs where state = 'new' limit 1 for update skip locked; return v; end",
  ),
  routine('declare v int; begin select id into v from jobs for update skip locked; return v; end'),
  "create function f() returns int language sql as 'select id from jobs limit 1'",
  "create procedure p() language sql as 'delete from t where a in (select a from t offset 3)'",
  'do $$begin insert into t select distinct on (a) a, b from u; end$$',
  'do $$begin for r in select * from t limit 3 loop insert into u values (r.a); end loop; end$$',
  'do $$begin perform a from t fetch first row only; end$$',
  'do $$begin perform a from t fetch next (1 + 2) rows only; end$$',
  'do $$begin x := a from t limit 1; end$$',
  'do $$begin if true then return a from t limit 1; end if; end$$',
  'do $$begin perform a from t order by a; perform a from t limit 1; end$$',
  'do $$begin perform a from (select a from t order by a) s limit 1; end$$',
  'do $$begin perform row_number() over (order by a) from t limit 1; end$$',
  'do $$begin perform a from t order by a union select a from u limit 1; end$$',
  "do $$begin execute 'select a from t limit 1' into x; end$$",
  "do $$begin execute format('select a from %I limit 1', 't') into x; end$$",
  'do $$begin perform exists (select a from t limit 1 for update); end$$',
  'do $$begin perform exists (select a from t for update limit 1); end$$',
  'do $$begin perform 1 from t limit 1 for no key update; end$$',
  'do $$begin perform 1 from t union select a from u limit 1; end$$',
  'do $$begin perform a from t union select 1 from u limit 1; end$$',
  'do $$begin perform a /* order by a */ from t -- order by a\n limit 1; end$$',
  'do $$begin perform a from t limit 0 + 1; end$$',
  'do $$begin perform id from connection limit 1; end$$',
  'create function f() returns int begin atomic select a from t limit 1; end',
  'insert into t select 1 from u limit 1 for update',
  'insert into t select a from u union select 1 from v limit 1',
  'insert into t select 1 where exists (select a from u for update limit 1)',
])('rows picked without an order are refused: %s', (sql) => {
  expect(rewritten(sql)).toBe('refused: rows picked without an order');
});

test.each([
  routine(
    'declare v int; begin select id into v from jobs order by id limit 1 for update skip locked; return v; end',
  ),
  routine(
    'declare v int; begin select id into v from jobs order by id for update skip locked; return v; end',
  ),
  'do $$begin update t set a = 1 where b in (select b from u for update skip locked); end$$',
  'do $$begin perform a from t order by case when a then b end limit 1; end$$',
  'do $$begin perform a from t union select a from u order by 1 offset 3; end$$',
  'do $$begin insert into t select distinct on (a) a, b from u order by a, b; end$$',
  'do $$begin perform a from t limit all; perform a from t limit null; perform a from t offset 0; end$$',
  'do $$begin perform (select a from t limit 0); end$$',
  'do $$begin if exists (select a from t limit 1) then perform 1; end if; end$$',
  "do $$begin perform 1, true, 'x' from t limit 1; select null into strict v from t fetch first 1 row only; end$$",
  'do $$begin fetch next from c into r; move first from c; fetch first from c; end$$',
  'do $$begin raise notice \'at the limit 1\'; perform p.limit, p.a as offset, p."limit" from p; end$$',
  'do $$begin alter role r connection limit 5; perform f(p_limit); end$$',
  "do $$begin execute 'select a from t order by a limit 1' into x; end$$",
  "do $$begin execute format('select a from %I %s limit 1', 't', x) into x; end$$",
  'insert into t select a from u limit all',
  'insert into t select a from u offset 0',
  'delete from t where exists (select a from u limit 1)',
  "insert into t select 1, true, 'x' from u limit 1",
])('rows of which it does not matter which are picked: %s', (sql) => {
  expect(rewriteQuery(sql, context)).toMatchObject({ kind: 'rewritten', sql, edits: [] });
});

test('a body whose words repeat is looked through once', () => {
  const body = 'fetch first ('.repeat(4000);
  expect(rewritten(`do $$${body}$$`)).toBe(`do $$${body}$$`);
});

test('documents within documents are looked into so far only', () => {
  const calls = 800;
  const sql = `select ${'json_value('.repeat(calls)}'1'${", '$' returning date)".repeat(calls)}`;
  expect(rewriteQuery(sql, context)).toMatchObject({ kind: 'rewritten' });
});
