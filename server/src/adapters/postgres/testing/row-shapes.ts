/** Ways in which a transaction can change rows, for tests: each must reach a follower unchanged. */
export interface Shape {
  readonly name: string;
  readonly transactions: readonly (readonly string[])[];
}

export const shape = (name: string, ...transactions: readonly (readonly string[])[]): Shape => ({
  name,
  transactions,
});

export const rowShapes: readonly Shape[] = [
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
];
