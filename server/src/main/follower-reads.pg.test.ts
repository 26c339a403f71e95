/** Reads at followers of a group of real replicas: what was acknowledged is seen, a follower that is cut off does not pretend, and nothing outlives a change of the leader. */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect as connectTo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { demoUser } from '../demo/layout.ts';
import { cancelPacket, keyOf } from '../gateways/pgwire/testing/helpers.ts';
import { eventually } from '../ports/testing/eventually.ts';
import { foundReplica } from './found-replica.ts';
import { RealGroup } from './testing/real-group.ts';

const ids = ['r1', 'r2', 'r3'];
let root = '';
let group: RealGroup;
const opened: Client[] = [];

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'barista-reads-'));
  group = await RealGroup.in(root, ids);
  await foundReplica(group.configOf('r1'));
  for (const id of ids) await group.start(id, { faults: true });
  await group.healthy();
  await group.sql('CREATE TABLE counter (n int)');
  await group.sql('INSERT INTO counter VALUES (0)');
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((client) => client.end().catch(() => undefined)));
});
afterAll(async () => {
  await group.stopAll();
  rmSync(root, { recursive: true, force: true });
});

async function connect(id: string, options?: string): Promise<Client> {
  const { port } = group.configOf(id).pgwire;
  const client = new Client({
    host: '127.0.0.1',
    port,
    ...demoUser,
    ...(options === undefined ? {} : { options }),
  });
  client.on('error', () => {});
  await client.connect();
  opened.push(client);
  return client;
}

const reading = (mode: string): string => `-c barista.read_consistency=${mode}`;

/** Whatever ends it but the end of its session, it tries to write, again and again. */
const catchesItsCancel = `DO $$ BEGIN
  SET default_transaction_read_only = off;
  FOR n IN 1..1500 LOOP
    BEGIN
      PERFORM pg_sleep(0.01);
      INSERT INTO taken VALUES (n);
    EXCEPTION WHEN query_canceled OR read_only_sql_transaction THEN NULL;
    END;
    COMMIT;
  END LOOP;
END $$`;

async function counterSeenBy(client: Client): Promise<number> {
  return (await client.query<{ n: number }>('SELECT n FROM counter')).rows[0]!.n;
}

async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  return work.then(
    () => 'nothing failed',
    (error: { code?: string }) => error.code,
  );
}

it('each acknowledged write is seen by linearizable reads at all followers, and nothing is taken back', async () => {
  const writer = await connect(group.leader()!);
  const readers = await Promise.all(group.followers().map((id) => connect(id, reading('linearizable'))));
  const snapshots = await Promise.all(group.followers().map((id) => connect(id, reading('snapshot'))));
  for (const reader of [...readers, ...snapshots])
    expect((await reader.query('SELECT pg_is_in_recovery() AS is')).rows).toEqual([{ is: true }]);
  const shown = snapshots.map(() => 0);
  for (let n = 1; n <= 60; n++) {
    await writer.query(`UPDATE counter SET n = ${n}`);
    const seen = await Promise.all(readers.map(counterSeenBy));
    expect(seen).toEqual(readers.map(() => n));
    const loose = await Promise.all(snapshots.map(counterSeenBy));
    loose.forEach((each, index) => expect(each).toBeGreaterThanOrEqual(shown[index]!));
    shown.splice(0, shown.length, ...loose);
  }
});

it('what one linearizable reader has seen, each that asks later sees, while others write', async () => {
  const [one, other] = await Promise.all(group.followers().map((id) => connect(id, reading('linearizable'))));
  const enough = new AbortController();
  const writers = Array.from({ length: 4 }, async () => {
    const writer = await connect(group.leader()!);
    while (!enough.signal.aborted) await writer.query('UPDATE counter SET n = n + 1');
  });
  let highest = 0;
  for (let times = 0; times < 100; times++) {
    for (const reader of [one!, other!]) {
      const n = await counterSeenBy(reader);
      expect(n).toBeGreaterThanOrEqual(highest);
      highest = n;
    }
  }
  enough.abort();
  await Promise.all(writers);
});

