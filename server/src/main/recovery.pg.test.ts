/** Three real replicas in this process: founded, joined, written to; then one loses its log, its database or both, and heals by itself. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { VerifyResult } from '../api/status.ts';
import type { ReplicaId } from '../multipaxos/types.ts';
import { foundReplica } from './found-replica.ts';
import { RealGroup } from './testing/real-group.ts';

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

const waiting = expect.stringContaining('barista init') as string;
const verify = async (repair: boolean): Promise<Record<string, string>> => {
  return outcomes(await group.askLeader((admin) => admin.verify({ repair })));
};

/** As nobody should: past the gateway, past capture. */
const tamper = (victim: string, name: string): Promise<void> =>
  group.inside(victim, async (client) => {
    await client.query('SET event_triggers = off');
    await client.query('ALTER TABLE drinks DISABLE TRIGGER ALL');
    await client.query('UPDATE drinks SET name = $1 WHERE id = 7', [name]);
    await client.query('ALTER TABLE drinks ENABLE TRIGGER ALL');
  });
/** What comparisons have found so far, in the present life of each replica: of the three, one leads. */
const comparisons = (): VerifyResult[] =>
  [...group.events.values()].flatMap((events) =>
    events.flatMap((event) => (event.name === 'VerifyDone' ? [event.result] : [])),
  );
const outcomes = ({ replicas }: VerifyResult): Record<string, string> =>
  Object.fromEntries(replicas.map((each) => [each.replica, each.outcome]));

describe('a group', () => {
  it('is founded on one replica, and the others join it', async () => {
    await group.start('r2');
    await vi.waitFor(() =>
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
  }, 240_000);

  it.each([
    { what: 'log', folders: ['log'], lives: 1, phases: ['joining', 'catchingUp'] },
    { what: 'database', folders: ['postgres'], lives: 0, phases: ['copying', 'starting', 'catchingUp'] },
    {
      what: 'log and database',
      folders: ['log', 'postgres'],
      lives: 1,
      phases: ['joining', 'copying', 'starting', 'catchingUp'],
    },
  ])(
    'heals a follower that has lost its $what',
    async ({ folders, lives, phases }) => {
      const victim = group.followers()[0]!;
      const before = group.statusOf(victim).incarnation;
      await group.stop(victim);
      for (const folder of folders) await rm(join(root, victim, folder), { recursive: true });
      await group.sql("INSERT INTO drinks (name) VALUES ('while it was away')");
      await group.start(victim);
      await group.healthy();
      expect(group.statusOf(victim).incarnation).toBe(before + lives);
      const seen = group.events
        .get(victim)!
        .flatMap((event) => (event.name === 'RecoveryPhase' ? [event.progress?.phase ?? 'healed'] : []));
      expect(seen).toEqual(expect.arrayContaining([...phases, 'healed']));
      await group.sql("INSERT INTO drinks (name) VALUES ('afterwards')");
      expect(await group.contentsOf('drinks')).toHaveLength(1);
    },
    240_000,
  );

  it('heals a leader that has lost everything, while the others go on', async () => {
    await vi.waitFor(() => expect(group.leader()).toBeDefined(), { timeout: 30_000 });
    const victim = group.leader()!;
    await group.stop(victim);
    await rm(join(root, victim), { recursive: true });
    await vi.waitFor(() => expect(group.leader()).toBeDefined(), { timeout: 30_000 });
    await group.start(victim);
    await group.sql("INSERT INTO drinks (name) VALUES ('under another leader')");
    await group.healthy();
    expect(await group.contentsOf('drinks')).toHaveLength(1);
    expect(readdirSync(join(root, victim))).not.toContain('incoming');
  }, 240_000);

  it('finds the replica whose data differs, fences it, and restores it when asked to', async () => {
    expect(await verify(false)).toEqual({ r1: 'equal', r2: 'equal', r3: 'equal' });
    const victim = group.followers()[0]!;
    await tamper(victim, 'decaf');
    expect(await verify(false)).toEqual({ r1: 'equal', r2: 'equal', r3: 'equal', [victim]: 'differs' });
    await vi.waitFor(() => expect(group.statusOf(victim).state).toBe('diverged'), { timeout: 30_000 });
    expect(await verify(true)).toMatchObject({ [victim]: 'differs' });
    await group.healthy();
    expect(await group.contentsOf('drinks')).toHaveLength(1);
    expect(await verify(false)).toEqual({ r1: 'equal', r2: 'equal', r3: 'equal' });
  }, 240_000);

  it('lets a replica go and takes in a new one of that name', async () => {
    const victim = group.followers()[0]!;
    const replica = victim as ReplicaId;
    expect(await group.adminOf(victim).verify({ repair: false })).toMatchObject({
      ok: false,
      error: { code: 'notLeader' },
    });
    await group.askLeader((admin) => admin.members({ action: 'remove', replica }));
    await vi.waitFor(() => expect(group.statusOf(victim).state).toBe('removed'), { timeout: 30_000 });
    await group.sql("INSERT INTO drinks (name) VALUES ('among two')");
    await group.stop(victim);
    await rm(join(root, victim), { recursive: true });
    const { host, port, pgwire } = group.configOf(victim).peers.find(({ id }) => id === victim)!;
    const address = { host, port, pgwire };
    await group.askLeader((admin) => admin.members({ action: 'add', replica, address }));
    await group.start(victim);
    await group.healthy();
    expect(await group.contentsOf('drinks')).toHaveLength(1);
  }, 240_000);

  it('compares by itself, fences the replica whose data differs, and takes writes meanwhile', async () => {
    // In a file it is a minute at least; replicas look every few seconds whether it is over.
    const verify = { everyMinutes: 1 / 60, timeoutMinutes: 1 };
    await group.stopAll();
    await Promise.all(group.ids.map((id) => group.start(id, { verify })));
    await group.healthy();
    const writer = group.keepWriting("INSERT INTO drinks (name) VALUES ('unasked')");
    const victim = group.followers()[0]!;
    await tamper(victim, 'lungo');
    const message = expect.stringContaining('drinks') as string;
    await vi.waitFor(() => expect(group.statusOf(victim)).toMatchObject({ state: 'diverged', message }), {
      timeout: 60_000,
    });
    const fencedAt = writer.written();
    await vi.waitFor(() => expect(writer.written()).toBeGreaterThan(fencedAt + 10), { timeout: 60_000 });
    // Nobody asked for it, and nobody else is suspected.
    const suspected = comparisons().flatMap(({ replicas }) =>
      replicas.filter(({ outcome }) => outcome === 'differs'),
    );
    expect([...new Set(suspected.map(({ replica }) => replica))]).toEqual([victim]);
    const others = group.ids.filter((id) => id !== victim).map((id) => group.statusOf(id));
    expect(others.map(({ state }) => state)).toEqual(['serving', 'serving']);
    const { state, applicationPointer } = group.statusOf(victim);
    expect(state).toBe('diverged');
    expect(applicationPointer).toBeLessThan(Math.max(...others.map(({ commitPoint }) => commitPoint)));

    await group.stop(victim);
    await group.start(victim);
    await group.healthy();
    const written = await writer.stop();
    const [[count]] = (await group.sql("SELECT count(*) FROM drinks WHERE name = 'unasked'")) as [[string]];
    // Of one whose outcome was unknown there may be two.
    expect(Number(count)).toBeGreaterThanOrEqual(written);
    expect(await group.contentsOf('drinks')).toHaveLength(1);
  }, 240_000);
});
