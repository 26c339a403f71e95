/** A database with which PostgreSQL does not start, and of which nothing says that it is damaged. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryClient } from './testing/memory-client.ts';
import { MemoryGroup } from './testing/memory-group.ts';
import type { MemoryMember } from './testing/memory-member.ts';

let group: MemoryGroup;

beforeEach(async () => {
  group = new MemoryGroup({ replicas: 3, seed: 11 });
  await group.begin();
  await group.time.until(new MemoryClient(group).transact({ reads: [], writes: [{ key: 'k', value: 'a' }] }));
});
afterEach(() => group.stop());

async function whole(): Promise<void> {
  await group.healthy(60_000);
  await group.equal();
}

async function restart(member: MemoryMember, isUnfit: boolean): Promise<void> {
  member.crashMachine();
  member.postgres.disk.isUnfit = isUnfit;
  await member.start();
}

describe('a database that no attempt brings up', () => {
  it.each(['follower', 'leader'])('is replaced by a copy, and kept beside it: of a %s', async (role) => {
    const leader = group.serving()!;
    const victim = role === 'leader' ? leader : group.members.find((member) => member !== leader)!;
    await restart(victim, true);
    await whole();
    expect(victim.postgres.disk).toMatchObject({ isUnfit: false, setAside: 1, condemned: null });
  });

  it.each(['follower', 'leader'])(
    'and one that comes up and lets nobody in, is replaced by a copy: of a %s',
    async (role) => {
      const leader = group.serving()!;
      const victim = role === 'leader' ? leader : group.members.find((member) => member !== leader)!;
      victim.crashMachine();
      victim.postgres.disk.refusesSessions = true;
      await victim.start();
      await group.time.pass(20_000);
      expect(victim.replica!.status(0).state).toBe('databaseDown');
      await whole();
      expect(victim.postgres.disk).toMatchObject({ refusesSessions: false, setAside: 1 });
    },
  );

  it('stays where it is while nobody has a better one, and is tried again and again', async () => {
    for (const member of group.members) await restart(member, true);
    await group.time.pass(60_000);
    for (const { postgres, replica } of group.members) {
      expect(postgres.disk).toMatchObject({ isUnfit: true, setAside: 0, condemned: null });
      const { state, recovery, message } = replica!.status(0);
      expect([state, recovery?.cause]).toEqual(['restoring', 'databaseLost']);
      expect(message).toMatch(/attempts in a row to bring up the database have failed: PostgreSQL ended/);
    }
    for (const { postgres } of group.members) postgres.disk.isUnfit = false;
    await whole();
    expect(group.members.map(({ postgres }) => postgres.disk.setAside)).toEqual([0, 0, 0]);
  });

  it('is copied ever more seldom if copies do not help, and goes on by itself once they do', async () => {
    const victim = group.members.find((member) => member !== group.serving())!;
    victim.postgres.failingStarts = Number.POSITIVE_INFINITY;
    victim.crashMachine();
    await victim.start();
    await group.time.pass(20_000);
    const early = victim.postgres.disk.setAside;
    await group.time.pass(3 * 60_000);
    const later = victim.postgres.disk.setAside;
    expect([early, later]).toEqual([1, expect.toSatisfy((times: number) => times > 1 && times <= 4)]);
    const says = (): boolean => /did not help/.test(victim.replica!.status(0).message ?? '');
    expect(await group.time.passUntil(says, 60_000)).toBe(true);
    victim.postgres.failingStarts = 0;
    await whole();
  });
});
