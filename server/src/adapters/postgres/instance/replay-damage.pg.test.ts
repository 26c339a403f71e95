/** What a standby meets in its own files while it replays, long after its start: its primary streams to it directly. */
import { cp, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { connectAlone, makeData, openTestInstance } from '../testing/test-instance.ts';
import type { PostgresInstance } from './postgres-instance.ts';

let root = '';
let primary: PostgresInstance;
let standby: PostgresInstance;
let count = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-replay-'));
  await makeData(join(root, 'primary'));
  primary = await openTestInstance(join(root, 'primary'));
  await primary.start({ kind: 'primary' });
  await write('CREATE TABLE drinks (name text)');
  await primary.stop('fast');
});
afterEach(async () => {
  await standby.close();
  await primary.stop('fast');
});
afterAll(async () => {
  await primary.close();
  await rm(root, { recursive: true, force: true });
});

async function write(sql: string): Promise<void> {
  const client = await connectAlone(primary);
  await client.query(sql);
  await client.end();
}

interface Exit {
  readonly reason: string;
  readonly damage: string | null;
}

/** Both run, the standby on a copy whose files are damaged. */
async function start(damage: (data: string) => Promise<unknown>): Promise<Exit[]> {
  count += 1;
  const directory = join(root, `standby-${count}`);
  await cp(primary.dataDir, join(directory, 'data'), { recursive: true });
  await damage(join(directory, 'data'));
  standby = await openTestInstance(directory);
  const exits: Exit[] = [];
  standby.onExit((reason, found) => exits.push({ reason, damage: found }));
  await primary.start({ kind: 'primary' });
  const connectionInfo = `host='${primary.socketDir}' port=${primary.port} user=postgres`;
  await standby.start({ kind: 'standby', connectionInfo });
  return exits;
}

/** Of the standby's process that replays. */
async function startupPid(): Promise<number> {
  const client = await connectAlone(standby);
  const { rows } = await client.query<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'startup'",
  );
  await client.end();
  return rows[0]!.pid;
}

it('a file that is too short for what is replayed is told as damage when the process ends', async () => {
  const exits = await start((data) => truncate(join(data, 'pg_xact', '0000'), 100));
  await write("INSERT INTO drinks VALUES ('lungo')");
  await expect.poll(() => exits.length).toBe(1);
  expect(exits[0]!.damage).toMatch(/could not access status of transaction/);
});

it('a crash of the process that replays is told so, too', async () => {
  const exits = await start(() => Promise.resolve());
  await expect.poll(() => startupPid().catch(() => null)).not.toBeNull();
  process.kill(await startupPid(), 'SIGSEGV');
  await expect.poll(() => exits.length).toBe(1);
  expect(exits[0]!.damage).toMatch(/startup process .* was terminated by signal 11/);
});

it('an end from outside is no damage', async () => {
  const exits = await start(() => Promise.resolve());
  await expect.poll(() => startupPid().catch(() => null)).not.toBeNull();
  process.kill(await startupPid(), 'SIGKILL');
  await expect.poll(() => exits.length).toBe(1);
  expect(exits[0]!.damage).toBeNull();
});

it('a timeline that the files have not been part of is told as damage', async () => {
  const history = '1\t0/100\tbefore all that is here\n';
  const told = await start((data) => writeFile(join(data, 'pg_wal', '00000002.history'), history)).then(
    async (exits) => {
      await expect.poll(() => exits.length).toBe(1);
      return exits[0]!.damage;
    },
    (error: Error) => error.message,
  );
  expect(told).toMatch(/files are damaged: requested timeline 2 is not a child of this server's history/);
});
