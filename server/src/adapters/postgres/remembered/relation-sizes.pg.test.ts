/** Files of a real PostgreSQL that become shorter, by its own doing and by damage. */
import { cp, mkdtemp, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FileLook } from '../file-look.ts';
import type { PostgresInstance } from '../instance/postgres-instance.ts';
import { chooseLaunchUser } from '../launch-user.ts';
import { handOver } from '../owners.ts';
import { connectAlone, makeData, openTestInstance } from '../testing/test-instance.ts';

let root: string;
let count = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-sizes-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

interface Running {
  readonly directory: string;
  readonly instance: PostgresInstance;
  readonly client: Client;
  readonly look: FileLook;
}

const settings = { autovacuum: 'off', wal_keep_size: '1GB' };

async function start(directory: string, changes: Readonly<Record<string, string>> = {}): Promise<Running> {
  const instance = await openTestInstance(directory, { settings: { ...settings, ...changes } });
  await instance.start({ kind: 'primary' });
  const { dataDir, socketDir } = instance;
  const look = new FileLook({ directory, dataDir, socketDir });
  return { directory, instance, look, client: await connectAlone(instance) };
}

async function startNew(changes: Readonly<Record<string, string>> = {}): Promise<Running> {
  count += 1;
  const directory = join(root, `database-${count}`);
  await makeData(directory);
  return start(directory, changes);
}

/** All is remembered that was found, on disk, too: which is not written at each look. */
async function saved({ look }: Running): Promise<void> {
  expect(await looks(look)).toBe('whole');
  await setTimeout(1_000);
  expect(await looks(look)).toBe('whole');
}

/** As after a crash. */
async function end({ client, instance, look }: Running): Promise<void> {
  await client.end();
  await instance.stop('immediate');
  await look.settled();
  await instance.close();
}

/** All parts of all databases at least once. */
async function looks(look: FileLook): Promise<string> {
  for (let part = 0; part < 8; part += 1) {
    const finding = await look.look();
    if (finding.code !== 'whole') return 'reason' in finding ? finding.reason : finding.code;
  }
  return 'whole';
}

/** `relation`: an expression. */
async function pathOf(client: Client, relation: string): Promise<string> {
  const { rows } = await client.query<{ path: string }>(`SELECT pg_relation_filepath(${relation}) AS path`);
  return rows[0]!.path;
}

const sizeOf = async ({ instance }: Running, path: string): Promise<number> =>
  (await stat(join(instance.dataDir, path))).size;

const table = (name: string): string =>
  `CREATE TABLE ${name} (id int PRIMARY KEY, text text); ALTER TABLE ${name} ALTER text SET STORAGE EXTERNAL;
   INSERT INTO ${name} SELECT i, repeat(md5(i::text), CASE WHEN i % 100 = 0 THEN 200 ELSE 1 END) FROM generate_series(1, 5000) i`;

const heap = "'lost'::regclass";
const index = "'lost_pkey'::regclass";
const toast = `(SELECT reltoastrelid FROM pg_class WHERE oid = ${heap})`;

it('a file that PostgreSQL makes shorter itself is no damage', async () => {
  const running = await startNew();
  const { client, look } = running;
  for (const name of ['vacuumed', 'emptied', 'dropped', 'clustered', 'rewritten', 'deleted'])
    await client.query(table(name));
  await client.query('CREATE INDEX rewritten_text ON rewritten (left(text, 20))');
  expect(await looks(look)).toBe('whole');
  const path = await pathOf(client, "'vacuumed'::regclass");
  const before = await sizeOf(running, path);
  for (const statement of [
    'DELETE FROM vacuumed WHERE id > 2000',
    'VACUUM vacuumed',
    'TRUNCATE emptied',
    'DROP TABLE dropped',
    'DELETE FROM clustered WHERE id % 2 = 0',
    'CLUSTER clustered USING clustered_pkey',
    'DELETE FROM rewritten WHERE id < 4000',
    'VACUUM FULL rewritten',
    'DELETE FROM deleted',
    'VACUUM deleted',
    'REINDEX TABLE rewritten',
    'REINDEX INDEX CONCURRENTLY rewritten_text',
    'BEGIN; CREATE TABLE made (i int PRIMARY KEY); INSERT INTO made SELECT generate_series(1, 9000); TRUNCATE made; COMMIT',
    'CREATE DATABASE copied STRATEGY file_copy',
    'VACUUM FULL pg_class',
  ]) {
    await client.query(statement);
    expect([statement, await looks(look)]).toEqual([statement, 'whole']);
  }
  expect(await pathOf(client, "'vacuumed'::regclass")).toBe(path);
  expect(await sizeOf(running, path)).toBeLessThan(before);
  await end(running);
});

