/** Three real replicas in this process: founded, joined, written to; then one loses its log, its database or both, and heals by itself. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { TraceEvent } from '../api/events.ts';
import type { ReplicaStatus } from '../api/status.ts';
import type { AdminAnswer, HttpAdmin } from '../gateways/http/admin-routes.ts';
import type { ReplicaId } from '../multipaxos/types.ts';
import { parseReplicaConfig, type ReplicaConfig } from '../replica/config.ts';
import { demoUser } from './demo/layout.ts';
import { runSql } from './demo/sql-console.ts';
import { foundReplica } from './found-replica.ts';
import type { ServedReplica } from './serve.ts';
import { startReplica } from './start-replica.ts';

const ids = ['r1', 'r2', 'r3'] as const;
type Id = (typeof ids)[number];

let root = '';
let configs: Record<Id, ReplicaConfig>;
const running = new Map<Id, ServedReplica>();
const events = new Map<Id, TraceEvent[]>();
const fatal: Error[] = [];

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

async function makeConfigs(): Promise<Record<Id, ReplicaConfig>> {
  const ports = await Promise.all(
    ids.map(async () => ({ peer: await freePort(), pgwire: await freePort(), http: await freePort() })),
  );
  const peers = ids.map((id, index) => ({
    id,
    host: '127.0.0.1',
    port: ports[index]!.peer,
    pgwire: { host: '127.0.0.1', port: ports[index]!.pgwire },
  }));
  const entries = ids.map((id, index) => {
    const { peer, pgwire, http } = ports[index]!;
    const document = {
      group: 'main',
      id,
      dataDir: join(root, id),
      peers,
      peerListen: { port: peer },
      clusterSecret: 'a secret of the cluster',
      pgwire: { port: pgwire },
      http: { port: http },
      bootstrap: demoUser,
      verify: { everyMinutes: 0 },
      // Fewer PostgreSQL processes: two cores run three of everything here.
      bounds: { clientsMax: 20 },
    };
    return [id, parseReplicaConfig(document, root)] as const;
  });
  return Object.fromEntries(entries) as Record<Id, ReplicaConfig>;
}

async function start(id: Id): Promise<void> {
  const seen: TraceEvent[] = [];
  events.set(id, seen);
  const replica = await startReplica(configs[id], {
    logger: pino({ level: process.env['TEST_LOG'] ?? 'silent', name: id }),
    latencies: { transaction: () => {} },
    onEvent: (event) => seen.push(event),
    onFatal: (error) => fatal.push(error),
  });
  running.set(id, replica);
}

async function stop(id: Id): Promise<void> {
  await running.get(id)?.stop();
  running.delete(id);
}

const statusOf = (id: Id): ReplicaStatus => running.get(id)!.status();

/** Counts for quorums, serves, and has everything. */
async function healthy(among: readonly Id[] = ids): Promise<void> {
  await vi.waitFor(
    () => {
      expect(fatal).toEqual([]);
      for (const id of among) {
        const { state, recovery, membership, incarnation } = statusOf(id);
        expect({ id, state, recovery }).toEqual({ id, state: 'serving', recovery: null });
        const member = membership.members.find(({ replica }) => replica === id);
        expect(member).toMatchObject({ role: 'voter', incarnation });
      }
    },
    { timeout: 150_000, interval: 100 },
  );
}

const leader = (): Id => ids.find((id) => running.has(id) && statusOf(id).role === 'leader')!;
const followers = (): Id[] => ids.filter((id) => running.has(id) && id !== leader());

