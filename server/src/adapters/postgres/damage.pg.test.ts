/** Files that are really damaged, and what the adapter says of them. */
import { cp, mkdtemp, open, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FileLook } from './file-look.ts';
import { createDatabaseServer } from './database-server.ts';
import { inspectDataDirectory } from './inspect-data-directory.ts';
import type { InstanceOptions, PostgresInstance } from './instance/postgres-instance.ts';
import { LaunchError } from './launch-error.ts';
import {
  connectAlone,
  connectAs,
  makeData,
  openTestInstance,
  testBinaries,
} from './testing/test-instance.ts';

let root: string;
/** Paths of relations within the data directory. */
let paths: { accounts: string; catalog: string; roles: string; database: string };
let count = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-damage-'));
  await makeData(join(root, 'sound'));
  const instance = await start(join(root, 'sound'));
  const client = await connectAlone(instance);
  await client.query('CREATE TABLE accounts (id int, note text)');
  await client.query("INSERT INTO accounts SELECT i, 'x' FROM generate_series(1, 2000) i");
  await client.query('CHECKPOINT');
  const found = await client.query<typeof paths>(
    `SELECT pg_relation_filepath('accounts') AS accounts, pg_relation_filepath('pg_class') AS catalog,
       pg_relation_filepath('pg_authid') AS roles, concat('base/', (SELECT oid FROM pg_database WHERE datname = 'postgres')) AS database`,
  );
  paths = found.rows[0]!;
  await client.end();
  await instance.close();
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function start(directory: string, changes: Partial<InstanceOptions> = {}): Promise<PostgresInstance> {
  const instance = await openTestInstance(directory, changes);
  await instance.start({ kind: 'primary' });
  return instance;
}

/** A copy of the sound one, with its data directory damaged. */
async function damaged(damage: (data: string) => Promise<unknown>, whole = true): Promise<string> {
  count += 1;
  const directory = join(root, `damaged-${count}`);
  // Where PostgreSQL is not even started, the large files may stay away.
  const filter = (path: string): boolean => whole || !/\/(?:base|pg_wal)\/./.test(path);
  await cp(join(root, 'sound'), directory, { recursive: true, filter });
  await damage(join(directory, 'data'));
  return directory;
}

async function flip(path: string, at: number): Promise<void> {
  const file = await open(path, 'r+');
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, at);
  byte[0] = (byte[0] ?? 0) ^ 0x5a;
  await file.write(byte, 0, 1, at);
  await file.close();
}

async function startFailure(directory: string): Promise<LaunchError> {
  const error = await start(directory).catch((cause: unknown) => cause);
  if (error instanceof LaunchError) return error;
  await (error as PostgresInstance).close();
  throw new Error('it started');
}

it('a look at the directory tells what is missing, and a start refuses to make a new one in its place', async () => {
  expect(await inspectDataDirectory(join(root, 'nowhere'))).toBe('missing');
  expect(await inspectDataDirectory(await damaged(() => Promise.resolve(), false))).toBe('usable');
  const cases: readonly (readonly [RegExp, (data: string) => Promise<unknown>])[] = [
    [/no PG_VERSION/, (data) => rm(join(data, 'PG_VERSION'))],
    [/cannot be read as a version/, (data) => writeFile(join(data, 'PG_VERSION'), '')],
    [/cannot be read as a version/, (data) => truncate(join(data, 'PG_VERSION'), 1)],
    [/pg_control has 100 bytes/, (data) => truncate(join(data, 'global', 'pg_control'), 100)],
    [/pg_control is missing/, (data) => rm(join(data, 'global', 'pg_control'))],
    [/pg_control holds zeros/, (data) => writeFile(join(data, 'global', 'pg_control'), Buffer.alloc(8_192))],
    [/no directory pg_wal/, (data) => rm(join(data, 'pg_wal'), { recursive: true })],
    [/no directory base/, (data) => rename(join(data, 'base'), join(data, 'gone'))],
  ];
  for (const [reason, damage] of cases) {
    const directory = await damaged(damage, false);
    expect(await inspectDataDirectory(directory)).toEqual({ lost: expect.stringMatching(reason) as string });
    const error = await startFailure(directory);
    expect(error.code).toBe('databaseLost');
    expect(error.message).toMatch(reason);
  }
});