it('what a linearizable reader at a follower is told the leader shows, whose session may be slow to come to that', async () => {
  const leader = group.leader()!;
  const [follower] = group.followers();
  await group.sql('UPDATE counter SET n = 5000');
  const [writer, reader, snapshot, atLeader] = await Promise.all([
    connect(leader),
    connect(follower!, reading('linearizable')),
    connect(follower!, reading('snapshot')),
    connect(leader),
  ]);
  const { pid } = (await writer.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]!;
  await writer.query('BEGIN');
  await writer.query('UPDATE counter SET n = 5001');
  // Its choice takes so long that the session is caught while it waits for it.
  group.delay(leader, 250);
  const committed = writer.query('COMMIT');
  const waits = "SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'SyncRep'";
  await group.inside(leader, async (client) => {
    await eventually(async () => expect((await client.query(waits, [pid])).rowCount).toBe(1), {
      interval: 1,
    });
  });
  process.kill(pid, 'SIGSTOP');
  try {
    group.delay(leader, 0);
    await eventually(async () => expect(await counterSeenBy(snapshot)).toBe(5001));
    let told: number | null = null;
    const read = counterSeenBy(reader).then((n) => (told = n));
    for (let times = 0; times < 30; times++) {
      const before = told ?? 0;
      expect(await counterSeenBy(atLeader)).toBeGreaterThanOrEqual(before);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect([told, await counterSeenBy(atLeader)]).toEqual([null, 5000]);
    process.kill(pid, 'SIGCONT');
    await Promise.all([committed, read]);
    expect([told, await counterSeenBy(atLeader)]).toEqual([5001, 5001]);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
});

it('a follower that is cut off refuses what it cannot know, and shows what it has', async () => {
  const [cut] = group.followers();
  const bounded = await connect(cut!, `${reading('bounded')} -c barista.max_staleness=1500`);
  const linearizable = await connect(cut!, reading('linearizable'));
  const snapshot = await connect(cut!, reading('snapshot'));
  await counterSeenBy(bounded);
  group.isolate(cut!, true);
  await group.sql('UPDATE counter SET n = n + 1');
  const before = await counterSeenBy(snapshot);
  await eventually(async () => expect(await codeOf(counterSeenBy(bounded))).toBe('57P03'));
  expect(await codeOf(counterSeenBy(linearizable))).toBe('57P03');
  expect(await codeOf(connect(cut!, reading('linearizable')))).toBe('57P03');
  expect(await counterSeenBy(snapshot)).toBe(before);
  group.isolate(cut!, false);
  // The same sessions go on: nobody has ended them.
  await eventually(async () => expect(await counterSeenBy(linearizable)).toBeGreaterThan(before));
  await eventually(async () => expect(await counterSeenBy(bounded)).toBeGreaterThan(before));
  await group.healthy();
});

it('when the leader changes, who reads at the next one ends, with its query, and the others go on', async () => {
  const old = group.leader()!;
  await group.sql('UPDATE counter SET n = 1000000');
  await group.sql('CREATE TABLE taken (n int)');
  const readers = await Promise.all(
    group.followers().map(async (id) => ({ id, client: await connect(id, reading('linearizable')) })),
  );
  for (const { client } of readers) await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  const sleeps = readers.map(({ client }) => codeOf(client.query('SELECT n, pg_sleep(60) FROM counter')));
  // At each follower, where the readers have waited for the table.
  for (const { id } of readers) void codeOf((await connect(id, reading('snapshot'))).query(catchesItsCancel));
  group.isolate(old, true);
  await eventually(() => expect([old, undefined]).not.toContain(group.followers().map(leads).find(Boolean)));
  const next = ids.find((id) => id !== old && leads(id))!;
  const index = readers.findIndex(({ id }) => id === next);
  expect(await sleeps[index]).toBe('57P01');
  // The deposed leader, which does not know it yet, answers nobody as one.
  const deposed = codeOf(connect(old, reading('linearizable')).then(counterSeenBy));
  expect(['57P03', '57P01']).toContain(await deposed);
  const other = readers[1 - index]!;
  connectTo(group.configOf(other.id).pgwire.port, '127.0.0.1').end(cancelPacket(keyOf(other.client)));
  expect(await sleeps[1 - index]).toBe('57014');
  await other.client.query('ROLLBACK');
  group.isolate(old, false);
  await group.healthy();
  await group.sql('UPDATE counter SET n = 2000000');
  // Nobody went on in the primary that a standby became.
  expect((await (await connect(next)).query('SELECT FROM taken')).rowCount).toBe(0);
  for (const id of ids) expect(await counterSeenBy(await connect(id, reading('linearizable')))).toBe(2000000);
});

function leads(id: string): boolean {
  return group.statusOf(id).role === 'leader';
}
