/** A replica whose log lacks more than it may vote beyond, and which can have that only as a copy of the leader's database. */
import { expect, it } from 'vitest';
import { MemoryClient } from './testing/memory-client.ts';
import { MemoryGroup } from './testing/memory-group.ts';
import type { MemoryMember } from './testing/memory-member.ts';

const windowSlotsMax = 4;

async function writeMuch(group: MemoryGroup, prefix: string): Promise<void> {
  const client = new MemoryClient(group);
  for (let n = 0; n < 10 * windowSlotsMax; n++) {
    const write = { key: 'k', value: `${prefix} ${n}` };
    expect((await group.time.until(client.transact({ reads: [], writes: [write] }))).kind).toBe('done');
  }
}

/** Its log lets go of all that its own PostgreSQL has. */
async function purge(group: MemoryGroup, member: MemoryMember): Promise<void> {
  const purgedTo = (): number => member.process!.log!.stats().purgedTo;
  const before = purgedTo();
  member.logBytesSaid = Number.MAX_SAFE_INTEGER;
  expect(await group.time.passUntil(() => purgedTo() > before + 4 * windowSlotsMax, 20_000)).toBe(true);
  member.logBytesSaid = null;
}

/** It is away while the log of the leader, which it needs, lets go of more than two windows; then the third machine is lost. */
async function leaveTwo(group: MemoryGroup): Promise<void> {
  await group.begin();
  const leader = group.serving()!;
  const [behind, lost] = group.members.filter((member) => member !== leader) as [MemoryMember, MemoryMember];
  behind.crash();
  await writeMuch(group, 'while it was away');
  await purge(group, leader);
  lost.crashMachine();
  // Nobody else has it.
  const session = await group.time.until(leader.process!.server.connect());
  await group.time.until(session.ask({ kind: 'append', key: 'k', value: 'unchosen' }));
  session.ask({ kind: 'commit' }).catch(() => undefined);
  await group.time.pass(10_000);
  await behind.start();
}

/*
 * It votes for nothing beyond two windows above its commit point, and so the leader's WAL is not chosen; a copy of a database waits for all that it holds to be chosen; and a leader that was deposed with such WAL runs no PostgreSQL
 * that could be copied.
 */
it.fails('is copied to, and votes, though the leader has what is not chosen', {
  timeout: 60_000,
}, async () => {
  const group = new MemoryGroup({ replicas: 3, seed: 5, config: { bounds: { windowSlotsMax } } });
  await leaveTwo(group);
  expect(await group.time.passUntil(() => group.serving() !== null, 60_000)).toBe(true);
});

it('votes while that is within two windows, and is copied to', { timeout: 60_000 }, async () => {
  const group = new MemoryGroup({ replicas: 3, seed: 5 });
  await leaveTwo(group);
  expect(await group.time.passUntil(() => group.serving() !== null, 60_000)).toBe(true);
  expect(group.troubles).toEqual([]);
});
