/** The second half of formerly-refused.ts: triggers, code, types, transactions, values, sessions. */
import { gives, inOneSession, refused, type Scenario } from './scenario.ts';

export const formerlyRefusedCode: readonly Scenario[] = [
  {
    name: 'triggers_of_all_kinds',
    what: 'ENABLE ALWAYS and REPLICA triggers, DISABLE TRIGGER ALL, names that sort before letters',
    steps: [
      ...inOneSession(
        'CREATE TABLE t (n int); CREATE TABLE log (what text)',
        'CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log VALUES (TG_NAME || NEW.n); RETURN NEW; END $$',
        'CREATE TRIGGER "!a" BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION note()',
        'CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION note()',
        'CREATE TRIGGER "!barista_c" BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION note()',
        'ALTER TABLE t ENABLE ALWAYS TRIGGER "!a"; ALTER TABLE t ENABLE REPLICA TRIGGER b; INSERT INTO t VALUES (1)',
        'ALTER TABLE t DISABLE TRIGGER ALL; INSERT INTO t VALUES (2); ALTER TABLE t ENABLE TRIGGER ALL; INSERT INTO t VALUES (3)',
        'DROP TRIGGER "!barista_c" ON t',
      ),
    ],
    shows: [
      { query: 'SELECT what FROM log', rows: [['!a1'], ['!barista_c1'], ['!a3'], ['!barista_c3'], ['b3']] },
    ],
  },
  {
    name: 'rewrites_under_a_foreign_key',
    what: 'ADD COLUMN with a volatile default and ALTER TYPE ... USING while a foreign key points to the table',
    steps: inOneSession(
      'CREATE TABLE t (n int PRIMARY KEY, v text); CREATE TABLE f (n int REFERENCES t)',
      'INSERT INTO t SELECT n, n::text FROM generate_series(1, 20) n; INSERT INTO f VALUES (7)',
      'ALTER TABLE t ADD COLUMN r float8 DEFAULT random(), ADD COLUMN u uuid DEFAULT gen_random_uuid()',
      'ALTER TABLE t ALTER COLUMN v TYPE int USING v::int * 2',
    ),
    shows: [{ query: 'SELECT count(DISTINCT u), sum(v), count(r) FROM t', rows: [['20', '420', '20']] }],
  },
  {
    name: 'hashes_of_anything',
    what: 'hash partitioning by an enum, a regclass, a range and a row',
    steps: inOneSession(
      "CREATE TYPE e AS ENUM ('x', 'y', 'z'); CREATE TYPE c AS (a int, b text)",
      ...(['e', 'regclass', 'int4range', 'c'] as const).flatMap((type) => [
        `CREATE TABLE by_${type} (k ${type}) PARTITION BY HASH (k)`,
        `CREATE TABLE by_${type}_0 PARTITION OF by_${type} FOR VALUES WITH (MODULUS 2, REMAINDER 0)`,
        `CREATE TABLE by_${type}_1 PARTITION OF by_${type} FOR VALUES WITH (MODULUS 2, REMAINDER 1)`,
      ]),
      'INSERT INTO by_e SELECT unnest(enum_range(NULL::e)); INSERT INTO by_regclass SELECT oid::regclass FROM pg_class LIMIT 100',
      "INSERT INTO by_int4range SELECT int4range(n, n + 5) FROM generate_series(1, 50) n; INSERT INTO by_c SELECT ROW(n, 'x')::c FROM generate_series(1, 50) n",
    ),
    shows: [
      {
        query:
          'SELECT (SELECT count(*) FROM by_e), (SELECT count(*) FROM by_regclass), (SELECT count(*) FROM by_int4range), (SELECT count(*) FROM by_c)',
        rows: [['3', '100', '50', '50']],
      },
      {
        query:
          "SELECT n FROM generate_series(1, 3) n WHERE EXISTS (SELECT FROM by_c WHERE k = ROW(n, 'x')::c) ORDER BY n",
        rows: [['1'], ['2'], ['3']],
      },
    ],
  },
  {
    name: 'domain_with_any_function',
    what: 'CREATE DOMAIN with a check whose function is not immutable',
    steps: [
      ...inOneSession(
        'CREATE TABLE allowed (n int); INSERT INTO allowed VALUES (1)',
        'CREATE FUNCTION is_allowed(int) RETURNS boolean LANGUAGE sql VOLATILE AS $$ SELECT EXISTS (SELECT FROM allowed WHERE n = $1) $$',
        'CREATE DOMAIN d AS int CHECK (is_allowed(VALUE)); CREATE TABLE t (k int, d d)',
        'INSERT INTO t VALUES (1, 1); DELETE FROM allowed; UPDATE t SET k = 2',
      ),
      refused('INSERT INTO t VALUES (3, 1)', '23514'),
    ],
    shows: [{ query: 'SELECT k, d FROM t', rows: [['2', '1']] }],
  },
  {
    name: 'ddl_inside_code',
    what: 'DDL in an SQL-language function, and several statements in one EXECUTE',
    steps: inOneSession(
      'CREATE FUNCTION make() RETURNS void LANGUAGE sql AS $$ CREATE TABLE made (n int); CREATE TABLE made_too (n int) $$; SELECT make()',
      "DO $$ BEGIN EXECUTE 'CREATE TABLE third (n int); INSERT INTO third VALUES (1); ALTER TABLE third ADD COLUMN v int DEFAULT 2'; END $$",
      'BEGIN; CREATE TABLE kept (n int); SAVEPOINT s; CREATE TABLE dropped (n int); ROLLBACK TO s; CREATE TABLE kept_too (n int); COMMIT',
    ),
    shows: [
      {
        query:
          "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relnamespace = 'ddl_inside_code'::regnamespace AND relkind = 'r'",
        rows: [['kept kept_too made made_too third']],
      },
      { query: 'SELECT n, v FROM third', rows: [['1', '2']] },
    ],
  },
  {
    name: 'temporary_and_permanent',
    what: 'one DROP of temporary and permanent tables, permanent objects made from temporary ones',
    steps: [
      ...inOneSession(
        'CREATE TEMPORARY TABLE t1 (n int DEFAULT 5, v text); CREATE TABLE p1 (n int); CREATE TEMPORARY SEQUENCE ts',
        'CREATE TABLE p2 (LIKE t1 INCLUDING DEFAULTS); CREATE TABLE p3 AS SELECT * FROM t1',
        "CREATE TABLE p4 (n int DEFAULT nextval('ts')); INSERT INTO p4 VALUES (DEFAULT); INSERT INTO p2 (v) VALUES ('t1')",
        'DROP TABLE t1, p1',
        'CREATE FUNCTION of_a_temporary() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$',
      ),
      { session: 'a', leave: true },
      { session: 'b', run: 'INSERT INTO p4 VALUES (9)' },
    ],
    shows: [
      { query: 'SELECT n, v FROM p2', rows: [['5', 't1']] },
      { query: 'SELECT n FROM p4 ORDER BY n', rows: [['1'], ['9']] },
      {
        query:
          "SELECT count(*) FROM pg_class WHERE relnamespace = 'temporary_and_permanent'::regnamespace AND relname = 'p1'",
        rows: [['0']],
      },
    ],
  },
  {
    name: 'transactions_inside_code',
    what: 'COMMIT and ROLLBACK inside a procedure and in DO, and EXPLAIN ANALYZE that makes a table',
    steps: inOneSession(
      'CREATE TABLE t (n int)',
      'CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1..10 LOOP INSERT INTO t VALUES (i); IF i % 2 = 0 THEN COMMIT; ELSE ROLLBACK; END IF; END LOOP; END $$',
      'CALL p()',
      'DO $$ BEGIN INSERT INTO t VALUES (100); COMMIT; INSERT INTO t VALUES (200); ROLLBACK; END $$',
      'EXPLAIN ANALYZE CREATE TABLE explained AS SELECT * FROM t',
    ),
    shows: [{ query: 'SELECT count(*), sum(n) FROM explained', rows: [['6', '130']] }],
  },
  {
    name: 'cursor_beyond_its_transaction',
    what: 'a cursor WITH HOLD in a transaction that writes',
    steps: [
      ...inOneSession(
        'CREATE TABLE t (n int)',
        'BEGIN; INSERT INTO t SELECT generate_series(1, 5); DECLARE c CURSOR WITH HOLD FOR SELECT n FROM t ORDER BY n; COMMIT',
      ),
      gives('FETCH 2 FROM c', [['1'], ['2']]),
      ...inOneSession('INSERT INTO t VALUES (6)'),
      gives('FETCH 2 FROM c', [['3'], ['4']]),
      ...inOneSession('CLOSE c'),
    ],
    shows: [{ query: 'SELECT count(*) FROM t', rows: [['6']] }],
  },
  {
    name: 'large_values',
    what: 'a row of 20 MB, and large objects',
    steps: inOneSession(
      "CREATE TABLE t (n int, v text); ALTER TABLE t ALTER COLUMN v SET STORAGE EXTERNAL; INSERT INTO t VALUES (1, repeat('barista ', 2500000))",
      "UPDATE t SET v = v || '!'; CREATE TABLE o AS SELECT lo_from_bytea(0, convert_to(repeat('x', 3000000), 'UTF8')) AS id",
      "SELECT lo_put(id, 10, 'yyy') FROM o; GRANT SELECT ON TABLE o TO PUBLIC",
    ),
    shows: [
      { query: 'SELECT length(v), right(v, 3) FROM t', rows: [['20000001', 'a !']] },
      {
        query: "SELECT length(lo_get(id)), encode(lo_get(id, 9, 5), 'escape') FROM o",
        rows: [['3000000', 'xyyyx']],
      },
    ],
  },
  {
    name: 'signals',
    what: "pg_cancel_backend and pg_terminate_backend on one's own sessions",
    steps: [
      ...inOneSession('CREATE TABLE t (pid int)'),
      { session: 'b', run: 'INSERT INTO t VALUES (pg_backend_pid())' },
      { session: 'b', start: 'SELECT pg_sleep(60)' },
      gives('SELECT pg_sleep(0.3) IS NOT NULL, pg_cancel_backend(pid) FROM t', [['t', 't']]),
      { session: 'b', finish: true, fails: '57014' },
      gives('SELECT pg_terminate_backend(pid, 5000) FROM t', [['t']]),
      { session: 'b', leave: true },
    ],
    shows: [{ query: 'SELECT count(*) FROM t', rows: [['1']] }],
  },
  {
    name: 'odd_sessions',
    what: 'standard_conforming_strings off, and an encoding in which a character may hold a backslash',
    steps: [
      ...inOneSession(
        'CREATE TABLE t (n int, v text)',
        'SET standard_conforming_strings = off; SET escape_string_warning = off',
        "INSERT INTO t VALUES (1, 'it\\'s')",
        'RESET standard_conforming_strings',
        "INSERT INTO t VALUES (2, 'back\\slash')",
        "SET client_encoding = 'SJIS'; INSERT INTO t VALUES (3, 'plain'); RESET client_encoding",
      ),
    ],
    shows: [{ query: 'SELECT v FROM t ORDER BY n', rows: [["it's"], ['back\\slash'], ['plain']] }],
  },
];
