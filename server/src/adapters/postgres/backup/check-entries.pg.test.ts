/** A table that lost pages or rows, of which its indexes know more than the table; and tables of all kinds of which nothing is lost. */
import { mkdtemp, open, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pageBytes } from '../copy/page.ts';
import type { DurablePosition } from '../copy/chosen.ts';
import { PlainPostgres, testBinaries } from '../copy/testing/plain-postgres.ts';
import { writeBackup } from './backup-file.ts';
import { createBackupSource } from './base-backup.ts';
import { checkEntries, listIndexFiles } from './check-entries.ts';
import { visitRows } from './index-page.ts';
import { eachPage } from './page-chunks.ts';
import { testRestore } from './restore-test.ts';

let root: string;
let primary: PlainPostgres;

/** Nothing vacuums or analyses by itself. */
const settings = { autovacuum: 'off', restart_after_crash: 'off' };

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-entries-'));
  primary = new PlainPostgres(join(root, 'primary'), await testBinaries());
  await primary.create(join(root, 'template'));
  await primary.start(null, settings);
});
afterAll(async () => {
  await primary?.stop('immediate');
  await rm(root, { recursive: true, force: true });
});

async function whileStopped(change: () => Promise<void>): Promise<void> {
  await primary.stop('fast');
  await change();
  await primary.start(null, settings);
}

async function pathOf(relation: string): Promise<string> {
  return join(primary.dataDir, await primary.value(`SELECT pg_relation_filepath('${relation}')`));
}

/** A backup of the primary, tested. */
async function complaints(): Promise<readonly string[]> {
  let durable: DurablePosition = { position: await primary.position(), configuration: null };
  const { version } = await testBinaries();
  const source = createBackupSource({
    socketPath: join(primary.socketDir, '.s.PGSQL.5432'),
    version,
    dataDir: primary.dataDir,
    position: () => durable,
    async awaitChosen(lsn) {
      while (durable.position.end < lsn)
        durable = { position: await primary.position(), configuration: null };
      return true;
    },
    bytesPerSecondMax: () => null,
  });
  const file = join(root, 'backup');
  const header = { group: 'main', cluster: 'c1', postgresVersion: version };
  await writeBackup({ source, out: file, header });
  const report = await testRestore({
    file,
    directory: join(root, 'tested'),
    binaries: await testBinaries(),
    archive: null,
  });
  expect(report.amcheck).toBe(true);
  return report.complaints;
}

it('finds nothing where rows were deleted, tables were truncated by VACUUM, and indexes are of any kind', async () => {
  await primary.query(`
    CREATE TABLE drinks (id int PRIMARY KEY, kind text, place point, note text, size int) WITH (fillfactor = 50);
    CREATE INDEX drinks_kind ON drinks (kind);
    CREATE INDEX drinks_hash ON drinks USING hash (note);
    CREATE INDEX drinks_gist ON drinks USING gist (place);
    CREATE INDEX drinks_spgist ON drinks USING spgist (note);
    CREATE INDEX drinks_gin ON drinks USING gin (string_to_array(note, ' '));
    CREATE INDEX drinks_partly ON drinks (lower(note)) WHERE id % 2 = 0;
    CREATE INDEX drinks_brin ON drinks USING brin (id);
    INSERT INTO drinks SELECT i, 'kind ' || i % 3, point(i, -i), CASE WHEN i % 7 > 0 THEN 'note ' || i END, 1 FROM generate_series(1, 20000) i;
    UPDATE drinks SET size = 2 WHERE id % 3 = 0;
    UPDATE drinks SET kind = 'another', note = 'other ' || id WHERE id % 5 = 0;
    DELETE FROM drinks WHERE id > 12000 OR id BETWEEN 3000 AND 4000;
    CREATE UNLOGGED TABLE unlogged (id int PRIMARY KEY);
    INSERT INTO unlogged SELECT generate_series(1, 5000);
    CREATE TABLE parts (id int PRIMARY KEY) PARTITION BY RANGE (id);
    CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (5000);
    CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM (5000) TO (10000);
    INSERT INTO parts SELECT generate_series(1, 9000);
    CREATE MATERIALIZED VIEW seen AS SELECT id, repeat('x', 20) AS word FROM parts;
    CREATE INDEX seen_id ON seen (id);
    CREATE TABLE long (id int PRIMARY KEY, text text);
    ALTER TABLE long ALTER text SET STORAGE EXTERNAL;
    INSERT INTO long SELECT i, repeat('y', 9000) FROM generate_series(1, 200) i;
    DELETE FROM long WHERE id > 50;
    CREATE TABLE emptied (id int PRIMARY KEY);
    INSERT INTO emptied SELECT generate_series(1, 1000);
    TRUNCATE emptied;
    CREATE TABLE twice (id int);
    INSERT INTO twice SELECT i % 100 FROM generate_series(1, 1000) i;
  `);
  await expect(primary.query('CREATE UNIQUE INDEX CONCURRENTLY twice_id ON twice (id)')).rejects.toThrow(
    'could not create unique index',
  );
  await primary.query(
    "BEGIN; INSERT INTO drinks SELECT i, 'x' FROM generate_series(30001, 31000) i; ROLLBACK",
  );
  const temporary = await primary.client();
  await temporary.query('CREATE TEMPORARY TABLE passing (id int PRIMARY KEY)');
  await temporary.query('INSERT INTO passing SELECT generate_series(1, 1000)');
  const before = await primary.value("SELECT pg_relation_size('drinks')");
  expect(await complaints()).toEqual([]);
  for (const table of ['drinks', 'long', 'twice']) await primary.query(`VACUUM ${table}`);
  await primary.query('DELETE FROM twice WHERE id > 1');
  await primary.query('VACUUM twice');
  expect(Number(await primary.value("SELECT pg_relation_size('drinks')"))).toBeLessThan(Number(before));
  await primary.query("INSERT INTO drinks SELECT i, 'x' FROM generate_series(3000, 3100) i");
  expect(await complaints()).toEqual([]);
});