it.each([
  [
    'a flipped byte in pg_control',
    /checksum in control file/,
    (data: string) => flip(join(data, 'global', 'pg_control'), 40),
  ],
  [
    'a WAL that was emptied',
    /checkpoint record/,
    async (data: string) => {
      const wal = join(data, 'pg_wal');
      await rm(wal, { recursive: true });
      await cp(join(data, 'pg_tblspc'), wal, { recursive: true });
    },
  ],
  [
    'a transaction status file that is gone',
    /could not access status of transaction [1-9]/,
    (data: string) => rm(join(data, 'pg_xact', '0000')),
  ],
  [
    'a flipped byte in the catalog',
    /invalid page in block 0/,
    (data: string) => flip(join(data, paths.catalog), 4_000),
  ],
  [
    'a catalog whose file was cut off',
    /critical system index|read only 0/,
    (data: string) => truncate(join(data, paths.catalog), 0),
  ],
  [
    'a database whose directory is gone',
    /is missing|does not exist/,
    (data: string) => rm(join(data, paths.database), { recursive: true }),
  ],
])(
  '%s makes the start fail at once, as databaseLost, with what PostgreSQL said',
  async (_what, reason, damage) => {
    const directory = await damaged(damage);
    expect(await inspectDataDirectory(directory)).toBe('usable');
    const begunMs = performance.now();
    const error = await startFailure(directory);
    expect([error.code, error.message]).toEqual(['databaseLost', expect.stringMatching(reason) as string]);
    expect(error.message).toContain('Its last words:');
    expect(performance.now() - begunMs).toBeLessThan(40_000);
  },
);

it('settings that PostgreSQL refuses are told from damage', async () => {
  for (const settings of [{ shared_preload_libraries: 'nonsense' }, { max_connections: '0' }]) {
    const directory = await damaged(() => Promise.resolve());
    const error: unknown = await start(directory, { settings }).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ name: 'LaunchError', code: 'launchRefused' });
  }
});

/** What looks find, all parts of the database at least once. */
async function lookedAt(look: FileLook): Promise<string> {
  for (let part = 0; part < 12; part += 1) {
    const finding = await look.look();
    if (finding.code === 'damaged') return finding.reason;
    expect(finding).toEqual({ code: 'whole' });
  }
  return 'whole';
}

it('looks at the files of a running PostgreSQL find what is gone, and nothing else', async () => {
  const directory = await damaged(() => Promise.resolve());
  const instance = await start(directory);
  const { dataDir, socketDir } = instance;
  const look = new FileLook({ directory, dataDir, socketDir });
  try {
    const client = await connectAlone(instance);
    await client.query(
      'CREATE TABLE many (id int PRIMARY KEY, note text); CREATE INDEX many_note ON many (note); CREATE TABLE gone (id int)',
    );
    const { rows } = await client.query<{ index: string; invalid: string; gone: string }>(
      "SELECT pg_relation_filepath('many_pkey') AS index, pg_relation_filepath('many_note') AS invalid, pg_relation_filepath('gone') AS gone",
    );
    await client.query('DROP TABLE gone; CHECKPOINT');
    const { index, invalid, gone } = rows[0]!;
    await rm(join(dataDir, gone), { force: true });
    expect(await lookedAt(look)).toBe('whole');
    const cases: readonly (readonly [string, RegExp])[] = [
      [paths.accounts, /accounts|base.*is missing, which a relation needs/],
      [`${paths.database}/pg_filenode.map`, /database "postgres": could not open file/],
      ['pg_xact/0000', /pg_xact holds no file/],
      ['global/pg_control', /pg_control is missing/],
    ];
    for (const [path, reason] of cases) {
      await rename(join(dataDir, path), join(root, 'aside'));
      look.restart();
      expect(await lookedAt(look)).toMatch(reason);
      await rename(join(root, 'aside'), join(dataDir, path));
      look.restart();
      expect(await lookedAt(look)).toBe('whole');
    }
    const versionFile = join(dataDir, paths.database, 'PG_VERSION');
    await truncate(versionFile, 1);
    look.restart();
    expect(await lookedAt(look)).toBe('database "postgres": database files are incompatible with server');
    await writeFile(versionFile, await readFile(join(dataDir, 'PG_VERSION')));
    await client.query('CREATE DATABASE "could not access status of transaction"');
    look.restart();
    await look.look();
    await client.query('DROP DATABASE "could not access status of transaction"');
    for (let part = 0; part < 12; part += 1) expect((await look.look()).code).not.toBe('damaged');
    // As CREATE INDEX CONCURRENTLY leaves it while it waits.
    await client.query("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'many_note'::regclass");
    await client.end();
    await truncate(join(dataDir, invalid), 0);
    look.restart();
    await look.settled();
    // Of which it may have been written down that it was longer.
    await rm(join(directory, 'sizes.json'), { force: true });
    expect(await lookedAt(look)).toBe('whole');
    await truncate(join(dataDir, index), 0);
    look.restart();
    expect(await lookedAt(look)).toBe(`the file ${index} is empty, which a relation needs`);
  } finally {
    await instance.close();
  }
});

