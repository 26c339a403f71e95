/** A leader whose files are found damaged while it serves clients with them. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MemoryClient } from './testing/memory-client.ts';
import { MemoryGroup } from './testing/memory-group.ts';
import type { MemoryMember } from './testing/memory-member.ts';

let group: MemoryGroup;
let leader: MemoryMember;
let followers: readonly MemoryMember[];

beforeEach(async () => {
  group = new MemoryGroup({ replicas: 3, seed: 7 });
  await group.begin();
  leader = group.serving()!;
  followers = group.members.filter((member) => member !== leader);
});
afterEach(() => group.stop());

it('a damaged leader hands over first, and then takes a copy', async () => {
  leader.postgres.disk.lacksFile = true;
  const isCopied = (): boolean => leader.postgres.disk.setAside > 0;
  expect(await group.time.passUntil(isCopied, 30_000)).toBe(true);
  expect(leader.replica!.handingOver.ends).toMatchObject({ done: 1, noSuccessor: 0 });
  await group.healthy(60_000);
  await group.equal();
  expect(leader.postgres.disk).toMatchObject({ lacksFile: false, setAside: 1 });
});

it('a damaged leader serves on where no other replica could lead, says so, and hands over as soon as one can', async () => {
  for (const { postgres } of followers) postgres.run!.answers = false;
  // Until they count as down.
  await group.time.pass(10_000);
  leader.postgres.disk.lacksFile = true;
  const { run } = leader.postgres;
  await group.time.pass(60_000);
  expect(group.serving()?.id).toBe(leader.id);
  expect(leader.postgres.run === run).toBe(true);
  expect(leader.postgres.disk).toMatchObject({ setAside: 0, condemned: null });
  const { state, message } = leader.replica!.status(0);
  expect([state, message]).toEqual([
    'serving',
    expect.stringMatching(
      /^The database is damaged, and serves on: .* No other replica can lead: /,
    ) as unknown,
  ]);
  const client = new MemoryClient(group);
  await group.time.until(client.transact({ reads: [], writes: [{ key: 'k', value: 'a' }] }));
  for (const { postgres } of followers) postgres.run!.answers = true;
  expect(await group.time.passUntil(() => leader.postgres.disk.setAside > 0, 120_000)).toBe(true);
  await group.healthy(60_000);
  await group.equal();
});
