/** Three real replicas in this process: founded, joined, written to; then PostgreSQL crashes, or one loses its log, its database or both, and heals by itself. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { demoUser } from '../demo/layout.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { foundReplica } from './found-replica.ts';
import { RealGroup } from './testing/real-group.ts';
import { eventually } from '../ports/testing/eventually.ts';

let root = '';
let group: RealGroup;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'barista-recovery-'));
  group = await RealGroup.in(root, ['r1', 'r2', 'r3']);
});
afterAll(async () => {
  await group.stopAll();
  rmSync(root, { recursive: true, force: true });
});

const timeoutMs = 300_000;
const waiting = expect.stringContaining('barista init') as string;

/** The phases of its recoveries in its present life, `healed` at the end of each. */
function phasesOf(id: string): readonly string[] {
  return group.events
    .get(id)!
    .flatMap((event) => (event.name === 'RecoveryPhase' ? [event.progress?.phase ?? 'healed'] : []));
}

async function leaderOf(): Promise<string> {
  await eventually(() => expect(group.leader()).toBeDefined());
  return group.leader()!;
}

async function expectEqual(): Promise<void> {
  await group.healthy();
  expect(await group.contentsOf('drinks')).toHaveLength(1);
}

it(
  'a group is founded on one replica, and the others join it',
  async () => {
    await group.start('r2');
    await eventually(() =>
      expect(group.statusOf('r2')).toMatchObject({ state: 'joining', message: waiting }),
    );
    await foundReplica(group.configOf('r1'));
    await expect(foundReplica(group.configOf('r1'))).rejects.toThrow(/has a log already/);
    await group.start('r1');
    await group.start('r3');
    await group.healthy();
    await group.sql('CREATE TABLE drinks (id serial PRIMARY KEY, name text, pad text)');
    await group.sql(
      "INSERT INTO drinks (name, pad) SELECT 'espresso', repeat('x', 1000) FROM generate_series(1, 2000)",
    );
    expect(await group.contentsOf('drinks')).toEqual([expect.stringMatching(/^2000 /)]);
  },
  timeoutMs,
);

it.each([
  { what: 'follower', victim: () => group.followers()[0]! },
  { what: 'leader', victim: () => group.leader()! },
])(
  'the PostgreSQL of the $what dies, and nothing that was acknowledged with it',
  async ({ what, victim }) => {
    await leaderOf();
    const id = victim();
    const writer = group.keepWriting(`INSERT INTO drinks (name) VALUES ('${what}')`);
    await eventually(() => expect(writer.written()).toBeGreaterThan(2));
    process.kill(group.statusOf(id).postgres.pid!, 'SIGKILL');
    const before = writer.written();
    await eventually(() => expect(writer.written()).toBeGreaterThan(before + 2));
    // A leader says so, and nobody waits for a time-out.
    const told = group.ids.filter((each) =>
      group.events.get(each)!.some(({ name }) => name === 'HandleResigned'),
    );
    expect(told).toEqual(what === 'leader' ? group.ids.filter((each) => each !== id) : []);
    const written = await writer.stop();
    const [[count]] = (await group.sql(`SELECT count(*) FROM drinks WHERE name = '${what}'`)) as [[string]];
    // Of one whose outcome was unknown there may be two.
    expect(Number(count)).toBeGreaterThanOrEqual(written);
    await expectEqual();
  },
  timeoutMs,
);

it(
  'a leader that is stopped in order hands over first, whatever runs on in it',
  async () => {
    const leader = await leaderOf();
    const { port } = group.configOf(leader).pgwire;
    const client = new Client({ host: '127.0.0.1', port, ...demoUser });
    client.on('error', () => {});
    await client.connect();
    // It asks nothing of its gateway for as long as it runs, and writes all the time.
    const endless = client.query(
      "INSERT INTO drinks (name, pad) SELECT 'endless' || pg_sleep(0.001)::text, repeat('x', 500) FROM generate_series(1, 100000000)",
    );
    endless.catch(() => {});
    await eventually(async () => {
      const { rows } = await group.inside(leader, (inner) =>
        inner.query<{ n: number }>(
          "SELECT count(*)::int AS n FROM pg_stat_activity WHERE query LIKE '%endless%'",
        ),
      );
      expect(rows[0]!.n).toBeGreaterThan(1);
    });
    await group.stop(leader);
    await eventually(() => expect(group.leader()).toBeDefined());
    expect(group.events.get(leader)).toContainEqual(
      expect.objectContaining({ name: 'StepDown', reason: 'handedOver' }),
    );
    await expect(endless).rejects.toThrow(/outcome|leader/);
    await group.sql("INSERT INTO drinks (name) VALUES ('after a hand-over')");
    await group.start(leader);
    await expectEqual();
    const [[count]] = (await group.sql("SELECT count(*) FROM drinks WHERE name = 'endless'")) as [[string]];
    expect(count).toBe('0');
  },
  timeoutMs,
);

