/**
 * Statements that were refused while row effects travelled, each of which must now do what PostgreSQL does. What only a superuser may do is refused still, by PostgreSQL.
 *
 * The order is that of the table of refused statements that docs/limits.md had; it goes on in formerly-refused-code.ts.
 */
import { inOneSession, refused, type Scenario } from './scenario.ts';

const insufficient = '42501';

export const formerlyRefused: readonly Scenario[] = [
  {
    name: 'databases',
    what: 'CREATE, ALTER, DROP DATABASE, GRANT and COMMENT ON DATABASE',
    steps: inOneSession(
      'DROP DATABASE IF EXISTS second_one',
      'DROP DATABASE IF EXISTS third_one',
      'CREATE DATABASE second_one',
      'CREATE DATABASE third_one TEMPLATE template0 STRATEGY file_copy',
      'ALTER DATABASE second_one CONNECTION LIMIT 7',
      "ALTER DATABASE second_one SET work_mem = '9MB'",
      'GRANT CONNECT ON DATABASE second_one TO PUBLIC',
      "COMMENT ON DATABASE second_one IS 'the second'",
      'ALTER DATABASE third_one RENAME TO third_two',
      'DROP DATABASE third_two',
    ),
    shows: [
      {
        query:
          "SELECT datname, datconnlimit, shobj_description(oid, 'pg_database') FROM pg_database WHERE datname IN ('second_one', 'third_one', 'third_two')",
        rows: [['second_one', '7', 'the second']],
      },
      {
        query:
          "SELECT setconfig FROM pg_db_role_setting JOIN pg_database ON oid = setdatabase WHERE datname = 'second_one'",
        rows: [['{work_mem=9MB}']],
      },
    ],
  },
  {
    name: 'roles',
    what: 'CREATE, ALTER, DROP ROLE, ALTER ROLE ... SET, GRANT role, COMMENT ON ROLE',
    steps: inOneSession(
      'DROP ROLE IF EXISTS reader',
      'DROP ROLE IF EXISTS writer',
      'DROP ROLE IF EXISTS gone',
      "CREATE ROLE reader LOGIN PASSWORD 'secret' CONNECTION LIMIT 3; CREATE ROLE writer; CREATE ROLE gone",
      "ALTER ROLE reader SET statement_timeout = '5s'; ALTER ROLE writer VALID UNTIL '2100-01-01'",
      "GRANT writer TO reader; COMMENT ON ROLE reader IS 'reads'; DROP ROLE gone",
    ),
    shows: [
      {
        query:
          "SELECT rolname, rolcanlogin, rolconnlimit, rolconfig FROM pg_roles WHERE rolname IN ('reader', 'writer', 'gone') ORDER BY 1",
        rows: [
          ['reader', 't', '3', '{statement_timeout=5s}'],
          ['writer', 'f', '-1', null],
        ],
      },
      {
        query:
          "SELECT pg_has_role('reader', 'writer', 'MEMBER'), shobj_description('reader'::regrole, 'pg_authid')",
        rows: [['t', 'reads']],
      },
    ],
  },
  {
    name: 'for_superusers_only',
    what: 'what an ordinary role may not do in PostgreSQL either is refused with its own codes',
    steps: [
      refused("CREATE TABLESPACE elsewhere LOCATION '/tmp'", insufficient),
      refused("LOAD 'auto_explain'", insufficient),
      refused("CREATE SUBSCRIPTION s CONNECTION 'dbname=x' PUBLICATION p", insufficient),
      refused('CREATE EXTENSION postgres_fdw', insufficient),
      refused('CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION f()', insufficient),
      refused("COPY (SELECT 1) TO PROGRAM 'true'", insufficient),
      refused("COPY (SELECT 1) TO '/tmp/for-superusers-only'", insufficient),
      refused('CHECKPOINT', insufficient),
      refused("SELECT pg_create_physical_replication_slot('x')", insufficient),
      refused("SELECT pg_create_logical_replication_slot('x', 'pgoutput')", insufficient),
      refused('SET session_replication_role = replica', insufficient),
      refused("SELECT pg_read_file('postgresql.conf')", insufficient),
      refused('SELECT pg_promote()', insufficient),
      refused('SELECT pg_switch_wal()', insufficient),
      refused('SELECT pg_reload_conf()', insufficient),
      refused('ALTER ROLE postgres NOSUPERUSER', insufficient),
      refused('SET ROLE postgres', insufficient),
      refused('SET SESSION AUTHORIZATION postgres', insufficient),
      refused('GRANT pg_read_server_files TO CURRENT_USER', insufficient),
    ],
    shows: [{ query: "SELECT rolsuper FROM pg_roles WHERE rolname = 'postgres'", rows: [['t']] }],
  },
  {
    name: 'trusted_extensions',
    what: 'CREATE EXTENSION of trusted ones, and their functions',
    steps: inOneSession(
      'CREATE EXTENSION hstore',
      'CREATE EXTENSION pg_trgm',
      'CREATE TABLE t (h hstore, v text); CREATE INDEX ON t USING gin (v gin_trgm_ops)',
      "INSERT INTO t VALUES ('a=>1', 'barista')",
    ),
    shows: [{ query: "SELECT h -> 'a' FROM t WHERE v % 'barist'", rows: [['1']] }],
  },
  {
    name: 'with_concurrently',
    what: 'CREATE INDEX, DROP INDEX, REINDEX and DETACH PARTITION with CONCURRENTLY',
    steps: inOneSession(
      'CREATE TABLE t (n int, v text) PARTITION BY LIST (n)',
      'CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1); CREATE TABLE t2 PARTITION OF t FOR VALUES IN (2)',
      'INSERT INTO t SELECT 1 + n % 2, md5(n::text) FROM generate_series(1, 1000) n',
      'CREATE UNIQUE INDEX CONCURRENTLY of_v ON t1 (v)',
      'CREATE INDEX CONCURRENTLY gone ON t1 (n)',
      'DROP INDEX CONCURRENTLY gone',
      'REINDEX INDEX CONCURRENTLY of_v',
      'REINDEX TABLE CONCURRENTLY t2',
      'ALTER TABLE t DETACH PARTITION t2 CONCURRENTLY',
    ),
    shows: [
      {
        query:
          "SELECT relname FROM pg_class WHERE relnamespace = 'with_concurrently'::regnamespace AND relkind = 'i'",
        rows: [['of_v']],
      },
      { query: 'SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM t2)', rows: [['500', '500']] },
      { query: "SELECT indisvalid FROM pg_index WHERE indexrelid = 'of_v'::regclass", rows: [['t']] },
    ],
  },
  {
    name: 'reindex_everything',
    what: 'REINDEX DATABASE, SCHEMA and SYSTEM',
    steps: inOneSession(
      'CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 100)',
      'REINDEX SCHEMA reindex_everything',
      'REINDEX DATABASE',
      'REINDEX SYSTEM',
    ),
    shows: [{ query: 'SET enable_seqscan = off; SELECT n FROM t WHERE n = 42', rows: [['42']] }],
  },
  {
    name: 'two_phases',
    what: 'PREPARE TRANSACTION, COMMIT PREPARED and ROLLBACK PREPARED, from several sessions',
    steps: [
      ...inOneSession(
        'CREATE TABLE t (n int)',
        "BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION 'two_phases_1'",
        "BEGIN; INSERT INTO t VALUES (2); PREPARE TRANSACTION 'two_phases_2'",
      ),
      { session: 'a', leave: true },
      { session: 'b', run: "COMMIT PREPARED 'two_phases_1'" },
      { session: 'c', run: "ROLLBACK PREPARED 'two_phases_2'" },
    ],
    shows: [
      { query: 'SELECT n FROM t', rows: [['1']] },
      { query: "SELECT count(*) FROM pg_prepared_xacts WHERE gid LIKE 'two_phases%'", rows: [['0']] },
    ],
  },
  {
    name: 'unlogged',
    what: 'unlogged tables and sequences, there and back: the table is there at every replica, its rows only at the leader while it is unlogged',
    steps: inOneSession(
      'CREATE UNLOGGED TABLE u (n int PRIMARY KEY); CREATE UNLOGGED SEQUENCE us; INSERT INTO u VALUES (1), (2)',
      'CREATE TABLE p (n int); INSERT INTO p VALUES (3); ALTER TABLE p SET UNLOGGED',
      'CREATE UNLOGGED TABLE back (n int PRIMARY KEY); INSERT INTO back VALUES (4); ALTER TABLE back SET LOGGED',
    ),
    shows: [
      {
        query:
          "SELECT relname, relpersistence FROM pg_class WHERE relnamespace = 'unlogged'::regnamespace AND relkind IN ('r', 'S') ORDER BY 1",
        rows: [
          ['back', 'p'],
          ['p', 'u'],
          ['u', 'u'],
          ['us', 'u'],
        ],
      },
      { query: 'SELECT n FROM back', rows: [['4']] },
    ],
  },
  {
    name: 'materialized_views',
    what: 'materialized views with rows, and REFRESH, also CONCURRENTLY',
    steps: inOneSession(
      'CREATE TABLE t (n int); INSERT INTO t VALUES (1), (2)',
      'CREATE MATERIALIZED VIEW m AS SELECT n, random() AS r FROM t; CREATE UNIQUE INDEX ON m (n)',
      'INSERT INTO t VALUES (3); REFRESH MATERIALIZED VIEW m',
      'INSERT INTO t VALUES (4)',
      'REFRESH MATERIALIZED VIEW CONCURRENTLY m',
    ),
    shows: [{ query: 'SELECT count(*), max(n) FROM m', rows: [['4', '4']] }],
  },
  {
    name: 'inheritance',
    what: 'CREATE TABLE ... INHERITS',
    steps: inOneSession(
      'CREATE TABLE parent (n int); CREATE TABLE child (v text) INHERITS (parent)',
      "INSERT INTO child VALUES (1, 'x'); INSERT INTO parent VALUES (2); UPDATE parent SET n = n * 10",
    ),
    shows: [{ query: 'SELECT n FROM parent ORDER BY n', rows: [['10'], ['20']] }],
  },
];
