import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { locateBinaries } from './binaries.ts';
import type { PgBinaries } from './binaries.ts';
import { LaunchError } from './launch-error.ts';
import { connectPg } from './pg-client.ts';
import { startPostgres } from './postgres-server.ts';
import type { PostgresServer, StartStep } from './postgres-server.ts';
import { identify, isRunning, processesIn, waitUntilGone } from './process-identity.ts';
import type { ProcessIdentity } from './process-identity.ts';
import { testBinaries } from './testing/replicated-pair.ts';

let root: string;
let binaries: PgBinaries;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-pg-'));
  binaries = await testBinaries();
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function withServer(name: string, work: (server: PostgresServer) => Promise<void>): Promise<void> {
  const server = await startPostgres({ directory: join(root, name), binaries });
  try {
    await work(server);
  } finally {
    await server.stop();
  }
}

async function identityOf(server: PostgresServer): Promise<ProcessIdentity> {
  const identity = await identify(server.pid() ?? 0);
  if (identity === null) throw new Error('PostgreSQL is not running');
  return identity;
}

async function ask(server: PostgresServer, query: string): Promise<Record<string, unknown> | undefined> {
  const client = await connectPg({ ...server, user: 'barista', password: 'barista' });
  try {
    return (await client.query<Record<string, unknown>>(query)).rows[0];
  } finally {
    await client.end();
  }
}

it('the first start makes a UTF-8 database whose owner is no superuser, reached by a private socket only', async () => {
  await withServer('first', async (server) => {
    expect(
      await ask(
        server,
        `SELECT current_database() AS d, rolsuper AS s, pg_encoding_to_char(encoding) AS e, current_setting('listen_addresses') AS l,
          current_setting('fsync') AS f, current_setting('synchronous_commit') AS c
         FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()`,
      ),
    ).toEqual({ d: 'barista', s: false, e: 'UTF8', l: '', f: 'on', c: 'off' });
    expect((await stat(server.socketDir)).mode & 0o777).toBe(0o700);
    expect(Buffer.byteLength(server.socketPath)).toBeLessThanOrEqual(100);
    expect(server.version).toMatch(/^\d+\.\d+/);
  });
});

it('stop leaves no process, and a second start finds the data and another secret', async () => {
  let data = '';
  let secret = '';
  await withServer('again', async (server) => {
    ({ dataDir: data, secret } = server);
    await ask(server, 'CREATE TABLE kept AS SELECT 1 AS n');
  });
  expect(await processesIn(data)).toEqual([]);
  await withServer('again', async (server) => {
    expect(await ask(server, 'SELECT n FROM kept')).toEqual({ n: 1 });
    expect(server.secret).not.toBe(secret);
  });
});

it('a socket path that is too long is moved to a private temporary directory', async () => {
  await withServer(join('x'.repeat(60), 'y'.repeat(60)), async (server) => {
    expect(Buffer.byteLength(server.socketPath)).toBeLessThanOrEqual(100);
    expect((await stat(server.socketDir)).mode & 0o777).toBe(0o700);
    expect(await ask(server, 'SELECT 1 AS one')).toEqual({ one: 1 });
    await rm(server.socketDir, { recursive: true, force: true });
  });
});

it('kill -9 of the main process is reported once, and restart brings it back though backends were busy', async () => {
  await withServer('killed', async (server) => {
    const exits: unknown[] = [];
    const reported = new Promise<void>((resolve) => {
      server.onExit((exit) => {
        exits.push(exit);
        resolve();
      });
    });
    const busy = await connectPg({ ...server, user: 'barista', password: 'barista' });
    const spinning = busy.query('SELECT count(*) FROM generate_series(1, 1000000000)').catch(() => 'ended');
    const before = await identityOf(server);
    process.kill(before.pid, 'SIGKILL');
    await reported;
    expect(server.pid()).toBeNull();
    await server.restart();
    expect(await spinning).toBe('ended');
    expect(exits).toEqual([{ code: null, signal: 'SIGKILL' }]);
    expect((await identityOf(server)).pid).not.toBe(before.pid);
    expect(await ask(server, 'SELECT 1 AS one')).toEqual({ one: 1 });
  });
});

it('kill -9 of one backend ends the whole PostgreSQL, for its crash takes commits back', async () => {
  await withServer('backend', async (server) => {
    const ended = new Promise((resolve) => server.onExit(resolve));
    const client = await connectPg({ ...server, user: 'barista', password: 'barista' });
    const pid = (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid ?? 0;
    process.kill(pid, 'SIGKILL');
    await ended;
    await client.end().catch(() => undefined);
    await server.restart();
    expect(await ask(server, 'SELECT 1 AS one')).toEqual({ one: 1 });
  });
});

async function startInChild(directory: string): Promise<{ child: ChildProcess; postgres: ProcessIdentity }> {
  const script = fileURLToPath(new URL('testing/start-and-wait.ts', import.meta.url));
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
  await expect(startPostgres({ directory, binaries })).rejects.toThrow(
    `Another Barista process (pid ${child.pid})`,
  );
  expect(await isRunning(postgres)).toBe(true);
  await killHard(child);
  await withServer('takeover', async (server) => {
    expect(await isRunning(postgres)).toBe(false);
    expect(await ask(server, 'SELECT 1 AS one')).toEqual({ one: 1 });
  });
});