const wipes = [
  { what: 'log', folders: ['log'], lives: 1, phases: ['joining', 'catchingUp'] },
  { what: 'database', folders: ['postgres'], lives: 0, phases: ['copying', 'starting', 'catchingUp'] },
  {
    what: 'log and database',
    folders: ['log', 'postgres'],
    lives: 1,
    phases: ['joining', 'copying', 'starting', 'catchingUp'],
  },
];

it.each(wipes)(
  'a follower that has lost its $what heals',
  async ({ folders, lives, phases }) => {
    const leader = await leaderOf();
    const victim = group.ids.find((id) => id !== leader)!;
    const before = group.statusOf(victim).incarnation;
    await group.stop(victim);
    for (const folder of folders) await rm(join(root, victim, folder), { recursive: true });
    await group.sql("INSERT INTO drinks (name) VALUES ('while it was away')");
    await group.start(victim);
    await group.healthy();
    expect(group.statusOf(victim).incarnation).toBe(before + lives);
    expect(phasesOf(victim)).toEqual(expect.arrayContaining([...phases, 'healed']));
    await group.sql("INSERT INTO drinks (name) VALUES ('afterwards')");
    await expectEqual();
  },
  timeoutMs,
);

it(
  'a follower whose database is damaged while it is away is given another, and what was there is kept',
  async () => {
    const leader = await leaderOf();
    const victim = group.ids.find((id) => id !== leader)!;
    await group.stop(victim);
    const control = join(root, victim, 'postgres', 'data', 'global', 'pg_control');
    await writeFile(control, Buffer.alloc((await readFile(control)).length));
    await group.start(victim);
    await expectEqual();
    const names = readdirSync(join(root, victim));
    expect(names).toContainEqual(expect.stringMatching(/^postgres\.lost-/));
    expect(names).not.toContain('postgres.condemned.json');
  },
  timeoutMs,
);

it(
  'a leader that has lost everything heals while the others go on',
  async () => {
    const victim = await leaderOf();
    await group.stop(victim);
    await rm(join(root, victim), { recursive: true });
    await leaderOf();
    await group.start(victim);
    await group.sql("INSERT INTO drinks (name) VALUES ('under another leader')");
    await expectEqual();
  },
  timeoutMs,
);

it(
  'a replica is let go, and a new one of that name taken in',
  async () => {
    const leader = await leaderOf();
    const victim = group.ids.find((id) => id !== leader)!;
    const replica = victim as ReplicaId;
    expect(await group.adminOf(victim).verify({ repair: false })).toMatchObject({
      ok: false,
      error: { code: 'notLeader' },
    });
    await group.askLeader((admin) => admin.members({ action: 'remove', replica }));
    await eventually(() => expect(group.statusOf(victim).state).toBe('removed'));
    await group.sql("INSERT INTO drinks (name) VALUES ('among two')");
    await group.stop(victim);
    await rm(join(root, victim), { recursive: true });
    const { host, port, pgwire } = group.configOf(victim).peers.find(({ id }) => id === victim)!;
    const address = { host, port, pgwire };
    await group.askLeader((admin) => admin.members({ action: 'add', replica, address }));
    await group.start(victim);
    await expectEqual();
  },
  timeoutMs,
);

it(
  'all are stopped at once, and find everything again',
  async () => {
    const [before] = await group.contentsOf('drinks');
    await group.stopAll();
    for (const id of group.ids) await group.start(id);
    await group.healthy();
    expect(await group.contentsOf('drinks')).toEqual([before]);
    await group.sql("INSERT INTO drinks (name) VALUES ('the day after')");
    await expectEqual();
  },
  timeoutMs,
);
