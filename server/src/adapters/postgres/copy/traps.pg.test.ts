/** Blocks that look equal and are not. */
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { readDirectoryState } from '../directory-state.ts';
import { inspectDataDirectory } from '../inspect-data-directory.ts';
import { pageBytes } from './page.ts';
import { copyTo, ledRole, say, sourceOf } from './testing/copying.ts';
import { PlainPostgres, testBinaries } from './testing/plain-postgres.ts';

let root: string;
let pairs = 0;
let primary: PlainPostgres;
let standby: PlainPostgres;
const started: PlainPostgres[] = [];

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-traps-'));
});
beforeEach(async () => {
  const binaries = await testBinaries();
  pairs += 1;
  [primary, standby] = ['a', 'b'].map(
    (name) => new PlainPostgres(join(root, `${name}${pairs}`), binaries),
  ) as [PlainPostgres, PlainPostgres];
  started.push(primary, standby);
  await primary.create(join(root, 'template'));
  // Nobody but the test changes pages.
  await primary.start(null, { autovacuum: 'off' });
  await copyTo(standby, await sourceOf(primary));
  await standby.start(primary);
});
afterAll(async () => {
  for (const postgres of started) await postgres.stop('immediate');
  await rm(root, { recursive: true, force: true });
});

it('a hint about a lost transaction survives where positions are believed, as of a standby, and is replaced in what was a primary', async () => {
  await primary.query('CREATE TABLE t (id int)');
  await primary.query('INSERT INTO t VALUES (1)');
  await primary.query('CHECKPOINT');
  const session = await primary.client();
  await session.query('BEGIN');
  await session.query('INSERT INTO t VALUES (2)');
  await primary.query('CREATE TABLE flushes_the_wal ()');
  await standby.caughtUp(primary);
  await standby.cutOff();
  // Not chosen, and shown to others all the same.
  await session.query('COMMIT');
  expect(await primary.value('SELECT count(*) FROM t')).toBe('2');
  await primary.query('CHECKPOINT');
  await primary.stop('immediate');
  await standby.promote();
  expect(await standby.value('SELECT count(*) FROM t')).toBe('1');

  await say(primary, { kind: 'standby' });
  await copyTo(primary, await sourceOf(standby));
  await primary.start(standby);
  await primary.caughtUp(standby);
  expect(await primary.value('SELECT count(*) FROM t')).toBe('2');
  await primary.stop('immediate');

  await say(primary, ledRole);
  await copyTo(primary, await sourceOf(standby));
  await primary.start(standby);
  await primary.caughtUp(standby);
  expect(await primary.value('SELECT count(*) FROM t')).toBe('1');
});

it("a sequence's page is stale without its position telling so, and no number is given twice", async () => {
  await primary.query('CREATE EXTENSION pg_buffercache');
  await primary.query('CREATE SEQUENCE s');
  await primary.query('CHECKPOINT');
  const session = await primary.client();
  await session.query("SELECT nextval('s') FROM generate_series(1, 5)");
  await session.query("SELECT pg_buffercache_evict_relation('s')");
  // The page on the disk says 5; these need no record.
  const before = await primary.value('SELECT pg_current_wal_insert_lsn()');
  await session.query("SELECT nextval('s') FROM generate_series(1, 15)");
  expect(await primary.value('SELECT pg_current_wal_insert_lsn()')).toBe(before);
  await standby.caughtUp(primary);
  await primary.stop('immediate');
  await standby.promote();
  // All that it has is chosen.
  await say(primary, { kind: 'standby' });
  await copyTo(primary, await sourceOf(standby));
  await primary.start(standby);
  await primary.caughtUp(standby);
  await standby.stop('immediate');
  await primary.promote();
  expect(Number(await primary.value("SELECT nextval('s')"))).toBeGreaterThan(20);
});

it('a visibility map is stale without its position telling so, and hides nothing', async () => {
  await primary.query('CREATE TABLE t (id int PRIMARY KEY)');
  await primary.query('INSERT INTO t SELECT generate_series(1, 1000)');
  await primary.query('VACUUM t');
  await primary.query('CHECKPOINT');
  await standby.caughtUp(primary);
  await standby.stop('fast');
  await primary.query('DELETE FROM t WHERE id <= 10');
  await primary.query('CHECKPOINT');
  await copyTo(standby, await sourceOf(primary));
  await standby.start(primary, { enable_seqscan: 'off' });
  await standby.caughtUp(primary);
  const question = 'SELECT count(*) FROM t WHERE id BETWEEN 1 AND 20';
  expect(JSON.stringify(await standby.query(`EXPLAIN ${question}`))).toContain('Index Only Scan');
  expect(await standby.value(question)).toBe('10');
});

/** Writes over a part of a block, behind PostgreSQL's back. */
async function overwrite(postgres: PlainPostgres, path: string, at: number, bytes: Buffer): Promise<void> {
  const file = await open(join(postgres.dataDir, path), 'r+');
  await file.write(bytes, 0, bytes.length, at);
  await file.close();
}

async function blockOf(path: string, block: number): Promise<Buffer> {
  return (await readFile(path)).subarray(block * pageBytes, (block + 1) * pageBytes);
}

async function tableOf(rows: number): Promise<string> {
  await primary.query(
    "CREATE TABLE t AS SELECT i AS id, repeat('x', 60) AS text FROM generate_series(1, " + rows + ') i',
  );
  await primary.query('CHECKPOINT');
  return primary.value("SELECT pg_relation_filepath('t')");
}

it('a page that was written half at the target is sent, though its position is that of the source', async () => {
  const path = await tableOf(10_000);
  await standby.caughtUp(primary);
  await standby.stop('fast');
  await overwrite(standby, path, 3 * pageBytes + pageBytes / 2, Buffer.alloc(pageBytes / 2, 7));
  await copyTo(standby, await sourceOf(primary));
  const [found, whole] = await Promise.all(
    [standby, primary].map(({ dataDir }) => blockOf(join(dataDir, path), 3)),
  );
  expect(found?.equals(whole ?? Buffer.alloc(0))).toBe(true);
  await standby.start(primary);
  expect(await standby.value('SELECT count(*) FROM t')).toBe('10000');
});

it('a damaged page of the source is never sent, and what was begun stays half a copy', async () => {
  const path = await tableOf(10_000);
  await standby.stop('immediate');
  await rm(join(standby.dataDir, path), { force: true });
  await overwrite(primary, path, 5 * pageBytes + 6000, Buffer.alloc(100, 7));
  await expect(copyTo(standby, await sourceOf(primary))).rejects.toMatchObject({
    code: 'sourceDamaged',
    message: expect.stringContaining(`block 5 of ${path}`) as string,
  });
  expect((await readDirectoryState(standby.directory))?.role).toEqual({ kind: 'copying', from: 'r1' });
  expect(await inspectDataDirectory(standby.directory)).toMatchObject({
    lost: expect.stringContaining('pg_control') as string,
  });
});
