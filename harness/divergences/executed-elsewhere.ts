/** More of what depends on the moment, the session or the server: functions that lie about themselves, names without a schema, randomness, order, and what leaves no row. */
import { gives, inOneSession, type Scenario } from './scenario.ts';

const savepoints = Array.from(
  { length: 300 },
  (_, at) => `SAVEPOINT s; INSERT INTO t VALUES (${at}); ${at % 3 === 0 ? 'ROLLBACK TO s' : 'RELEASE s'}`,
).join('; ');

export const executedElsewhere: readonly Scenario[] = [
  {
    name: 'immutable_that_is_not',
    what: 'a function that is declared immutable and is not, in a generated column and in an index',
    steps: inOneSession(
      "CREATE FUNCTION lie(int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN clock_timestamp()::text || current_setting('app.x', true) || $1; END $$",
      'CREATE TABLE t (n int PRIMARY KEY, g text GENERATED ALWAYS AS (lie(n)) STORED)',
      'CREATE INDEX by_lie ON t (length(lie(n)))',
      "SET app.x = 'a session''s own'; INSERT INTO t SELECT generate_series(1, 50)",
    ),
    shows: [
      { query: "SELECT count(*), count(DISTINCT g) > 1 FROM t WHERE g LIKE '%own%'", rows: [['50', 't']] },
    ],
  },
  {
    name: 'names_without_a_schema',
    what: 'an index expression whose function calls another one without its schema, where several schemas have it',
    steps: inOneSession(
      'DROP SCHEMA IF EXISTS other_names CASCADE; CREATE SCHEMA other_names',
      "CREATE FUNCTION inner_one() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'here' $$",
      "CREATE FUNCTION other_names.inner_one() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'there' $$",
      'CREATE FUNCTION outer_one(int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN inner_one() || $1; END $$',
      'SET search_path = other_names, names_without_a_schema',
      'CREATE TABLE names_without_a_schema.t (n int PRIMARY KEY, g text GENERATED ALWAYS AS (names_without_a_schema.outer_one(n)) STORED)',
      'INSERT INTO names_without_a_schema.t VALUES (1), (2)',
    ),
    shows: [{ query: 'SELECT g FROM t ORDER BY n', rows: [['there1'], ['there2']] }],
  },
  {
    name: 'the_moment_written_oddly',
    what: "'now' in DDL, also written so that nobody would find it in the text",
    steps: inOneSession(
      "CREATE TABLE t (n int, a timestamptz DEFAULT 'now', b timestamptz DEFAULT E'\\156ow', c date DEFAULT 'today')",
      "CREATE TABLE defaults AS SELECT pg_get_expr(adbin, adrelid) AS text FROM pg_attrdef WHERE adrelid = 't'::regclass",
      'SELECT pg_sleep(0.05)',
      'INSERT INTO t (n) VALUES (1), (2)',
      "ALTER TABLE t ADD COLUMN d timestamptz NOT NULL DEFAULT 'now'::timestamptz, ADD COLUMN e float8 DEFAULT random()",
    ),
    shows: [
      { query: 'SELECT count(*), count(DISTINCT (a, b, d)) FROM t', rows: [['2', '1']] },
      {
        query:
          "SELECT count(*) FROM defaults WHERE text IN (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 't'::regclass)",
        rows: [['3']],
      },
    ],
  },
  {
    name: 'random_and_unordered',
    what: 'random values, and rows that are picked without an order',
    steps: inOneSession(
      'CREATE TABLE t (n int, r float8 DEFAULT random(), u uuid DEFAULT gen_random_uuid(), at timestamptz DEFAULT clock_timestamp())',
      'INSERT INTO t (n) SELECT generate_series(1, 1000)',
      'UPDATE t SET n = -n WHERE ctid IN (SELECT ctid FROM t ORDER BY random() LIMIT 500)',
      'DELETE FROM t WHERE ctid = ANY (ARRAY(SELECT ctid FROM t TABLESAMPLE BERNOULLI (10)))',
      'CREATE TABLE picked AS SELECT * FROM t LIMIT 100',
    ),
    shows: [{ query: 'SELECT count(*) FROM picked JOIN t USING (n, r, u, at)', rows: [['100']] }],
  },
  {
    name: 'subtransactions',
    what: 'hundreds of savepoints in one transaction, a third of them taken back, with an exception block and locks',
    steps: [
      ...inOneSession(
        'CREATE TABLE t (n int PRIMARY KEY); CREATE SEQUENCE s',
        `BEGIN; ${savepoints}; COMMIT`,
        `DO $$ BEGIN FOR i IN 1000..1099 LOOP BEGIN INSERT INTO t VALUES (i); IF i % 2 = 0 THEN INSERT INTO t VALUES (i); END IF;
           EXCEPTION WHEN unique_violation THEN NULL; END; END LOOP; END $$`,
        'BEGIN; SELECT n FROM t WHERE n < 10 FOR UPDATE; SAVEPOINT s; UPDATE t SET n = n + 5000 WHERE n = 1; SELECT n FROM t WHERE n < 20 FOR KEY SHARE; COMMIT',
      ),
      { session: 'b', run: 'BEGIN; SELECT n FROM t WHERE n = 2 FOR SHARE' },
      { session: 'a', run: 'BEGIN; SELECT n FROM t WHERE n = 2 FOR SHARE; COMMIT' },
      { session: 'b', run: 'COMMIT' },
    ],
    shows: [{ query: 'SELECT count(*), min(n), max(n) FROM t', rows: [['250', '2', '5001']] }],
  },
  {
    name: 'every_index',
    what: 'every kind of index, built before and after the rows, and rewritten',
    steps: inOneSession(
      'CREATE TABLE t (n int, v text, p point, a int[], r int4range, EXCLUDE USING gist (r WITH &&))',
      'CREATE INDEX ON t USING hash (n); CREATE INDEX ON t USING gin (a); CREATE INDEX ON t USING gist (p)',
      'INSERT INTO t SELECT n, md5(n::text), point(n, n), ARRAY[n, n % 7], int4range(n, n + 1) FROM generate_series(1, 2000) n',
      'CREATE INDEX ON t USING brin (n); CREATE INDEX ON t USING spgist (v); CREATE INDEX ON t (lower(v)) WHERE n % 2 = 0',
      'DELETE FROM t WHERE n % 5 = 0',
      'VACUUM t',
      'CREATE INDEX named ON t (n); CLUSTER t USING named',
      'VACUUM (FULL, ANALYZE) t',
      'ALTER TABLE t ALTER COLUMN n TYPE bigint; REINDEX TABLE t',
    ),
    shows: [
      { query: 'SET enable_seqscan = off; SELECT count(*) FROM t WHERE n = 11', rows: [['1']] },
      { query: 'SET enable_seqscan = off; SELECT count(*) FROM t WHERE a @> ARRAY[3]', rows: [['229']] },
      { query: 'SET enable_seqscan = off; SELECT n FROM t WHERE p ~= point(42, 42)', rows: [['42']] },
      { query: "SET enable_seqscan = off; SELECT n FROM t WHERE v = md5('77')", rows: [['77']] },
    ],
  },
  {
    name: 'what_leaves_no_row',
    what: 'comments, rights, statistics objects, publications, rules, storage options, replica identity',
    steps: inOneSession(
      "CREATE TABLE t (n int, v text); COMMENT ON TABLE t IS 'a table'; COMMENT ON COLUMN t.v IS 'a column'",
      'ALTER TABLE t SET (fillfactor = 70), ALTER COLUMN v SET STORAGE EXTERNAL, ALTER COLUMN n SET STATISTICS 500, REPLICA IDENTITY FULL',
      'CREATE STATISTICS both_of_them ON n, v FROM t; CREATE PUBLICATION what_leaves_no_row FOR TABLE t',
      'CREATE TABLE log (n int); CREATE RULE doubled AS ON INSERT TO t WHERE NEW.n > 0 DO ALSO INSERT INTO log VALUES (-NEW.n)',
      'GRANT SELECT ON t TO PUBLIC; ALTER DEFAULT PRIVILEGES IN SCHEMA what_leaves_no_row GRANT INSERT ON TABLES TO PUBLIC',
      "INSERT INTO t VALUES (1, 'x'); ANALYZE t; DROP PUBLICATION what_leaves_no_row",
    ),
    shows: [
      { query: 'SELECT n FROM t UNION ALL SELECT n FROM log', rows: [['1'], ['-1']] },
      {
        query:
          "SELECT obj_description('t'::regclass), reloptions, relreplident FROM pg_class WHERE oid = 't'::regclass",
        rows: [['a table', '{fillfactor=70}', 'f']],
      },
      { query: "SELECT count(*) FROM pg_statistic_ext WHERE stxrelid = 't'::regclass", rows: [['1']] },
      {
        query:
          "SELECT count(*) FROM pg_default_acl WHERE defaclnamespace = 'what_leaves_no_row'::regnamespace",
        rows: [['1']],
      },
    ],
  },
  {
    name: 'the_session_is_its_own',
    what: 'lastval() after a write, no statements that the client did not prepare, and plans without foreign triggers',
    steps: [
      ...inOneSession(
        'CREATE TABLE t (n serial PRIMARY KEY, v int)',
        'INSERT INTO t (v) VALUES (1), (2), (3)',
      ),
      gives("SELECT lastval(), currval('t_n_seq')", [['3', '3']]),
      gives('SELECT count(*) FROM pg_prepared_statements', [['0']]),
      gives("SELECT count(*) FROM pg_trigger WHERE tgrelid = 't'::regclass", [['0']]),
      gives('SELECT count(*) FROM pg_event_trigger', [['0']]),
      gives("SELECT count(*) FROM pg_namespace WHERE nspname = '_barista'", [['0']]),
      gives('UPDATE t SET v = v + 1 WHERE n = 2 RETURNING n, v', [['2', '3']]),
      gives('SELECT lastval()', [['3']]),
    ],
    shows: [
      {
        query: 'SELECT n, v FROM t ORDER BY n',
        rows: [
          ['1', '1'],
          ['2', '3'],
          ['3', '3'],
        ],
      },
    ],
  },
];
