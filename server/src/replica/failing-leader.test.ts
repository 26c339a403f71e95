/** A leader whose PostgreSQL dies frees its followers at once: nobody waits for a time-out, and leaders that die one after the other cost what is bounded. */
import { expect, it } from 'vitest';
import type { TraceEvent } from '../api/events.ts';
import { pause } from '../payload/pause.ts';
import { MemoryClient } from './testing/memory-client.ts';
import { MemoryGroup } from './testing/memory-group.ts';
import { coreConfigOf } from './consensus/core-host-of.ts';

interface Told {
  readonly group: MemoryGroup;
  readonly events: TraceEvent[];
  readonly timeoutMinMs: number;
}

async function begin(seed: number): Promise<Told> {
  const events: TraceEvent[] = [];
  const group = new MemoryGroup({ replicas: 3, seed, onEvent: (_member, event) => events.push(event) });
  await group.begin();
  // Who has just got its database does not stand for a while.
  await group.time.pass(5000);
  const { config } = group.serving()!;
  const { electionTimeoutMinMs } = coreConfigOf(config, config.id);
  return { group, events, timeoutMinMs: electionTimeoutMinMs };
}

it.each([
  { what: 'its main process is killed', kill: 'killMain' },
  { what: 'one of its processes is killed', kill: 'crashBackend' },
] as const)('another replica leads before a time-out could have ended: $what', async ({ kill }) => {
  const { group, events, timeoutMinMs } = await begin(5);
  const old = group.serving()!;
  events.length = 0;
  old.postgres[kill]();
  const leads = (): boolean =>
    group.members.some((member) => member !== old && member.replica!.status(0).role === 'leader');
  expect(await group.time.passUntil(leads, timeoutMinMs / 2)).toBe(true);
  const names = events.map(({ name }) => name);
  expect(names.filter((name) => name === 'HandleResigned')).toHaveLength(2);
  expect(names.filter((name) => name === 'BecomeLeader')).toHaveLength(1);
  await group.healthy(60_000);
  await group.equal();
  await group.stop();
});

it('each leader dies as soon as it serves: leaderships are no more often than the dead may stand again, and nothing is lost', async () => {
  const { group, events, timeoutMinMs } = await begin(6);
  const client = new MemoryClient(group);
  const doneValues: string[] = [];
  const stormMs = 60_000;
  const untilMs = group.time.nowMs() + stormMs;
  const write = async (): Promise<void> => {
    for (let n = 0; group.time.nowMs() < untilMs; n++) {
      const value = `v${n}`;
      const end = await client.transact({ reads: [], writes: [{ key: 'k', value }] });
      if (end.kind === 'done') doneValues.push(value);
      else await pause(group.time, 20);
    }
  };
  const written = write();
  while (group.time.nowMs() < untilMs) {
    const leader = group.serving();
    await group.time.pass(30);
    leader?.postgres.crashBackend();
  }
  await group.time.until(written);
  await group.healthy(120_000);
  await group.equal();
  // Each of the three is kept from standing for longer than twice the shortest time-out.
  const led = events.filter(({ name }) => name === 'BecomeLeader').length;
  expect(led).toBeLessThanOrEqual(3 * (1 + stormMs / (2 * timeoutMinMs)));
  expect(led).toBeGreaterThan(3);
  const read = await group.time.until(client.transact({ reads: ['k'], writes: [] }));
  expect(read).toMatchObject({ kind: 'done', lists: [expect.arrayContaining(doneValues)] });
  expect(group.troubles).toEqual([]);
  await group.stop();
});
