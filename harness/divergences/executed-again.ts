/**
 * What comes out differently when it is executed a second time, on another server, at another moment, or as another user.
 *
 * Every one of them made replicas differ, or stopped them, while row effects and statements travelled. PostgreSQL's own WAL holds what came out, so the replicas must be equal.
 */
import { gives, inOneSession, refused, type Scenario } from './scenario.ts';

const manyColumns = Array.from(
  { length: 900 },
  (_, at) => `column_with_a_long_name_number_${at} int DEFAULT ${at}`,
);
const longComment = '-- '.padEnd(200_000, 'x');

export const executedAgain: readonly Scenario[] = [
  {
    name: 'enum_value_at_once',
    what: 'ALTER TYPE ADD VALUE, and rows that use the value right behind it',
    steps: inOneSession(
      "CREATE TYPE mood AS ENUM ('m0'); CREATE TABLE people (n int PRIMARY KEY, mood mood)",
      ...Array.from({ length: 20 }, (_, at) => [
        `ALTER TYPE mood ADD VALUE 'm${at + 1}'`,
        `INSERT INTO people VALUES (${at + 1}, 'm${at + 1}')`,
      ]).flat(),
    ),
    shows: [
      { query: 'SELECT count(*), max(mood) FROM people', rows: [['20', 'm20']] },
      { query: "SELECT count(*) FROM pg_enum WHERE enumtypid = 'mood'::regtype", rows: [['21']] },
    ],
  },
  {
    name: 'row_lost_between_partitions',
    what: 'an UPDATE moves a row to another partition, where a row trigger returns NULL: the row is gone',
    steps: inOneSession(
      'CREATE TABLE t (k int, v int) PARTITION BY LIST (k)',
      'CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1); CREATE TABLE t2 PARTITION OF t FOR VALUES IN (2)',
      'CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$',
      'CREATE TRIGGER nothing BEFORE INSERT ON t2 FOR EACH ROW EXECUTE FUNCTION nothing()',
      'INSERT INTO t SELECT 1, n FROM generate_series(1, 10) n',
      'UPDATE t SET k = 2 WHERE v <= 4',
    ),
    shows: [{ query: 'SELECT count(*), min(v) FROM t', rows: [['6', '5']] }],
  },
  {
    name: 'policy_reads_a_setting',
    what: 'FORCE ROW LEVEL SECURITY with a policy that reads a setting of the session',
    steps: inOneSession(
      'CREATE TABLE t (tenant text, n int)',
      'ALTER TABLE t ENABLE ROW LEVEL SECURITY; ALTER TABLE t FORCE ROW LEVEL SECURITY',
      "CREATE POLICY own ON t USING (tenant = current_setting('app.tenant')) WITH CHECK (tenant = current_setting('app.tenant'))",
      "SET app.tenant = 'red'; INSERT INTO t VALUES ('red', 1), ('red', 2)",
      "SET app.tenant = 'blue'; INSERT INTO t VALUES ('blue', 3)",
      'UPDATE t SET n = n + 100',
      "SET app.tenant = 'red'; DELETE FROM t WHERE n = 1",
    ),
    shows: [
      {
        query: 'SELECT tenant, n FROM t ORDER BY n',
        rows: [
          ['red', '2'],
          ['blue', '103'],
        ],
      },
    ],
  },
  {
    name: 'column_type_by_a_cast_of_a_client',
    what: "ALTER COLUMN TYPE through a client's cast, which reads a setting and a sequence",
    steps: inOneSession(
      "CREATE TYPE colour AS ENUM ('a', 'b'); CREATE SEQUENCE counter; CREATE TABLE t (n int PRIMARY KEY, c colour)",
      "INSERT INTO t SELECT n, 'a' FROM generate_series(1, 5) n",
      `CREATE FUNCTION as_text(colour) RETURNS text LANGUAGE plpgsql AS $$
         BEGIN RETURN current_setting('app.prefix') || nextval('counter') || pg_backend_pid(); END $$`,
      'CREATE CAST (colour AS text) WITH FUNCTION as_text(colour) AS IMPLICIT',
      "SET app.prefix = 'p'; ALTER TABLE t ALTER COLUMN c TYPE text",
      "UPDATE t SET c = regexp_replace(c, '[0-9]{2,}', 'N')",
    ),
    shows: [
      { query: "SELECT count(*), bool_and(c ~ '^p[1-5]?N?') FROM t", rows: [['5', 't']] },
      { query: 'SELECT last_value >= 5 FROM counter', rows: [['t']] },
    ],
  },
  {
    name: 'domain_check_not_valid',
    what: 'a domain gets a CHECK that is NOT VALID; rows that break it are changed in other columns',
    steps: [
      ...inOneSession(
        'CREATE DOMAIN positive AS int; CREATE TABLE t (n int PRIMARY KEY, p positive, other text)',
        "INSERT INTO t VALUES (1, -5, 'old'), (2, 5, 'old')",
        'ALTER DOMAIN positive ADD CONSTRAINT above CHECK (VALUE > 0) NOT VALID',
        "UPDATE t SET other = 'new'",
      ),
      refused("INSERT INTO t VALUES (3, -1, 'new')", '23514'),
    ],
    shows: [
      {
        query: 'SELECT n, p, other FROM t ORDER BY n',
        rows: [
          ['1', '-5', 'new'],
          ['2', '5', 'new'],
        ],
      },
    ],
  },
  {
    name: 'bounds_of_the_moment',
    what: 'partition bounds with now()',
    steps: [
      ...inOneSession(
        'CREATE TABLE t (at timestamptz) PARTITION BY RANGE (at); CREATE TABLE bounds (text text)',
        "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (now()) TO (now() + interval '1 day')",
        "CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (now() + interval '2 days') TO (clock_timestamp() + interval '3 days')",
        "INSERT INTO bounds SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname IN ('t1', 't2') AND relnamespace = 'bounds_of_the_moment'::regnamespace",
        "INSERT INTO t VALUES (now() + interval '1 hour')",
      ),
      refused("INSERT INTO t VALUES (now() - interval '1 hour')", '23514'),
    ],
    shows: [
      {
        query:
          "SELECT count(*) FROM bounds WHERE text IN (SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname IN ('t1', 't2') AND relnamespace = 'bounds_of_the_moment'::regnamespace)",
        rows: [['2']],
      },
      { query: 'SELECT count(*) FROM t1', rows: [['1']] },
    ],
  },
  {
    name: 'catalog_copied',
    what: 'CREATE TABLE AS SELECT * FROM pg_class: numbers of objects and of transactions',
    steps: inOneSession(
      'CREATE TABLE classes AS SELECT * FROM pg_class',
      'CREATE TABLE types AS SELECT oid, xmin::text AS by, ctid::text AS place, typname FROM pg_type',
      "CREATE TABLE own AS SELECT 'classes'::regclass AS c, pg_relation_filenode('classes') AS f, txid_current() AS x",
    ),
    shows: [
      {
        query: "SELECT count(*) > 300, count(*) FILTER (WHERE relname = 'pg_class') FROM classes",
        rows: [['t', '1']],
      },
      {
        query: "SELECT c::oid = 'classes'::regclass, f = pg_relation_filenode('classes') FROM own",
        rows: [['t', 't']],
      },
      {
        query:
          'SELECT count(*) FROM types JOIN pg_type USING (oid) WHERE types.place <> pg_type.ctid::text OR types.by <> pg_type.xmin::text',
        rows: [['0']],
      },
    ],
  },
  {
    name: 'schema_renamed_beside_a_transaction',
    what: 'ALTER SCHEMA RENAME while another session writes to a table in it',
    steps: [
      ...inOneSession(
        'DROP SCHEMA IF EXISTS renamed_before CASCADE; DROP SCHEMA IF EXISTS renamed_after CASCADE',
        'CREATE SCHEMA renamed_before; CREATE TABLE renamed_before.t (n int)',
      ),
      { session: 'b', run: 'BEGIN; INSERT INTO renamed_before.t VALUES (1)' },
      { session: 'a', run: 'ALTER SCHEMA renamed_before RENAME TO renamed_after' },
      { session: 'b', run: 'INSERT INTO renamed_before.t VALUES (2)', fails: '42P01' },
      { session: 'b', run: 'ROLLBACK' },
      { session: 'b', run: 'BEGIN; INSERT INTO renamed_after.t VALUES (3)' },
      { session: 'a', run: 'ALTER SCHEMA renamed_after RENAME TO renamed_before' },
      { session: 'b', run: 'COMMIT' },
    ],
    shows: [{ query: 'SELECT n FROM renamed_before.t', rows: [['3']] }],
  },
  {
    name: 'name_like_a_temporary_one',
    what: 'names that look like those of temporary objects: CREATE TABLE "x on pg_temp"',
    steps: inOneSession(
      'CREATE TABLE "x on pg_temp" (n int); CREATE TABLE "pg_temp.x" (n int)',
      'INSERT INTO "x on pg_temp" VALUES (1); INSERT INTO "pg_temp.x" VALUES (2)',
      'CREATE TABLE "a""b; DROP TABLE x --" ("c d" int); INSERT INTO "a""b; DROP TABLE x --" VALUES (3)',
    ),
    shows: [
      { query: 'SELECT n FROM "x on pg_temp" UNION ALL SELECT n FROM "pg_temp.x"', rows: [['1'], ['2']] },
      { query: 'SELECT "c d" FROM "a""b; DROP TABLE x --"', rows: [['3']] },
    ],
  },
  {
    name: 'long_texts',
    what: 'DDL of hundreds of kilobytes, and several statements in one text',
    steps: inOneSession(
      `CREATE TABLE wide (${manyColumns.join(', ')})`,
      'INSERT INTO wide DEFAULT VALUES',
      `CREATE FUNCTION long() RETURNS int LANGUAGE plpgsql AS $body$\n${longComment}\nBEGIN RETURN 7; END $body$`,
      `CREATE TABLE one (n int); ${longComment}\n CREATE TABLE two (n int); INSERT INTO two VALUES (long())`,
      `CREATE VIEW many AS ${Array.from({ length: 600 }, (_, at) => `SELECT ${at} AS n`).join(' UNION ALL ')}`,
    ),
    shows: [
      { query: 'SELECT column_with_a_long_name_number_899 FROM wide', rows: [['899']] },
      {
        query: "SELECT length(prosrc) > 200000, long() FROM pg_proc WHERE oid = 'long'::regproc",
        rows: [['t', '7']],
      },
      { query: 'SELECT n FROM two', rows: [['7']] },
      { query: 'SELECT sum(n) FROM many', rows: [['179700']] },
    ],
  },
  {
    name: 'temporary_child',
    what: 'a temporary child of a permanent table: what is done to the parent reaches the child, which no other replica has',
    steps: [
      ...inOneSession(
        'CREATE TABLE parent (n int, v text)',
        "INSERT INTO parent VALUES (1, 'permanent')",
        "CREATE TEMPORARY TABLE child () INHERITS (parent); INSERT INTO child VALUES (2, 'temporary')",
        "UPDATE parent SET v = v || '!'",
        'ALTER TABLE parent ADD COLUMN w int DEFAULT 5',
        'CREATE INDEX ON parent (n)',
      ),
      gives('SELECT n, v, w FROM parent ORDER BY n', [
        ['1', 'permanent!', '5'],
        ['2', 'temporary!', '5'],
      ]),
      { session: 'a', leave: true },
    ],
    shows: [{ query: 'SELECT n, v, w FROM parent', rows: [['1', 'permanent!', '5']] }],
  },
  {
    name: 'setting_from_current',
    what: 'CREATE FUNCTION ... SET work_mem FROM CURRENT',
    steps: inOneSession(
      "SET work_mem = '77MB'; SET search_path = setting_from_current, pg_catalog",
      "CREATE FUNCTION f() RETURNS text LANGUAGE sql SET work_mem FROM CURRENT SET search_path FROM CURRENT AS $$ SELECT current_setting('work_mem') $$",
    ),
    shows: [
      {
        query: "SELECT proconfig FROM pg_proc WHERE oid = 'f'::regproc",
        rows: [['{work_mem=77MB,"search_path=setting_from_current, pg_catalog"}']],
      },
      { query: 'SELECT f()', rows: [['77MB']] },
    ],
  },
];
