/** Five real replicas in this process, with short logs: the data of some is altered past the group, and comes right again. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { foundReplica } from './found-replica.ts';
import { RealGroup } from './testing/real-group.ts';

const ids = ['r1', 'r2', 'r3', 'r4', 'r5'];
const logBytesMax = 2 ** 20;
let root = '';
let group: RealGroup;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'barista-divergence-'));
  group = await RealGroup.in(root, ids);
  await foundReplica(group.configOf('r1'));
  for (const id of ids) {
    await group.start(id, { bounds: { ...group.configOf(id).bounds, logBytesMax } });
  }
  await group.healthy();
  await group.sql('CREATE TABLE drinks (id serial PRIMARY KEY, name text)');
  await group.sql("INSERT INTO drinks (name) SELECT 'espresso' FROM generate_series(1, 100)");
  // Waits until everybody has them.
  await group.contentsOf('drinks');
}, 240_000);
afterAll(async () => {
  await group.stopAll();
  rmSync(root, { recursive: true, force: true });
});

/** As nobody should: past the gateway, past capture. */
async function alter(victim: string, name: string): Promise<void> {
  await group.inside(victim, async (client) => {
    await client.query('SET event_triggers = off');
    await client.query('ALTER TABLE drinks DISABLE TRIGGER ALL');
    await client.query('UPDATE drinks SET name = $1 WHERE id = 7', [name]);
    await client.query('ALTER TABLE drinks ENABLE TRIGGER ALL');
  });
}

async function verify(repair: boolean): Promise<Record<string, string>> {
  const { replicas } = await group.askLeader((admin) => admin.verify({ repair }));
  return Object.fromEntries(replicas.map((each) => [each.replica, each.outcome]));
}

const allEqual = Object.fromEntries(ids.map((id) => [id, 'equal']));

it('two that differ at once are both repaired by one comparison', async () => {
  const victims = group.followers().slice(0, 2) as [string, string];
  for (const victim of victims) await alter(victim, `decaf of ${victim}`);
  expect(await verify(true)).toEqual({ ...allEqual, [victims[0]]: 'differs', [victims[1]]: 'differs' });
  const sources = () =>
    victims.map((id) =>
      group.events
        .get(id)!
        .flatMap((event) =>
          event.name === 'RecoveryPhase' && event.progress?.cause === 'diverged'
            ? [event.progress.source]
            : [],
        )
        .findLast((source) => source !== null),
    );
  await vi.waitFor(() => expect(sources()).not.toContain(undefined), { timeout: 60_000 });
  await group.healthy();
  for (const source of sources()) expect(victims).not.toContain(source);
  expect(await verify(false)).toEqual(allEqual);
  expect(await group.contentsOf('drinks')).toHaveLength(1);
}, 240_000);

it('one that is fenced keeps to the bound of its log, and is healed by that', async () => {
  const victim = group.followers()[0]!;
  await alter(victim, 'lungo');
  expect(await verify(false)).toEqual({ ...allEqual, [victim]: 'differs' });
  await vi.waitFor(() => expect(group.statusOf(victim).state).toBe('diverged'), { timeout: 30_000 });
  const { purgedTo } = group.statusOf(victim).log;
  const writer = group.keepWriting("INSERT INTO drinks (name) VALUES (repeat('x', 50000))");
  // Its log grows until it takes a copy, and then lets go of what is in that.
  await vi.waitFor(
    () => {
      expect(writer.written()).toBeGreaterThan(0);
      expect(group.statusOf(victim).state).toBe('serving');
      expect(group.statusOf(victim).log.purgedTo).toBeGreaterThan(purgedTo);
    },
    { timeout: 120_000, interval: 100 },
  );
  await writer.stop();
  await group.healthy();
  await vi.waitFor(() => expect(group.statusOf(victim).log.bytes).toBeLessThan(logBytesMax), {
    timeout: 30_000,
  });
  expect(await verify(false)).toEqual(allEqual);
  expect(await group.contentsOf('drinks')).toHaveLength(1);
}, 240_000);