it('the rows that are read from the pages of an index are those of its table, and no others', async () => {
  await primary.query(`
    CREATE TABLE whole (id int PRIMARY KEY, kind text, note text, place point);
    INSERT INTO whole SELECT i, 'kind ' || i % 3, CASE WHEN i % 7 > 0 THEN 'note ' || i % 9000 END, point(i, -i) FROM generate_series(1, 20000) i;
    CREATE INDEX whole_kind ON whole (kind);
    CREATE INDEX whole_hash ON whole USING hash (id);
    CREATE INDEX whole_gist ON whole USING gist (place);
    CREATE INDEX whole_spgist ON whole USING spgist (note);
    CREATE INDEX whole_gin ON whole USING gin (string_to_array(kind, ' '), (ARRAY[id / 1000, id]));
    DELETE FROM whole WHERE id % 5 = 0`);
  await primary.query('VACUUM whole');
  // GIN sorts these in later.
  await primary.query(
    "INSERT INTO whole SELECT i, 'kind ' || i % 3, 'note', point(i, -i) FROM generate_series(20001, 20100) i",
  );
  const rows = await primary.query<{ row: string }>('SELECT ctid::text AS row FROM whole');
  const indexes = await listIndexFiles(primary);
  await whileStopped(async () => {
    for (const [name, kind] of [
      ['pkey', 'btree'],
      ['kind', 'btree'],
      ['hash', 'hash'],
      ['gin', 'gin'],
      ['gist', 'gist'],
      ['spgist', 'spgist'],
    ] as const) {
      const index = indexes.find((each) => each.name === `public.whole_${name}`);
      expect(index?.kind).toBe(kind);
      const named: string[] = [];
      await eachPage(join(primary.dataDir, index!.path), (bytes, at) =>
        visitRows(kind, bytes, at, (block, offset) => named.push(`(${block},${offset})`)),
      );
      // For each of its keys.
      expect(named).toHaveLength(kind === 'gin' ? 4 * 16_100 : 16_100);
      expect(new Set(named)).toEqual(new Set(rows.map(({ row }) => row)));
    }
    expect(await checkEntries(primary.dataDir, indexes)).toEqual([]);
  });
});

it('finds that a table which was neither vacuumed nor analysed has lost its last pages, and a page in its middle', async () => {
  await primary.query(`
    CREATE TABLE cut (id int PRIMARY KEY, kind text);
    INSERT INTO cut SELECT i, 'kind ' || i % 3 FROM generate_series(1, 20000) i;
    CREATE INDEX cut_kind ON cut (kind);
    CREATE TABLE torn (note text, place point);
    INSERT INTO torn SELECT 'note ' || i, point(i, i) FROM generate_series(1, 20000) i;
    CREATE INDEX torn_hash ON torn USING hash (note);
    CREATE INDEX torn_gist ON torn USING gist (place);
    CREATE INDEX torn_spgist ON torn USING spgist (note);
    CREATE INDEX torn_gin ON torn USING gin (string_to_array(note, ' '));
    UPDATE pg_class SET relpages = 0 WHERE relname IN ('cut', 'torn', 'emptied')
  `);
  const [cut, torn, emptied] = [await pathOf('cut'), await pathOf('torn'), await pathOf('emptied')];
  await primary.query('INSERT INTO emptied VALUES (1)');
  const pages = Number(await primary.value("SELECT pg_relation_size('cut')")) / pageBytes;
  await whileStopped(async () => {
    await truncate(cut, (pages - 3) * pageBytes);
    await truncate(emptied, 0);
    const file = await open(torn, 'r+');
    await file.write(Buffer.alloc(pageBytes), 0, pageBytes, 5 * pageBytes);
    await file.close();
  });
  const found = await complaints();
  const beyond = `beyond its end, up to page ${pages - 1}, where public.cut has ${pages - 3}: it has lost pages`;
  for (const index of ['cut_pkey', 'cut_kind'])
    expect(found).toContainEqual(
      expect.stringMatching(
        new RegExp(`^postgres: public\\.${index}: \\d+ of its entries name pages of public\\.cut ${beyond}$`),
      ),
    );
  for (const index of ['torn_hash', 'torn_gist', 'torn_spgist', 'torn_gin'])
    expect(found).toContainEqual(
      expect.stringMatching(
        new RegExp(
          `^postgres: public\\.${index}: \\d+ of its entries name rows that public\\.torn does not have, the first one \\(5,\\d+\\): it has lost rows$`,
        ),
      ),
    );
  expect(found).toContainEqual(expect.stringMatching(/public\.emptied_pkey: 1 of its entries/));
  expect(found).toHaveLength(7);
});
