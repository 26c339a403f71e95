import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { locateBinaries, type PgBinaries } from '../binaries.ts';
import { initializeData } from '../data-directory.ts';
import { LaunchError } from '../launch-error.ts';
import { chooseLaunchUser } from '../launch-user.ts';
import {
  identify,
  isRunning,
  type ProcessIdentity,
  processesIn,
  waitUntilGone,
} from '../process-identity.ts';
import {
  connectAlone,
  connectAs,
  makeData,
  openTestInstance,
  testBinaries,
} from '../testing/test-instance.ts';
import type { InstanceOptions, PostgresInstance } from './postgres-instance.ts';

let root: string;
let binaries: PgBinaries;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-pg-'));
  binaries = await testBinaries();
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** A running primary in `root/<name>`, whose data is made if it is not there. */
async function withInstance(
  name: string,
  work: (instance: PostgresInstance) => Promise<void>,
  changes: Partial<InstanceOptions> = {},
): Promise<void> {
  const directory = join(root, name);
  if (!(await exists(directory))) await makeData(directory);
  const instance = await openTestInstance(directory, changes);
  try {
    await instance.start({ kind: 'primary' });
    await work(instance);
  } finally {
    await instance.close();
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function identityOf(instance: PostgresInstance): Promise<ProcessIdentity> {
  const identity = await identify(instance.pid() ?? 0);
  if (identity === null) throw new Error('PostgreSQL is not running');
  return identity;
}

async function ask(instance: PostgresInstance, query: string): Promise<Record<string, unknown> | undefined> {
  const client = await connectAlone(instance);
  try {
    return (await client.query<Record<string, unknown>>(query)).rows[0];
  } finally {
    await client.end();
  }
}

it('a database is UTF-8 with checksums, durable, and reached by a private socket only', async () => {
  await withInstance('first', async (instance) => {
    const settings = ['server_encoding', 'data_checksums', 'listen_addresses', 'fsync', 'full_page_writes'];
    const list = settings.map((name) => `current_setting('${name}') AS ${name}`).join(', ');
    expect(await ask(instance, `SELECT ${list}`)).toEqual({
      server_encoding: 'UTF8',
      data_checksums: 'on',
      listen_addresses: '',
      fsync: 'on',
      full_page_writes: 'on',
    });
    expect((await stat(instance.socketDir)).mode & 0o777).toBe(0o700);
    expect(Buffer.byteLength(instance.socketPath)).toBeLessThanOrEqual(100);
    expect(instance.version).toMatch(/^\d+\.\d+/);
  });
});

it('a commit waits for the replica, and nobody sees it before', async () => {
  await withInstance('gate', async (instance) => {
    await ask(instance, 'CREATE TABLE t (a int)');
    const { socketDir } = instance;
    const client = await connectAs(socketDir, 'postgres', 'postgres');
    let done = false;
    const insert = client.query('INSERT INTO t VALUES (1)').then(
      () => {
        done = true;
      },
      () => undefined,
    );
    await expect
      .poll(() => ask(instance, `SELECT wait_event FROM pg_stat_activity WHERE wait_event = 'SyncRep'`))
      .toEqual({ wait_event: 'SyncRep' });
    expect(await ask(instance, 'SELECT count(*)::int AS n FROM t')).toEqual({ n: 0 });
    expect(done).toBe(false);
    await instance.stop('immediate');
    await insert;
    expect(done).toBe(false);
    await client.end().catch(() => undefined);
  });
});

it('temporary tables of sessions that ended with PostgreSQL are gone as soon as it has ended', async () => {
  await withInstance('temporary', async (instance) => {
    const client = await connectAlone(instance);
    client.on('error', () => undefined);
    await client.query('CREATE TABLE kept AS SELECT 1 AS n');
    await client.query('CREATE TEMP TABLE gone AS SELECT 1 AS n');
    const { rows } = await client.query(
      "SELECT pg_relation_filepath('gone') AS temporary, pg_relation_filepath('kept') AS kept",
    );
    const { temporary, kept } = rows[0] as { temporary: string; kept: string };
    const files = [temporary, kept].map((path) => join(instance.dataDir, path));
    const scratch = join(instance.dataDir, 'base', 'pgsql_tmp', 'pgsql_tmp1.0');
    await mkdir(dirname(scratch), { recursive: true });
    await writeFile(scratch, 'sorted');
    await instance.stop('kill');
    await client.end().catch(() => undefined);
    expect(await Promise.all([...files, scratch].map(exists))).toEqual([false, true, false]);
  });
});

it('stop leaves no process, and a second start finds the data', async () => {
  for (const mode of ['fast', 'immediate', 'kill'] as const) {
    let data = '';
    await withInstance(`again-${mode}`, async (instance) => {
      data = instance.dataDir;
      await ask(instance, 'CREATE TABLE kept AS SELECT 1 AS n');
      await instance.stop(mode);
      expect([instance.pid(), instance.isAlive()]).toEqual([null, false]);
      expect(await processesIn(data)).toEqual([]);
    });
    await withInstance(`again-${mode}`, async (instance) => {
      expect(await ask(instance, 'SELECT n FROM kept')).toEqual({ n: 1 });
    });
  }
});

it('a socket path that is too long is moved to a private temporary directory', async () => {
  await withInstance(join('x'.repeat(60), 'y'.repeat(60)), async (instance) => {
    expect(Buffer.byteLength(instance.socketPath)).toBeLessThanOrEqual(100);
    expect((await stat(instance.socketDir)).mode & 0o777).toBe(0o700);
    expect(await ask(instance, 'SELECT 1 AS one')).toEqual({ one: 1 });
    await rm(instance.socketDir, { recursive: true, force: true });
  });
});

it('kill -9 of the main process is reported once, shows at once, and a start brings it back though backends were busy', async () => {
  await withInstance('killed', async (instance) => {
    const exits: string[] = [];
    const reported = new Promise<void>((resolve) => {
      instance.onExit((reason) => {
        exits.push(reason);
        resolve();
      });
    });
    const busy = await connectAlone(instance);
    const spinning = busy.query('SELECT count(*) FROM generate_series(1, 1000000000)').catch(() => 'ended');
    const before = await identityOf(instance);
    expect(instance.isAlive()).toBe(true);
    process.kill(before.pid, 'SIGKILL');
    // Before Node itself is told of it.
    while (instance.isAlive());
    expect(exits).toEqual([]);
    await reported;
    expect(instance.pid()).toBeNull();
    await instance.start({ kind: 'primary' });
    expect(await spinning).toBe('ended');
    expect(exits).toEqual(['PostgreSQL ended (SIGKILL)']);
    expect((await identityOf(instance)).pid).not.toBe(before.pid);
    expect(await ask(instance, 'SELECT 1 AS one')).toEqual({ one: 1 });
    await busy.end().catch(() => undefined);
  });
});

it('kill -9 of one backend ends the whole PostgreSQL: what it recovers by itself would be served without a look', async () => {
  await withInstance('backend', async (instance) => {
    const ended = new Promise((resolve) => instance.onExit(resolve));
    const client = await connectAlone(instance);
    const pid = (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid ?? 0;
    process.kill(pid, 'SIGKILL');
    await ended;
    await client.end().catch(() => undefined);
    await instance.start({ kind: 'primary' });
    expect(await ask(instance, 'SELECT 1 AS one')).toEqual({ one: 1 });
  });
});

it('settings that a client or a copy left behind are not used', async () => {
  await withInstance('settings', async (instance) => {
    const names = `SELECT current_setting('synchronous_standby_names') AS s, current_setting('fsync') AS f, current_setting('work_mem') AS w`;
    const auto = join(instance.dataDir, 'postgresql.auto.conf');
    await writeFile(auto, `synchronous_standby_names = ''\nfsync = off\nwork_mem = '5MB'\n`);
    await ask(instance, 'SELECT pg_reload_conf()');
    await expect.poll(() => ask(instance, names)).toEqual({ s: 'barista', f: 'on', w: '5MB' });
    await writeFile(
      join(instance.dataDir, 'pg_hba.conf'),
      'local all postgres trust\nlocal all all reject\n',
    );
    await instance.stop('fast');
    await instance.start({ kind: 'primary' });
    expect(await ask(instance, names)).toEqual({ s: 'barista', f: 'on', w: '4MB' });
    await ask(instance, `CREATE ROLE app LOGIN PASSWORD 'secret'`);
    const { socketDir } = instance;
    // Whoever gets as far as the socket is the operator, or the gateway, which has asked for the password.
    await (await connectAs(socketDir, 'app', 'postgres')).end();
    expect(await stat(socketDir)).toMatchObject({ mode: 0o40700 });
  });
});

async function startInChild(directory: string): Promise<{ child: ChildProcess; postgres: ProcessIdentity }> {
  await makeData(directory);
  const script = fileURLToPath(new URL('../testing/start-and-wait.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', script, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString()));
    child.once('exit', (code) => reject(new Error(`the child ended with ${code}`)));
  });
  const postgres = await identify(Number(line));
  if (postgres === null) throw new Error('no PostgreSQL in the child');
  return { child, postgres };
}

async function killHard(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}

it('PostgreSQL does not outlive its replica by long', async () => {
  const { child, postgres } = await startInChild(join(root, 'orphan'));
  expect(await isRunning(postgres)).toBe(true);
  await killHard(child);
  expect(await waitUntilGone(postgres, 15_000)).toBe(true);
});

it('a start right after kill -9 of the replica ends the PostgreSQL that it left, and no other start takes it away', async () => {
  const directory = join(root, 'takeover');
  const { child, postgres } = await startInChild(directory);
  const other = await openTestInstance(directory);
  await expect(other.start({ kind: 'primary' })).rejects.toThrow(
    `Another Barista process (pid ${child.pid})`,
  );
  expect(await isRunning(postgres)).toBe(true);
  await killHard(child);
  await withInstance('takeover', async (instance) => {
    expect(await isRunning(postgres)).toBe(false);
    expect(await ask(instance, 'SELECT 1 AS one')).toEqual({ one: 1 });
  });
});

it('an initdb that is ended, or was interrupted before, leaves nothing that is taken for a database', async () => {
  const user = await chooseLaunchUser();
  const data = join(root, 'interrupted', 'data');
  const slow = join(await mkdtemp(join(root, 'slow-')), 'initdb');
  await writeFile(slow, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
  await chmod(join(slow, '..'), 0o755);
  const end = new AbortController();
  setTimeout(() => end.abort(new Error('not wanted any more')), 200);
  const creating = initializeData({ ...binaries, initdb: slow }, user, data, end.signal);
  await expect(creating).rejects.toThrow('not wanted any more');
  expect(await processesIn(data)).toEqual([]);
  expect(await readdir(join(root, 'interrupted'))).toEqual([]);
});

it('a start can be ended, and leaves no process; what is left of it is no hindrance', async () => {
  const directory = join(root, 'ended');
  await makeData(directory);
  const instance = await openTestInstance(directory);
  for (const afterMs of [0, 50, 100]) {
    const end = new AbortController();
    setTimeout(() => end.abort(new Error('not wanted any more')), afterMs);
    const outcome = await instance.start({ kind: 'primary' }, end.signal).then(() => 'up', String);
    expect(outcome).toMatch(/^up$|not wanted any more/);
    await instance.stop('immediate');
    expect(await processesIn(join(directory, 'data'))).toEqual([]);
  }
  await instance.close();
  await withInstance('ended', async (again) => {
    expect(await ask(again, 'SELECT 1 AS one')).toEqual({ one: 1 });
  });
});

it('data of another major version is refused with what to do', async () => {
  const user = await chooseLaunchUser();
  await makeData(join(root, 'version'));
  await writeFile(join(root, 'version', 'data', 'PG_VERSION'), '11\n');
  await expect(initializeData(binaries, user, join(root, 'version', 'data'))).rejects.toThrow(
    /belongs to PostgreSQL 11.*--pg-bin/,
  );
});

it('a PostgreSQL that cannot start says why', async () => {
  await makeData(join(root, 'broken'));
  const instance = await openTestInstance(join(root, 'broken'), { settings: { shared_buffers: 'nonsense' } });
  const failure = await instance.start({ kind: 'primary' }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(LaunchError);
  expect(failure).toMatchObject({ code: 'launchRefused' });
  expect((failure as Error).message).toContain('shared_buffers');
});

it('programs that are missing or do not run are refused with what to do', async () => {
  await expect(locateBinaries({ pgBin: join(root, 'nowhere') })).rejects.toThrow(/postgres is missing/);
  const fake = await mkdtemp(join(root, 'fake-'));
  for (const name of ['postgres', 'initdb']) {
    await writeFile(join(fake, name), '#!/nowhere/ld-musl\n');
    await chmod(join(fake, name), 0o755);
  }
  await expect(locateBinaries({ pgBin: fake })).rejects.toThrow(
    /does not run on this system \(.+\).*--pg-bin/,
  );
  const words = 'error while loading shared libraries: libxml2.so.2: cannot open shared object file';
  await writeFile(join(fake, 'postgres'), `#!/bin/sh\necho "${words}" >&2; exit 127\n`);
  await expect(locateBinaries({ pgBin: fake })).rejects.toThrow(`does not run on this system (${words})`);
});

it('the log of PostgreSQL stays within its bound', async () => {
  await withInstance(
    'log',
    async (instance) => {
      const client = await connectAlone(instance);
      for (let i = 0; i < 300; i += 1) {
        await client.query(`SELECT '${'x'.repeat(200)}'::int`).catch(() => undefined);
      }
      await client.end();
    },
    { logBytesMax: 20_000 },
  );
  const sizes = await Promise.all(
    ['postgres.log', 'postgres.log.1'].map((name) => stat(join(root, 'log', name))),
  );
  for (const { size } of sizes) expect(size).toBeLessThanOrEqual(20_000 + 65_536);
  expect(sizes[1]?.size).toBeGreaterThan(0);
});