it('directories that hold nothing of value are made where they are missing, and checkpoints work', async () => {
  const names = [
    'pg_dynshmem',
    'pg_notify',
    'pg_replslot',
    'pg_serial',
    'pg_snapshots',
    'pg_stat_tmp',
    'pg_subtrans',
    'pg_logical',
    'pg_stat',
  ];
  const directory = await damaged((data) =>
    Promise.all(names.map((name) => rm(join(data, name), { recursive: true }))),
  );
  const instance = await start(directory);
  const client = await connectAlone(instance);
  await client.query('CREATE TABLE more (a int); CHECKPOINT');
  await client.end();
  const there = await readdir(join(directory, 'data'));
  expect(names.filter((name) => !there.includes(name))).toEqual([]);
  await instance.close();
});

it('looks find that a PostgreSQL which has started lets in no session for want of its own role, and nothing where settings refuse them', async () => {
  const directory = await damaged((data) => truncate(join(data, paths.roles), 0));
  const instance = await openTestInstance(directory);
  try {
    await instance.start({ kind: 'standby', connectionInfo: 'host=/nowhere' });
    const { dataDir, socketDir } = instance;
    const look = new FileLook({ directory, dataDir, socketDir });
    const refused = {
      code: 'refused',
      reason: expect.stringMatching(/role "postgres" does not exist/) as string,
    };
    await expect.poll(() => look.look()).toEqual(refused);
    await writeFile(join(dataDir, 'pg_hba.conf'), 'local all all reject\n');
    process.kill(instance.pid()!, 'SIGHUP');
    await expect.poll(() => look.look()).toEqual({ code: 'unknown' });
  } finally {
    await instance.close();
  }
});

it('a damaged page that a client meets is counted, and an error that a client imitates is not', async () => {
  const directory = await damaged((data) => flip(join(data, paths.accounts), 4_000));
  const server = await createDatabaseServer({
    directory,
    binaries: await testBinaries(),
    settings: {},
    connectionsMax: 30,
    gatherMs: 0,
  });
  try {
    await server.startPrimary(new AbortController().signal);
    const first = await server.checkup();
    const imitating = await connectAs(server.instance.socketDir, 'postgres', 'postgres');
    const text = `DO $$ BEGIN RAISE EXCEPTION 'invalid page in block 0' USING ERRCODE = 'XX001'; END $$`;
    await expect(imitating.query(text)).rejects.toMatchObject({ code: 'XX001' });
    await imitating.end();
    const { dataDir, socketDir } = server.instance;
    const look = new FileLook({ directory, dataDir, socketDir, asksForPages: true });
    expect((await look.look()).code).toBe('whole');
    const client = await connectAs(server.instance.socketDir, 'postgres', 'postgres');
    await expect(client.query('SELECT * FROM accounts')).rejects.toMatchObject({ code: 'XX001' });
    await client.end();
    await expect.poll(async () => (await server.checkup()).damagedPages - first.damagedPages).toBe(1);
    expect(await look.look()).toEqual({
      code: 'damaged',
      reason: 'PostgreSQL has met pages with a wrong checksum',
    });
    expect((await server.checkup()).ended).toBeGreaterThan(first.ended);
  } finally {
    await server.close();
  }
});
