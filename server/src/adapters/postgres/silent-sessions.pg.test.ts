/** Sessions of our own whose process is stopped, or hangs: whoever asks in one is told so, and asks in another. */
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { FileFinding } from '../../ports/database-server.ts';
import { BarrierSessions } from './barrier-sessions.ts';
import { FileLook } from './file-look.ts';
import { OwnSession } from './own-session.ts';
import { openReplication } from './backup/replication-connection.ts';
import { connectPg } from './pg-client.ts';
import { cancelUnlessCommitting } from './primary-database.ts';
import { openRealFixture, type RealFixture } from './testing/real-fixture.ts';
import { testBinaries } from './testing/test-instance.ts';
import { foundDatabase, logOf, resumePrimary } from '../../ports/testing/test-primary.ts';

let fixture: RealFixture;
const stopped: number[] = [];

beforeEach(async () => {
  fixture = await openRealFixture(await testBinaries());
  await resumePrimary(fixture, logOf(await foundDatabase(fixture)));
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const pid of stopped.splice(0)) process.kill(pid, 'SIGCONT');
  await fixture.dispose();
});

const place = () => ({ socketDir: fixture.server.instance.socketDir, database: 'postgres' });
const processOf = (client: Client): number => (client as unknown as { readonly processID: number }).processID;

function stop(client: Client): void {
  const pid = processOf(client);
  process.kill(pid, 'SIGSTOP');
  stopped.push(pid);
}

/** Stops the process of the next session that asks this, as it asks. */
function stopAt(text: RegExp): void {
  // oxlint-disable-next-line typescript/unbound-method -- called with its client below
  const query = Client.prototype.query as (...given: unknown[]) => unknown;
  let isDone = false;
  function ask(this: Client, ...given: unknown[]): unknown {
    if (!isDone && text.test(String(given[0]))) {
      isDone = true;
      stop(this);
    }
    return query.apply(this, given);
  }
  vi.spyOn(Client.prototype, 'query').mockImplementation(ask);
}

it('a replication connection that is not answered fails', async () => {
  const { instance } = fixture.server;
  const socketPath = join(instance.socketDir, `.s.PGSQL.${instance.port}`);
  const connection = await openReplication({ socketPath, version: instance.version, silentMsMax: 300 });
  const client = await connectPg({ ...place(), silentMsMax: 10_000 });
  const { rows } = await client.query<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE application_name = 'barista copy'",
  );
  await client.end();
  for (const { pid } of rows) {
    process.kill(pid, 'SIGSTOP');
    stopped.push(pid);
  }
  connection.send('IDENTIFY_SYSTEM');
  await expect(connection.next()).rejects.toThrow('PostgreSQL did not answer within 300 ms');
  expect(rows).toHaveLength(1);
});

it('a question that is not answered fails, and so does each behind it', async () => {
  const client = await connectPg({ ...place(), silentMsMax: 300 });
  stop(client);
  const [one, two] = [client.query('SELECT 1'), client.query('SELECT $1::int', [2])];
  await expect(one).rejects.toThrow('PostgreSQL did not answer within 300 ms');
  await expect(two).rejects.toThrow('PostgreSQL did not answer within 300 ms');
  await client.end();
});

it('a session that is asked nothing for longer than that is left alone', async () => {
  const client = await connectPg({ ...place(), silentMsMax: 100 });
  for (let times = 0; times < 3; times++) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect((await client.query('SELECT 1')).rowCount).toBe(1);
  }
  await client.end();
});

it('an answer that comes piece by piece may take longer', async () => {
  const client = await connectPg({ ...place(), silentMsMax: 3_000 });
  const slow = `SELECT pg_catalog.repeat('x', 100000), pg_catalog.pg_sleep(0.5) FROM pg_catalog.generate_series(1, 8)`;
  expect((await client.query(slow)).rowCount).toBe(8);
  await client.end();
});

it('the end of a session whose process does not end is not waited for', async () => {
  const client = await connectPg({ ...place(), silentMsMax: null });
  stop(client);
  expect(await client.end()).toBeUndefined();
});

it('whoever asks next in the session of a replica is answered', async () => {
  const session = new OwnSession(place(), 300);
  stop(await session.get());
  const ask = async () => (await session.get()).query('SELECT 1');
  await expect(ask()).rejects.toThrow('PostgreSQL did not answer');
  await expect.poll(() => ask().then(({ rowCount }) => rowCount)).toBe(1);
  await session.close();
});

it('a cancel ends, and the next one is made', async () => {
  const session = new OwnSession(place(), 300);
  const victim = await connectPg({ ...place(), silentMsMax: null });
  const sleeps = victim.query('SELECT pg_catalog.pg_sleep(1000)').catch((error: unknown) => error);
  stop(await session.get());
  const cancel = async () => cancelUnlessCommitting(await session.get(), processOf(victim));
  await expect(cancel()).rejects.toThrow('PostgreSQL did not answer');
  await expect.poll(() => cancel().catch(() => null)).toBe('done');
  expect(await sleeps).toMatchObject({ code: '57014' });
  await victim.end();
  await session.close();
});

it('a look at files ends, and the next one looks', async () => {
  const { dataDir, socketDir } = fixture.server.instance;
  const look = new FileLook({
    directory: dirname(dataDir),
    dataDir,
    socketDir,
    statementMs: 300,
  });
  stopAt(/pg_database/);
  expect(await look.look()).toEqual<FileFinding>({ code: 'unknown' });
  expect(await look.look()).toEqual<FileFinding>({ code: 'whole' });
});

it('a barrier fails whose position is not told, and the next one is made; its commit may wait', async () => {
  const barriers = new BarrierSessions(place().socketDir, 1_000);
  await barriers.warmUp();
  stopAt(/BEGIN/);
  await expect(barriers.begin()).rejects.toThrow('PostgreSQL did not answer');
  expect(await barriers.begin()).toBeGreaterThan(0n);
});