it.each([
  ['a table', 'emptied', heap, 0],
  ['a table', 'cut', heap, 0.5],
  ['an index', 'cut', index, 0.5],
  ['a TOAST table', 'emptied', toast, 0],
  ['a TOAST table', 'cut', toast, 0.5],
])('the file of %s that PostgreSQL has not %s itself is damage', async (_what, _how, relation, part) => {
  const running = await startNew();
  const { client, look, instance } = running;
  await client.query(table('lost'));
  await client.query('CHECKPOINT');
  const path = await pathOf(client, relation);
  expect(await looks(look)).toBe('whole');
  const size = await sizeOf(running, path);
  await truncate(join(instance.dataDir, path), Math.floor(size * part));
  const reason = `the file ${path} has lost some of its ${size / 8192} pages, and nothing in the WAL says why`;
  expect(await looks(look)).toBe(reason);
  // However it grows meanwhile.
  await truncate(join(instance.dataDir, path), 2 * size);
  expect(await looks(look)).toBe(reason);
  await client.query('DROP TABLE lost');
  expect(await looks(look)).toBe('whole');
  await end(running);
});

it('what was cut after a truncation is damage all the same', async () => {
  const running = await startNew();
  const { client, look, instance } = running;
  await client.query(table('lost'));
  const path = await pathOf(client, heap);
  expect(await looks(look)).toBe('whole');
  await client.query('DELETE FROM lost WHERE id > 2000');
  await client.query('VACUUM lost');
  await client.query('CHECKPOINT');
  const size = await sizeOf(running, path);
  await truncate(join(instance.dataDir, path), size - 8192);
  expect(await looks(look)).toMatch(/has lost some of its/);
  await end(running);
});

it('sizes outlast a crash: what is cut while PostgreSQL does not run is found, and what recovery takes away is not', async () => {
  const first = await startNew();
  const { client, directory } = first;
  const file = join(first.instance.dataDir, 'rows');
  await client.query(table('sound'));
  await client.query(table('lost'));
  await client.query('CREATE TABLE grown (id int, text text)');
  await client.query("INSERT INTO grown SELECT i, repeat('x', 500) FROM generate_series(1, 4000) i");
  await client.query(`COPY (SELECT * FROM grown LIMIT 3100) TO '${file}'`);
  await client.query('CHECKPOINT');
  await client.query('DELETE FROM grown');
  await client.query('VACUUM grown');
  // Makes pages in advance, which no WAL tells of.
  await client.query(`COPY grown FROM '${file}'`);
  const [lost, grown] = [await pathOf(client, heap), await pathOf(client, "'grown'::regclass")];
  const inAdvance = await sizeOf(first, grown);
  await saved(first);
  await end(first);

  const second = await start(directory);
  expect(await sizeOf(second, grown)).toBeLessThan(inAdvance);
  await saved(second);
  await second.client.query('CHECKPOINT');
  await end(second);
  const size = await sizeOf(second, lost);
  await truncate(join(second.instance.dataDir, lost), size / 2);

  const third = await start(directory);
  expect(await looks(third.look)).toMatch(`${lost} has lost some of its ${size / 8192} pages`);
  await end(third);

  // As a copy does, from whatever version of Barista: what was remembered is of another database.
  const control = join(third.instance.dataDir, 'global', 'pg_control');
  await cp(control, `${control}.new`);
  await rename(`${control}.new`, control);
  await handOver(await chooseLaunchUser(), control);
  const fourth = await start(directory);
  expect(await looks(fourth.look)).toBe('whole');
  await end(fourth);
});

