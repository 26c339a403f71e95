/** Three real replicas in this process; the processes of one's PostgreSQL stand still, as on a machine that was suspended or a disk that does not answer. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { isRunning, processesIn, type ProcessIdentity } from '../adapters/postgres/process-identity.ts';
import { runSql } from '../demo/sql-console.ts';
import { foundReplica } from './found-replica.ts';
import { RealGroup } from './testing/real-group.ts';
import { eventually } from '../ports/testing/eventually.ts';

let root = '';
let group: RealGroup;
let stopped: ProcessIdentity[] = [];
let underWay: Writer | null = null;

beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'barista-hung-')));
  group = await RealGroup.in(root, ['r1', 'r2', 'r3']);
  await foundReplica(group.configOf('r1'));
  for (const id of group.ids) await group.start(id);
  await group.healthy();
  await group.sql('CREATE TABLE drinks (name text)');
});
afterEach(async () => {
  await goOn();
  await underWay?.stop();
});
afterAll(async () => {
  await group.stopAll();
  rmSync(root, { recursive: true, force: true });
});

type Which = 'all' | 'main process' | 'all but the main process';

async function hang(id: string, which: Which): Promise<void> {
  const main = group.statusOf(id).postgres.pid;
  const all = await processesIn(join(root, id, 'postgres', 'data'));
  const meant = all.filter(({ pid }) => which === 'all' || (pid === main) === (which === 'main process'));
  stopped = meant.filter(({ pid }) => stop(pid));
  expect(stopped.length).toBeGreaterThan(0);
}

/** False: it has ended since it was seen, as sessions do. */
function stop(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGSTOP');
  } catch {
    return false;
  }
}

async function goOn(): Promise<void> {
  for (const one of stopped) if (await isRunning(one)) process.kill(one.pid, 'SIGCONT');
  stopped = [];
}

interface Writer {
  /** When something was acknowledged last, on the clock of `performance`. */
  last(): number;
  stop(): Promise<readonly string[]>;
}

/** Writes through every replica in turn until it is stopped, and remembers what was acknowledged. */
function keepWriting(prefix: string): Writer {
  const acknowledged: string[] = [];
  let lastMs = performance.now();
  const enough = new AbortController();
  async function write(id: string): Promise<void> {
    for (let n = 1; !enough.signal.aborted; n += 1) {
      const name = `${prefix} ${id} ${n}`;
      const answer = await runSql(group.configOf(id).pgwire.port, `INSERT INTO drinks VALUES ('${name}')`);
      if ('error' in answer) await new Promise((resolve) => setTimeout(resolve, 50));
      else {
        acknowledged.push(name);
        lastMs = performance.now();
      }
    }
  }
  const writers = Promise.all(group.ids.map(write));
  underWay = {
    last: () => lastMs,
    async stop() {
      enough.abort();
      await writers;
      return acknowledged;
    },
  };
  return underWay;
}

async function expectAll(acknowledged: readonly string[]): Promise<void> {
  const names = acknowledged.map((name) => `'${name}'`).join();
  expect(
    await group.sql(
      `SELECT a FROM unnest(ARRAY[${names}]::text[]) a WHERE a NOT IN (SELECT name FROM drinks)`,
    ),
  ).toEqual([]);
  expect(await group.contentsOf('drinks')).toHaveLength(1);
}

it.each<Which>(['all', 'main process', 'all but the main process'])(
  'a leader whose PostgreSQL stands still (%s) hands over; nothing that was acknowledged is lost, whenever it goes on',
  async (which) => {
    await eventually(() => expect(group.leader()).toBeDefined());
    const victim = group.leader()!;
    const writer = keepWriting(which);
    const begunAt = performance.now();
    await eventually(() => expect(writer.last()).toBeGreaterThan(begunAt), {
      interval: 10,
    });
    const hungAt = performance.now();
    await hang(victim, which);
    // Of the first second nothing is asked: what runs may go on for a while.
    await eventually(
      () => {
        expect(group.leader()).not.toBe(victim);
        expect(writer.last()).toBeGreaterThan(hungAt + 1_000);
      },
      { interval: 20 },
    );
    await goOn();
    const acknowledged = await writer.stop();
    expect(acknowledged.length).toBeGreaterThan(1);
    await group.healthy();
    await expectAll(acknowledged);
  },
);

it('a follower whose PostgreSQL stands still keeps nobody waiting, and goes on where it was', async () => {
  const victim = group.followers()[0]!;
  await hang(victim, 'all');
  const writer = keepWriting('follower');
  const hungAt = performance.now();
  await eventually(() => expect(writer.last()).toBeGreaterThan(hungAt + 3_000));
  const acknowledged = await writer.stop();
  await goOn();
  await group.healthy();
  await expectAll(acknowledged);
});

it('where one follower’s PostgreSQL stands still, the other takes the leader’s place', async () => {
  const before = group.leader()!;
  const [hung] = group.followers() as [string, string];
  await hang(hung, 'all');
  await group.stop(before);
  await eventually(
    async () => {
      const other = group.ids.find((id) => id !== hung && id !== before)!;
      const answer = await runSql(
        group.configOf(other).pgwire.port,
        "INSERT INTO drinks VALUES ('meanwhile')",
      );
      expect(answer).not.toHaveProperty('error');
    },
    { interval: 200 },
  );
  expect(group.leader()).not.toBe(hung);
  await goOn();
  await group.start(before);
  await group.healthy();
  expect(await group.contentsOf('drinks')).toHaveLength(1);
});

it('a leader that was a standby is not ended by what a client has its PostgreSQL write to its log', async () => {
  const leader = group.leader()!;
  const before = group.statusOf(leader);
  const { port } = group.configOf(leader).pgwire;
  const text = 'hot standby is not possible because of insufficient parameter settings';
  expect(await runSql(port, `SELECT '${text}'::int`)).toMatchObject({ error: { code: '22P02' } });
  expect(await runSql(port, `DO $$ BEGIN RAISE LOG '${text}'; END $$`)).not.toHaveProperty('error');
  expect(await runSql(port, "INSERT INTO drinks VALUES ('after')")).not.toHaveProperty('error');
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(group.leader()).toBe(leader);
  expect(group.statusOf(leader).postgres.pid).toBe(before.postgres.pid);
});
