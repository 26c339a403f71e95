/** Ways in which a transaction can change data and schema, for tests: each must reach a follower unchanged. */
export interface Shape {
  readonly name: string;
  readonly transactions: readonly (readonly string[])[];
}

const shape = (name: string, ...transactions: readonly (readonly string[])[]): Shape => ({
  name,
  transactions,
});

export const shapes: readonly Shape[] = [
  shape(
    'plain DML with a serial key',
    ['CREATE TABLE plain (id serial PRIMARY KEY, v text, n numeric(10,2) DEFAULT 1.5)'],
    [
      "INSERT INTO plain (v) VALUES ('a'), ('b''c\"d\\e'), (NULL), ('')",
      "INSERT INTO plain (v, n) VALUES ('line\nbreak, comma', NULL)",
    ],
    ["UPDATE plain SET v = v || '!' WHERE id < 3", 'DELETE FROM plain WHERE id = 4'],
    ['UPDATE plain SET id = id + 100'],
  ),
  shape(
    'a table without a key, with duplicate rows',
    ['CREATE TABLE keyless (a int, b text)'],
    [
      "INSERT INTO keyless SELECT g % 3, 'x' FROM generate_series(1, 30) g",
      'INSERT INTO keyless VALUES (NULL, NULL), (NULL, NULL)',
    ],
    [
      'DELETE FROM keyless WHERE ctid IN (SELECT ctid FROM keyless WHERE a = 1 LIMIT 4)',
      'DELETE FROM keyless WHERE ctid = (SELECT min(ctid) FROM keyless WHERE a IS NULL)',
    ],
    ["UPDATE keyless SET b = 'y' WHERE ctid IN (SELECT ctid FROM keyless WHERE a = 2 LIMIT 3)"],
  ),
  shape(
    'a unique index in place of a primary key, and one that does not count',
    [
      'CREATE TABLE uniq (a int, b int NOT NULL, c int NOT NULL)',
      'CREATE UNIQUE INDEX ON uniq (a)',
      'CREATE UNIQUE INDEX ON uniq (b, c)',
      'CREATE UNIQUE INDEX ON uniq (c) WHERE c < 0',
    ],
    ['INSERT INTO uniq SELECT NULL, g, g FROM generate_series(1, 10) g'],
    ['UPDATE uniq SET a = b WHERE b > 5', 'DELETE FROM uniq WHERE c = 3'],
  ),
  shape(
    'foreign key cascades',
    [
      'CREATE TABLE parent (id int PRIMARY KEY, p int REFERENCES parent ON UPDATE CASCADE ON DELETE CASCADE)',
      'CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent ON UPDATE CASCADE ON DELETE SET NULL)',
    ],
    [
      'INSERT INTO parent VALUES (1, 1), (2, 1), (3, 2), (9, 9)',
      'INSERT INTO child VALUES (1, 1), (2, 2), (3, 9)',
    ],
    ['UPDATE parent SET id = 10 WHERE id = 1', 'UPDATE parent SET id = 29 WHERE id = 9'],
    ['DELETE FROM parent WHERE id = 10'],
  ),
  shape(
    'ON CONFLICT and MERGE',
    ['CREATE TABLE up (k int PRIMARY KEY, n int)', 'INSERT INTO up VALUES (1, 1), (2, 2)'],
    [
      'INSERT INTO up VALUES (1, 5), (3, 3) ON CONFLICT (k) DO UPDATE SET n = up.n + excluded.n',
      'INSERT INTO up VALUES (1, 0) ON CONFLICT DO NOTHING',
    ],
    [
      'MERGE INTO up USING (VALUES (1), (2), (7)) s(k) ON up.k = s.k WHEN MATCHED AND s.k = 2 THEN DELETE WHEN MATCHED THEN UPDATE SET n = 99 WHEN NOT MATCHED THEN INSERT VALUES (s.k, 7)',
    ],
    [
      'WITH d AS (DELETE FROM up WHERE k = 3 RETURNING *), i AS (INSERT INTO up SELECT k + 50, n FROM d RETURNING *) UPDATE up SET n = 0 WHERE k = 7',
    ],
  ),
  shape(
    'TRUNCATE, with and without cascade and restart',
    [
      'CREATE TABLE tr (id serial PRIMARY KEY)',
      'CREATE TABLE tr_child (id int REFERENCES tr)',
      'INSERT INTO tr DEFAULT VALUES',
      'INSERT INTO tr DEFAULT VALUES',
      'INSERT INTO tr_child VALUES (1)',
    ],
    ['TRUNCATE tr_child', 'INSERT INTO tr_child VALUES (2)'],
    [
      'INSERT INTO tr DEFAULT VALUES',
      'TRUNCATE tr RESTART IDENTITY CASCADE',
      'INSERT INTO tr DEFAULT VALUES',
    ],
  ),
  shape(
    'partitions, and rows that move between them',
    [
      'CREATE TABLE part (id int, region text, v int, PRIMARY KEY (id, region)) PARTITION BY LIST (region)',
      "CREATE TABLE part_a PARTITION OF part FOR VALUES IN ('a')",
      'CREATE TABLE part_rest PARTITION OF part DEFAULT PARTITION BY HASH (id)',
      'CREATE TABLE part_h0 PARTITION OF part_rest FOR VALUES WITH (MODULUS 2, REMAINDER 0)',
      'CREATE TABLE part_h1 PARTITION OF part_rest FOR VALUES WITH (MODULUS 2, REMAINDER 1)',
    ],
    [
      'INSERT INTO part SELECT g, chr(96 + g % 3 + 1), g FROM generate_series(1, 12) g',
      "INSERT INTO part_a VALUES (100, 'a', 1)",
    ],
    [
      "UPDATE part SET region = 'z' WHERE region = 'a' AND id < 7",
      "UPDATE part SET region = 'a' WHERE region = 'b'",
      'UPDATE part_a SET v = -1 WHERE id = 100',
      'DELETE FROM part WHERE id = 5',
    ],
    [
      'CREATE TABLE part_q (region text, id int NOT NULL, dropped int, v int)',
      'ALTER TABLE part_q DROP COLUMN dropped',
      "INSERT INTO part_q VALUES ('q', 1, 1)",
      'ALTER TABLE part_q ALTER region SET NOT NULL',
      "ALTER TABLE part ATTACH PARTITION part_q FOR VALUES IN ('q')",
      "INSERT INTO part VALUES (2, 'q', 2)",
    ],
    ['ALTER TABLE part DETACH PARTITION part_a', 'DROP TABLE part_h0'],
  ),
  shape(
    'generated and identity columns',
    [
      'CREATE TABLE gen (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a * 2) STORED, c int GENERATED BY DEFAULT AS IDENTITY)',
    ],
    [
      'INSERT INTO gen (a) VALUES (1), (2)',
      'INSERT INTO gen (id, a, c) OVERRIDING SYSTEM VALUE VALUES (50, 3, 3)',
      'UPDATE gen SET a = a + 1',
      'DELETE FROM gen WHERE b = 4',
    ],
    [
      'CREATE TABLE gen_keyless (a int, b int GENERATED ALWAYS AS (a * 2) STORED)',
      'INSERT INTO gen_keyless (a) VALUES (1), (1), (2)',
    ],
    [
      'DELETE FROM gen_keyless WHERE ctid = (SELECT min(ctid) FROM gen_keyless)',
      'UPDATE gen_keyless SET a = 7 WHERE a = 2',
    ],
    [
      'CREATE TABLE only_identity (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY)',
      'INSERT INTO only_identity DEFAULT VALUES',
      'UPDATE only_identity SET id = DEFAULT',
    ],
  ),
  shape(
    'domains, checks, enums, composites, arrays, ranges and their like',
    [
      "CREATE TYPE mood AS ENUM ('sad', 'o''k, \"fine\"')",
      'CREATE DOMAIN posint AS int CHECK (VALUE > 0)',
      'CREATE TYPE pair AS (a int, b text)',
      'CREATE DOMAIN pairs AS pair[]',
    ],
    [
      'CREATE TABLE kinds (id posint PRIMARY KEY, m mood, p pair, ps pairs, arr int[], txt text[][], r int4range, mr int4multirange, j json, jb jsonb, x xml, b bytea, mo money, ts timestamptz, d date, iv interval, u uuid, ip inet, bit varbit, pt point, fl float4, db float8, nu numeric, tsv tsvector, ch char(5), vc varchar(3), na name, CHECK (arr IS NULL OR arr[1] < 1000))',
    ],
    [
      `INSERT INTO kinds VALUES (1, 'o''k, "fine"', ROW(1, 'x,"y'), ARRAY[ROW(1, 'a')::pair, ROW(NULL, '\\"')::pair], '{1,NULL,3}', '{{a,"b,c"},{"d\\"e",NULL}}', '[1,5)', '{[1,2),[5,9)}', '{"a": [1, null]}', '{"b":"\\u00e4"}', '<a>ä</a>', '\\xdeadbeef00', 12.34, '2024-02-29 12:34:56.789012+03', '-infinity', '1 year 2 mons -3 days 04:05:06.7', '00000000-0000-0000-0000-000000000001', '10.0.0.0/8', B'10101', '(1.5,NaN)', 'NaN', '-Infinity', 'NaN', to_tsvector('simple', 'a fat cat'), 'ab', 'äöü', 'n')`,
      'INSERT INTO kinds (id, fl, db, nu, ts, arr) VALUES (2, 0.1, 1e-320, 1.10, $$infinity$$, $$[0:1]={5,6}$$)',
      "INSERT INTO kinds (id, ch, txt, b, db) VALUES (3, '', '{}', '', '-0')",
    ],
    [
      "UPDATE kinds SET db = pi(), fl = pi()::float4, p.b = 'neu', arr[2] = 77 WHERE id < 3",
      'DELETE FROM kinds WHERE id = 3',
    ],
    [
      'CREATE TABLE kinds_keyless AS SELECT m, p, ps, arr, r, jb, b, ts, iv, db, nu FROM kinds',
      'UPDATE kinds_keyless SET arr = NULL WHERE db > 0',
      'DELETE FROM kinds_keyless WHERE m IS NULL',
    ],
  ),
  shape(
    "names that need quotes, and columns that are named like the capture's own words",
    [
      'CREATE SCHEMA "We""ird Schema"',
      'CREATE TABLE "We""ird Schema"."sel ect" ("x" int PRIMARY KEY, "r" text, "t" int, "n" int, "batch" int, "header" int, "before" text, "record" int, "a0" int, "b0" int, "a""b" int, "ordinality" int, "ünï" text)',
    ],
    [
      `INSERT INTO "We""ird Schema"."sel ect" (x, r, "a""b", "ünï") VALUES (1, 'r', 2, 'ü'), (2, 's', 3, 'é')`,
      `UPDATE "We""ird Schema"."sel ect" SET x = x + 10, before = 'b'`,
      `DELETE FROM "We""ird Schema"."sel ect" WHERE x = 11`,
    ],
    [
      'CREATE TABLE "UPPER" (old_rows int, new_rows int, x int)',
      'INSERT INTO "UPPER" VALUES (1, 2, 3)',
      'UPDATE "UPPER" SET x = 4',
      'ALTER TABLE "UPPER" RENAME TO "lower now"',
      'UPDATE "lower now" SET x = 5',
      'ALTER TABLE "lower now" RENAME x TO "Y"',
      'UPDATE "lower now" SET "Y" = 6',
    ],
  ),
  shape(
    'tables without columns, and dropped columns',
    [
      'CREATE TABLE nothing ()',
      'INSERT INTO nothing DEFAULT VALUES',
      'INSERT INTO nothing DEFAULT VALUES',
      'INSERT INTO nothing DEFAULT VALUES',
    ],
    ['DELETE FROM nothing WHERE ctid = (SELECT min(ctid) FROM nothing)'],
    [
      'CREATE TABLE drops (a int, id int PRIMARY KEY, b int, c text)',
      "INSERT INTO drops VALUES (1, 1, 1, 'c'), (2, 2, 2, 'd')",
      'ALTER TABLE drops DROP COLUMN a, DROP COLUMN b',
      "INSERT INTO drops VALUES (3, 'e')",
      "UPDATE drops SET c = 'z' WHERE id = 1",
      'DELETE FROM drops WHERE id = 2',
      'ALTER TABLE drops ADD COLUMN d int DEFAULT 5',
      'UPDATE drops SET d = 6 WHERE id = 3',
    ],
  ),
  shape(
    'deferrable keys and constraints',
    [
      'CREATE TABLE def (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, n int UNIQUE DEFERRABLE)',
      'CREATE TABLE def_parent (id int PRIMARY KEY)',
      'CREATE TABLE def_ref (d int REFERENCES def_parent DEFERRABLE INITIALLY DEFERRED)',
    ],
    [
      'INSERT INTO def_ref VALUES (1)',
      'INSERT INTO def_parent VALUES (1)',
      'INSERT INTO def VALUES (1, 1), (2, 2)',
    ],
    ['UPDATE def SET id = 3 - id', 'UPDATE def SET n = 3 - n'],
  ),
  shape(
    'keys handed from row to row',
    [
      'CREATE TABLE shift (id int PRIMARY KEY, v text, u int UNIQUE)',
      "INSERT INTO shift SELECT g, 'v' || g, g FROM generate_series(1, 50) g",
    ],
    ['UPDATE shift SET id = id - 1', 'UPDATE shift SET u = -u', 'UPDATE shift SET u = 51 + u'],
    ['UPDATE shift SET u = 1000 WHERE id = 1'],
    [
      'DELETE FROM shift WHERE id = 5',
      "INSERT INTO shift VALUES (5, 'again', 5000)",
      'UPDATE shift SET id = 500 WHERE id = 5',
      "INSERT INTO shift VALUES (5, 'third', 5001)",
    ],
    [
      'CREATE TABLE excl (id int PRIMARY KEY, r int4range, EXCLUDE USING gist (r WITH &&))',
      "INSERT INTO excl VALUES (1, '[1,5)'), (2, '[5,9)')",
    ],
    [
      "UPDATE excl SET r = '[100,101)' WHERE id = 1",
      "UPDATE excl SET r = '[1,5)' WHERE id = 2",
      "UPDATE excl SET r = '[5,9)' WHERE id = 1",
    ],
  ),
  shape(
    'savepoints and exception blocks',
    ['CREATE TABLE sp (id int PRIMARY KEY, v text)'],
    [
      "INSERT INTO sp VALUES (1, 'kept')",
      'SAVEPOINT a',
      "INSERT INTO sp VALUES (2, 'gone')",
      'CREATE TABLE sp_gone (i int)',
      'ROLLBACK TO a',
      "INSERT INTO sp VALUES (3, 'kept')",
      'SAVEPOINT b',
      "UPDATE sp SET v = 'released'",
      'RELEASE b',
    ],
    [
      "DO $$ BEGIN INSERT INTO sp VALUES (4, 'kept'); BEGIN INSERT INTO sp VALUES (5, 'gone'); INSERT INTO sp VALUES (1, 'dup'); EXCEPTION WHEN unique_violation THEN INSERT INTO sp VALUES (6, 'handled'); END; END $$",
    ],
  ),
  shape(
    'triggers of the client, of every kind',
    [
      'CREATE TABLE trig (id int PRIMARY KEY, v int, note text)',
      'CREATE TABLE audit (n serial PRIMARY KEY, what text, at timestamptz DEFAULT clock_timestamp(), r float8 DEFAULT random())',
    ],
    [
      "CREATE FUNCTION trig_before() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.note := 'set by trigger'; INSERT INTO audit (what) VALUES ('before ' || TG_OP); RETURN NEW; END $$",
      'CREATE TRIGGER a BEFORE INSERT OR UPDATE ON trig FOR EACH ROW EXECUTE FUNCTION trig_before()',
    ],
    [
      'CREATE FUNCTION trig_after() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.v < 3 THEN UPDATE trig SET v = v + 1 WHERE id = NEW.id; END IF; RETURN NULL; END $$',
      'CREATE TRIGGER b AFTER INSERT OR UPDATE ON trig FOR EACH ROW EXECUTE FUNCTION trig_after()',
    ],
    ['INSERT INTO trig VALUES (1, 0), (2, 1), (3, 9)'],
    ['UPDATE trig SET v = 0 WHERE id < 3'],
    [
      "CREATE FUNCTION trig_gone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO trig VALUES (OLD.id, 5, 'resurrected'); RETURN NULL; END $$",
      'CREATE TRIGGER c AFTER DELETE ON trig FOR EACH ROW WHEN (OLD.id = 2) EXECUTE FUNCTION trig_gone()',
      'DELETE FROM trig',
    ],
    [
      'CREATE FUNCTION trig_first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM trig WHERE id = NEW.id; RETURN NEW; END $$',
      'CREATE TRIGGER "A" BEFORE INSERT ON trig FOR EACH ROW EXECUTE FUNCTION trig_first()',
      "INSERT INTO trig VALUES (3, 7, 'x')",
      "INSERT INTO trig VALUES (3, 7, 'x')",
    ],
    [
      'CREATE FUNCTION other_row() RETURNS int LANGUAGE plpgsql VOLATILE AS $$ BEGIN UPDATE up2 SET n = n + 100 WHERE k = 1; RETURN 1; END $$',
      'CREATE TABLE up2 (k int PRIMARY KEY, n int)',
      'INSERT INTO up2 VALUES (1, 0), (2, 0)',
    ],
    ['UPDATE up2 SET n = CASE WHEN k = 2 THEN other_row() ELSE n + 1 END'],
  ),
  shape(
    'rules and updatable views',
    [
      'CREATE TABLE ruled (id int PRIMARY KEY, v text)',
      'CREATE TABLE ruled_log (id int, op text)',
      "CREATE RULE log_it AS ON INSERT TO ruled DO ALSO INSERT INTO ruled_log VALUES (NEW.id, 'ins')",
      "CREATE RULE no_delete AS ON DELETE TO ruled DO INSTEAD UPDATE ruled SET v = 'deleted' WHERE id = OLD.id",
      'CREATE VIEW ruled_view AS SELECT id, v FROM ruled WHERE id > 0',
    ],
    [
      "INSERT INTO ruled VALUES (1, 'a'), (2, 'b')",
      "INSERT INTO ruled_view VALUES (3, 'c')",
      'DELETE FROM ruled WHERE id = 1',
      "UPDATE ruled_view SET v = 'via view' WHERE id = 2",
    ],
  ),
  shape(
    'schema changes of many kinds, mixed with data',
    [
      'CREATE TABLE sch (id int PRIMARY KEY, a text)',
      "INSERT INTO sch VALUES (1, '10'), (2, '20')",
      'ALTER TABLE sch ALTER a TYPE int USING a::int * 2',
      'ALTER TABLE sch ADD COLUMN made timestamptz DEFAULT now(), ADD COLUMN token uuid DEFAULT gen_random_uuid()',
      'INSERT INTO sch VALUES (3, 30)',
    ],
    [
      'ALTER TABLE sch ADD COLUMN num serial',
      'CREATE INDEX ON sch (a)',
      'CREATE UNIQUE INDEX sch_lower ON sch (lower(token::text))',
      "COMMENT ON TABLE sch IS 'it''s a comment'",
      'ALTER TABLE sch RENAME TO schema_changed',
      'ALTER TABLE schema_changed ADD CONSTRAINT positive CHECK (a > 0)',
    ],
    [
      'CREATE SCHEMA s2 CREATE TABLE inner_table (id serial PRIMARY KEY) CREATE VIEW inner_view AS SELECT * FROM inner_table',
      'SET LOCAL search_path = s2, public',
      'CREATE TABLE by_path (id int)',
      'INSERT INTO by_path VALUES (1)',
      'INSERT INTO inner_table DEFAULT VALUES',
    ],
    [
      'CREATE FUNCTION add_one(i int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT i + 1; $$',
      'CREATE TABLE expr (i int CHECK (add_one(i) > 0), j int GENERATED ALWAYS AS (add_one(i)) STORED)',
      'CREATE INDEX ON expr (add_one(i))',
      'INSERT INTO expr VALUES (1), (2)',
      'UPDATE expr SET i = 5 WHERE i = 1',
      'DELETE FROM expr WHERE i = 2',
    ],
    [
      "CREATE AGGREGATE my_sum (int) (sfunc = int4pl, stype = int, initcond = '0')",
      "CREATE TYPE late AS ENUM ('a')",
      "ALTER TYPE late ADD VALUE 'b'",
      'CREATE SEQUENCE own INCREMENT -5 START 100 MAXVALUE 1000',
      "SELECT nextval('own'), nextval('own')",
    ],
    [
      'GRANT SELECT ON schema_changed TO PUBLIC',
      'ALTER TABLE schema_changed ENABLE ROW LEVEL SECURITY',
      'CREATE POLICY pol ON schema_changed USING (id > 1)',
      'ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC',
    ],
    [
      'DROP VIEW s2.inner_view',
      'DROP TABLE s2.inner_table',
      'DROP POLICY pol ON schema_changed',
      'ALTER TABLE schema_changed DROP COLUMN made',
      'DROP INDEX sch_lower',
      'DROP SCHEMA s2 CASCADE',
    ],
    [
      "DO $$ BEGIN FOR i IN 1..3 LOOP EXECUTE format('CREATE TABLE looped_%s (id int PRIMARY KEY, v text DEFAULT %L)', i, 'a;b'); EXECUTE format('INSERT INTO looped_%s VALUES (1)', i); END LOOP; CREATE TABLE IF NOT EXISTS looped_1 (id int); END $$",
    ],
    [
      'CREATE TABLE made_as AS SELECT g AS id, g::numeric(8,2) AS n, \'x\' COLLATE "C" AS c, random() AS r FROM generate_series(1, 2500) g',
      'SELECT id, r INTO into_table FROM made_as WHERE id < 10',
      'UPDATE made_as SET n = 0 WHERE id = 1',
    ],
  ),
  shape(
    'temporary tables stay where they are',
    [
      'CREATE TEMP TABLE tmp (id serial PRIMARY KEY, v text)',
      "INSERT INTO tmp (v) VALUES ('local')",
      'CREATE INDEX ON tmp (v)',
      'ALTER TABLE tmp ADD COLUMN w int',
      'CREATE TABLE from_tmp (id int)',
      'INSERT INTO from_tmp SELECT id FROM tmp',
      "COMMENT ON TABLE tmp IS 'x'",
      'GRANT SELECT ON tmp TO PUBLIC',
      'CREATE TEMP VIEW tmp_view AS SELECT * FROM tmp',
    ],
    ['DROP TABLE tmp CASCADE', 'CREATE TEMP TABLE tmp2 ON COMMIT DROP AS SELECT 1 AS a'],
  ),
  shape(
    'settings of a client that would change the text of values',
    [
      'CREATE TABLE pins (id int PRIMARY KEY, f float8, ts timestamptz, d date, iv interval, b bytea, m money, c regclass)',
    ],
    [
      "SET LOCAL DateStyle = 'SQL, DMY'",
      "SET LOCAL TimeZone = 'Asia/Kathmandu'",
      "SET LOCAL IntervalStyle = 'sql_standard'",
      'SET LOCAL extra_float_digits = -15',
      'SET LOCAL bytea_output = escape',
      "SET LOCAL search_path = ''",
      'SET LOCAL quote_all_identifiers = on',
      "SET LOCAL client_encoding = 'LATIN1'",
      "INSERT INTO public.pins VALUES (1, 0.1 + 0.2, '2024-01-02 03:04:05', '02/03/2024', '1-2 3 4:05:06', '\\x00ff5c', 1234.5, 'public.plain')",
      "UPDATE public.pins SET f = pi(), d = '04/05/2024'",
      "CREATE TABLE public.pins2 (d date DEFAULT '04/05/2024', ts timestamptz DEFAULT '04/05/2024 12:00')",
    ],
    ['INSERT INTO pins2 DEFAULT VALUES'],
  ),
  shape(
    'a row that is written through its partition and through the parent by turns',
    [
      'CREATE TABLE fam (id int PRIMARY KEY, v int) PARTITION BY RANGE (id)',
      'CREATE TABLE fam_a PARTITION OF fam FOR VALUES FROM (0) TO (100)',
      'INSERT INTO fam VALUES (1, 0), (2, 0)',
    ],
    [
      'UPDATE fam_a SET v = 1 WHERE id = 1',
      'UPDATE fam SET v = 2 WHERE id = 1',
      'UPDATE fam_a SET v = 3 WHERE id = 1',
      'DELETE FROM fam WHERE id = 2',
      'INSERT INTO fam_a VALUES (2, 9)',
    ],
  ),
  shape(
    'checks that look at the clock',
    [
      'CREATE TABLE clocked (id int PRIMARY KEY, until timestamptz CHECK (until > clock_timestamp()), n int CHECK (n > 0))',
      "INSERT INTO clocked VALUES (1, clock_timestamp() + interval '5 milliseconds', 1)",
    ],
    ["INSERT INTO clocked VALUES (2, clock_timestamp() + interval '5 milliseconds', 1)"],
  ),
  shape(
    'sequences, called and set, forwards and back',
    [
      'CREATE SEQUENCE sq',
      'CREATE SEQUENCE sq_down INCREMENT -1',
      'CREATE SEQUENCE sq_cycle MAXVALUE 3 CYCLE',
    ],
    ["SELECT nextval('sq'), nextval('sq'), nextval('sq_down')"],
    ["SELECT setval('sq', 500)"],
    ["SELECT setval('sq', 20)", "SELECT setval('sq_down', -70, false)"],
    ["SELECT nextval('sq_cycle'), nextval('sq_cycle'), nextval('sq_cycle')"],
    ["SELECT nextval('sq_cycle')"],
    ["SELECT setval('sq', 1, false)"],
    ['ALTER SEQUENCE sq RESTART WITH 33', 'ALTER SEQUENCE sq_down RENAME TO sq_low'],
    ["SELECT nextval('sq_low')"],
    ['DROP SEQUENCE sq_cycle'],
  ),
];