it('what would have to be explained by WAL that is gone is forgotten', async () => {
  const running = await startNew({ wal_keep_size: '0', min_wal_size: '32MB', max_wal_size: '32MB' });
  const { client, look, instance } = running;
  await client.query(table('lost'));
  const path = await pathOf(client, heap);
  expect(await looks(look)).toBe('whole');
  for (let i = 0; i < 2; i += 1) await client.query('SELECT pg_switch_wal(), txid_current(); ');
  await client.query('CHECKPOINT');
  await truncate(join(instance.dataDir, path), 8192);
  expect(await looks(look)).toBe('whole');
  await end(running);
});

it('a look that cannot tell the position of a checkpoint remembers nothing, and finds nothing', async () => {
  const running = await startNew();
  const { client, look, instance } = running;
  await client.query(table('kept'));
  await writeFile(join(instance.dataDir, 'global', 'pg_control'), Buffer.alloc(8192, 7));
  expect(await looks(look)).toBe('whole');
  await client.query('CHECKPOINT');
  expect(await looks(look)).toBe('whole');
  await end(running);
});

it('a relation that may be about to be truncated is not remembered', async () => {
  const running = await startNew();
  const { client, look, instance } = running;
  await client.query(table('locked'));
  await client.query(table('free'));
  await client.query('CHECKPOINT');
  const paths = [
    await pathOf(client, "'locked'::regclass"),
    await pathOf(client, "'free'::regclass"),
  ] as const;
  await client.query('BEGIN; LOCK TABLE locked IN ACCESS EXCLUSIVE MODE');
  expect(await looks(look)).toBe('whole');
  await client.query('COMMIT');
  await truncate(join(instance.dataDir, paths[0]), 0);
  const finding = await looks(look);
  expect(finding).toBe('whole');
  await truncate(join(instance.dataDir, paths[1]), 0);
  expect(await looks(look)).toMatch(paths[1]);
  await end(running);
});

const busyMs = 4_000;

it('looks beside work that truncates, drops and rewrites all the time find nothing, at the primary and at a standby', async () => {
  const first = await startNew();
  const directory = join(root, 'standby');
  await first.client.end();
  await first.instance.stop('fast');
  await first.instance.close();
  await cp(first.directory, directory, { recursive: true });
  await rm(join(directory, 'data', 'postmaster.pid'), { force: true });
  await handOver(await chooseLaunchUser(), directory);
  const primary = await start(first.directory);
  const standby = await openTestInstance(directory, { settings });
  const connectionInfo = `host=${primary.instance.socketDir} port=${primary.instance.port} user=postgres`;
  await standby.start({ kind: 'standby', connectionInfo });
  const { dataDir, socketDir } = standby;
  const atStandby = new FileLook({ directory, dataDir, socketDir });

  const until = performance.now() + busyMs;
  const found = new Set<string>();
  const tally = { truncations: 0, looks: 0 };
  const work = async (name: string): Promise<void> => {
    const client = await connectAlone(primary.instance);
    await client.query(table(name));
    const path = await pathOf(client, `'${name}'::regclass`);
    for (let i = 0; performance.now() < until; i += 1) {
      await client.query(
        `INSERT INTO ${name} SELECT i, repeat('x', 400) FROM generate_series(10000, 12000) i`,
      );
      const before = await sizeOf(primary, path);
      await client.query(`DELETE FROM ${name} WHERE id >= 10000`);
      await client.query(`VACUUM ${name}`);
      if ((await sizeOf(primary, path)) < before) tally.truncations += 1;
      await client.query(`CREATE TABLE ${name}_${i} AS SELECT * FROM ${name}`);
      if (i > 0) await client.query(`DROP TABLE ${name}_${i - 1}`);
      if (i % 5 === 0) await client.query('CHECKPOINT');
    }
    await client.end();
  };
  const watch = async (look: FileLook): Promise<void> => {
    for (let before = ''; performance.now() < until; tally.looks += 1) {
      const finding = await look.look();
      // Of what is dropped in this moment the next look says something else.
      const reason = finding.code === 'damaged' ? finding.reason : '';
      if (reason !== '' && (reason === before || /has lost/.test(reason))) found.add(reason);
      before = reason;
    }
  };
  await Promise.all([work('one'), work('two'), watch(primary.look), watch(atStandby)]);
  expect([...found]).toEqual([]);
  expect(tally.truncations).toBeGreaterThan(3);
  expect(tally.looks).toBeGreaterThan(20);
  await standby.stop('immediate');
  await atStandby.settled();
  await standby.close();
  await end(primary);
});