async function sql(text: string): Promise<(readonly (string | null)[])[]> {
  for (let attempt = 1; ; attempt++) {
    const answer = await runSql(configs[leader() ?? 'r1'].pgwire.port, text);
    if (!('error' in answer)) return [...answer.rows];
    if (attempt === 5) throw new Error(`${answer.error.code} ${answer.error.message}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Asks the leader, and again whoever leads next: on a busy machine that may change meanwhile. */
async function askLeader<T>(ask: (admin: HttpAdmin) => Promise<AdminAnswer<T>>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await ask(running.get(leader() ?? followers()[0]!)!.admin);
    if (outcome.ok) return outcome.answer;
    if (outcome.error.code !== 'notLeader' || attempt === 10) throw new Error(outcome.error.message);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** As nobody should: past the gateway, past capture, in one replica's own PostgreSQL. */
async function behindBarista(id: Id, text: string): Promise<void> {
  const { socketDir, port } = statusOf(id).postgres;
  const client = new Client({ host: socketDir, port, user: 'postgres', database: demoUser.database });
  client.on('error', () => {});
  await client.connect();
  await client.query('SET event_triggers = off');
  await client.query('ALTER TABLE drinks DISABLE TRIGGER ALL');
  await client.query(text);
  await client.query('ALTER TABLE drinks ENABLE TRIGGER ALL');
  await client.end();
}

/** What each replica has in its own PostgreSQL, everything applied. */
async function contents(): Promise<string[]> {
  await vi.waitFor(
    () => {
      const top = Math.max(...ids.map((id) => statusOf(id).commitPoint));
      for (const id of ids) expect(statusOf(id).applicationPointer).toBe(top);
    },
    { timeout: 20_000, interval: 50 },
  );
  return Promise.all(
    ids.map(async (id) => {
      const { socketDir, port } = statusOf(id).postgres;
      const client = new Client({ host: socketDir, port, user: 'postgres', database: demoUser.database });
      await client.connect();
      const { rows } = await client.query<{ all: string }>(
        "SELECT count(*) || ' ' || coalesce(sum(hashtext(t::text)::bigint), 0) AS all FROM drinks t",
      );
      await client.end();
      return rows[0]!.all;
    }),
  );
}

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'barista-recovery-'));
  configs = await makeConfigs();
});
afterAll(async () => {
  await Promise.all([...running.keys()].map(stop));
  rmSync(root, { recursive: true, force: true });
});

const waiting = expect.stringContaining('barista init') as string;

describe('a group', () => {
  it('is founded on one replica, and the others join it', async () => {
    await start('r2');
    await vi.waitFor(() => expect(statusOf('r2')).toMatchObject({ state: 'joining', message: waiting }));
    await foundReplica(configs.r1);
    await expect(foundReplica(configs.r1)).rejects.toThrow(/has a log already/);
    await start('r1');
    await start('r3');
    await healthy();
    await sql('CREATE TABLE drinks (id serial PRIMARY KEY, name text, pad text)');
    await sql(
      "INSERT INTO drinks (name, pad) SELECT 'espresso', repeat('x', 1000) FROM generate_series(1, 2000)",
    );
    const [one, ...others] = await contents();
    expect(one).toMatch(/^2000 /);
    expect(others).toEqual([one, one]);
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
      const victim = followers()[0]!;
      const before = statusOf(victim).incarnation;
      await stop(victim);
      for (const folder of folders) await rm(join(root, victim, folder), { recursive: true });
      await sql("INSERT INTO drinks (name) VALUES ('while it was away')");
      await start(victim);
      await healthy();
      expect(statusOf(victim).incarnation).toBe(before + lives);
      const seen = events
        .get(victim)!
        .flatMap((event) => (event.name === 'RecoveryPhase' ? [event.progress?.phase ?? 'healed'] : []));
      expect(seen).toEqual(expect.arrayContaining([...phases, 'healed']));
      await sql("INSERT INTO drinks (name) VALUES ('afterwards')");
      const [one, ...others] = await contents();
      expect(others).toEqual([one, one]);
    },
    120_000,
  );

  it('heals a leader that has lost everything, while the others go on', async () => {
    const victim = leader();
    await stop(victim);
    await rm(join(root, victim), { recursive: true });
    await vi.waitFor(() => expect(followers().length).toBe(1), { timeout: 20_000 });
    await start(victim);
    await sql("INSERT INTO drinks (name) VALUES ('under another leader')");
    await healthy();
    const [one, ...others] = await contents();
    expect(others).toEqual([one, one]);
    expect(readdirSync(join(root, victim))).not.toContain('incoming');
  }, 240_000);

  it('finds the replica whose data differs, fences it, and restores it when asked to', async () => {
    const verify = async (repair: boolean): Promise<Record<string, string>> => {
      const { replicas } = await askLeader((admin) => admin.verify({ repair }));
      return Object.fromEntries(replicas.map((each) => [each.replica, each.outcome]));
    };
    expect(await verify(false)).toEqual({ r1: 'equal', r2: 'equal', r3: 'equal' });
    const victim = followers()[0]!;
    await behindBarista(victim, "UPDATE drinks SET name = 'decaf' WHERE id = 7");
    expect(await verify(false)).toEqual({ r1: 'equal', r2: 'equal', r3: 'equal', [victim]: 'differs' });
    await vi.waitFor(() => expect(statusOf(victim).state).toBe('diverged'), { timeout: 30_000 });
    expect(await verify(true)).toMatchObject({ [victim]: 'noReport' });
    await healthy();
    const [one, ...others] = await contents();
    expect(others).toEqual([one, one]);
    expect(await verify(false)).toEqual({ r1: 'equal', r2: 'equal', r3: 'equal' });
  }, 240_000);

  it('lets a replica go and takes in a new one of that name', async () => {
    const refused = await running.get(followers()[0]!)!.admin.verify({ repair: false });
    expect(refused).toMatchObject({ ok: false, error: { code: 'notLeader', leader: leader() } });
    const victim = followers()[0]!;
    const replica = victim as ReplicaId;
    await askLeader((admin) => admin.members({ action: 'remove', replica }));
    await vi.waitFor(() => expect(statusOf(victim).state).toBe('removed'), { timeout: 30_000 });
    await sql("INSERT INTO drinks (name) VALUES ('among two')");
    await stop(victim);
    await rm(join(root, victim), { recursive: true });
    const { host, port, pgwire } = configs[victim].peers.find(({ id }) => id === victim)!;
    const address = { host, port, pgwire };
    await askLeader((admin) => admin.members({ action: 'add', replica, address }));
    await start(victim);
    await healthy();
    const [one, ...others] = await contents();
    expect(others).toEqual([one, one]);
  }, 240_000);
});