it('an initdb that was interrupted leaves nothing that is taken for a database', async () => {
  const directory = join(root, 'interrupted');
  await withServer('interrupted', () => Promise.resolve());
  await rm(join(directory, 'data'), { recursive: true });
  await mkdir(join(directory, 'data.initializing'));
  await writeFile(join(directory, 'data.initializing', 'PG_VERSION'), '18\n');
  await withServer('interrupted', async (server) => {
    expect(await ask(server, 'SELECT 1 AS one')).toEqual({ one: 1 });
    expect(await readdir(directory)).not.toContain('data.initializing');
  });
});

it.each(['creating', 'starting', 'preparing'] as const)(
  'a start can be ended while it is %s, and leaves no process',
  async (last) => {
    const directory = join(root, `ended-${last}`);
    const end = new AbortController();
    const steps: StartStep[] = [];
    const onStep = (step: StartStep): void => {
      steps.push(step);
      // A moment later, when what the step starts is running.
      if (step === last) setTimeout(() => end.abort(new Error('not wanted any more')), 50);
    };
    const slow = last === 'creating' ? await slowInitdb() : binaries.initdb;
    await expect(
      startPostgres({ directory, binaries: { ...binaries, initdb: slow }, onStep, signal: end.signal }),
    ).rejects.toThrow('not wanted any more');
    // A busy machine may come to the end a step later.
    expect(steps).toContain(last);
    expect(await processesIn(join(directory, 'data'))).toEqual([]);
    expect(await readdir(directory)).not.toContain('data.initializing');
    // What is left of it is no hindrance.
    const again: StartStep[] = [];
    const server = await startPostgres({ directory, binaries, onStep: (step) => again.push(step) });
    await server.stop();
    expect(again.slice(-2)).toEqual(['starting', 'preparing']);
    expect(again.includes('creating')).toBe(last === 'creating');
  },
);

it('a database that hangs while it is prepared is given up in time, and leaves no process', async () => {
  const directory = join(root, 'hangs');
  await withServer('hangs', async ({ socketDir, database }) => {
    const client = await connectPg({ socketDir, database });
    await client.query(
      'CREATE FUNCTION hang() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(600); END $$',
    );
    await client.query('CREATE EVENT TRIGGER hang ON ddl_command_start EXECUTE FUNCTION hang()');
    await client.end();
  });
  await expect(startPostgres({ directory, binaries, startTimeoutMs: 8_000 })).rejects.toThrow(
    'PostgreSQL could not be prepared',
  );
  expect(await processesIn(join(directory, 'data'))).toEqual([]);
});

/** Never ends by itself. */
async function slowInitdb(): Promise<string> {
  const path = join(await mkdtemp(join(root, 'slow-')), 'initdb');
  await writeFile(path, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
  return path;
}

it('data of another major version is refused with what to do', async () => {
  await withServer('version', () => Promise.resolve());
  await writeFile(join(root, 'version', 'data', 'PG_VERSION'), '11\n');
  await expect(startPostgres({ directory: join(root, 'version'), binaries })).rejects.toThrow(
    /belongs to PostgreSQL 11.*--pg-bin/,
  );
});

it('a PostgreSQL that cannot start says why', async () => {
  const settings = { shared_buffers: 'nonsense' };
  const failure = await startPostgres({ directory: join(root, 'broken'), binaries, settings }).catch(
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(LaunchError);
  expect((failure as Error).message).toContain('shared_buffers');
});

it('programs that are missing or do not run are refused with what to do', async () => {
  await expect(locateBinaries({ pgBin: join(root, 'nowhere') })).rejects.toThrow(/postgres is missing/);
  const fake = await mkdtemp(join(root, 'fake-'));
  for (const name of ['postgres', 'initdb']) {
    await writeFile(join(fake, name), '#!/nowhere/ld-musl\n');
    await chmod(join(fake, name), 0o755);
  }
  await expect(locateBinaries({ pgBin: fake })).rejects.toThrow(/does not run on this system.*--pg-bin/);
});

it('the log of PostgreSQL stays within its bound', async () => {
  const directory = join(root, 'log');
  const server = await startPostgres({ directory, binaries, logBytesMax: 20_000 });
  const client = await connectPg({ ...server, user: 'barista', password: 'barista' });
  for (let i = 0; i < 300; i += 1) {
    await client.query(`SELECT '${'x'.repeat(200)}'::int`).catch(() => undefined);
  }
  await client.end();
  await server.stop();
  const sizes = await Promise.all(
    ['postgres.log', 'postgres.log.1'].map((name) => stat(join(directory, name))),
  );
  for (const { size } of sizes) expect(size).toBeLessThanOrEqual(20_000 + 65_536);
  expect(sizes[1]?.size).toBeGreaterThan(0);
});
