/** Replicas in memory that are founded, join, and lose their disks. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TransactionPayload } from '../apply/effects.ts';
import type { ReplicaId } from '../multipaxos/types.ts';
import { foundedBy, MemoryMember } from './testing/memory-member.ts';
import { MemoryNetwork } from './testing/memory-network.ts';

const ids = ['r1', 'r2', 'r3'] as ReplicaId[];
let network: MemoryNetwork;
let members: MemoryMember[];

beforeEach(() => {
  network = new MemoryNetwork();
  members = ids.map((id) => new MemoryMember(id, ids, network));
});
afterEach(async () => {
  await Promise.all(members.map((member) => member.stop()));
  for (const { fatal } of members) if (fatal[0] !== undefined) throw fatal[0];
});

const leading = (): MemoryMember | undefined =>
  members.find(({ replica }) => replica?.service.service().kind === 'here');

async function execute(transaction: string): Promise<void> {
  await vi.waitFor(() => expect(leading()).toBeDefined(), { timeout: 5000 });
  const member = leading()!;
  const { service } = member.replica!;
  const payload: TransactionPayload = {
    transaction,
    part: 0,
    last: true,
    partSlots: [],
    effects: [],
    sql: [],
  };
  const outcome = await service.agree(
    (async function* one() {
      yield payload;
    })(),
    (service.service() as { generation: number }).generation,
  );
  if (outcome.code !== 'chosen') throw new Error(`${transaction}: ${outcome.code}`);
  member.database!.commitSession(outcome.slot, `${transaction}#0`);
  service.committed(outcome.slot);
}

async function healthy(applied: readonly string[]): Promise<void> {
  await vi.waitFor(
    () => {
      for (const member of members) {
        expect(member.status()).toMatchObject({ state: 'serving', recovery: null });
        expect(member.replica!.membership.isVoter()).toBe(true);
        expect(member.database!.contents.applied.toSorted()).toEqual(applied.toSorted());
      }
      const commitPoints = members.map((member) => member.status()!.commitPoint);
      expect(new Set(commitPoints).size).toBe(1);
    },
    { timeout: 8000 },
  );
}

/** One voter that lets in the others. */
async function grow(): Promise<void> {
  await members[0]!.found(foundedBy(ids.slice(0, 1), ids.slice(1)));
  for (const member of members) await member.start();
  await execute('a');
  await healthy(['a#0']);
  network.fetched.length = 0;
}

/** Why it says that it recovers, each once. */
function causesOf({ events }: MemoryMember): string[] {
  const causes = events.flatMap((event) =>
    event.name === 'RecoveryPhase' && event.progress !== null ? [event.progress.cause] : [],
  );
  return [...new Set(causes)];
}

describe('a group that is founded on one replica', () => {
  it('lets in the others, and makes them voters', async () => {
    await grow();
    expect(members.map((member) => member.status()!.incarnation)).toEqual([1, 1, 1]);
    expect(members.map(causesOf)).toEqual([[], ['noLog', 'new'], ['noLog', 'new']]);
    await execute('b');
    await healthy(['a#0', 'b#0']);
  });

  it('does not let in whom it does not expect', async () => {
    await members[0]!.found(foundedBy(ids.slice(0, 1), ids.slice(1, 2)));
    for (const member of members) await member.start();
    await vi.waitFor(() => expect(members[2]!.joining!.message).toMatch(/refuses.*barista members add r3/), {
      timeout: 5000,
    });
    expect(members[2]!.replica).toBeNull();
    await members[0]!.replica!.admin.members({
      action: 'add',
      replica: ids[2]!,
      address: { host: 'r3', port: 7003, pgwire: { host: 'r3', port: 7103 } },
    });
    await execute('a');
    await healthy(['a#0']);
    expect(members[2]!.status()!.incarnation).toBeGreaterThan(1);
    expect(causesOf(members[2]!)).toEqual(['noLog', 'new']);
  });

  it('is waited for by those that have nothing', async () => {
    await members[1]!.start();
    await members[2]!.start();
    await vi.waitFor(() => {
      expect(members[1]!.joining!.message).toMatch(/r3 has no log either.*barista init/);
    });
    expect(members[1]!.replica).toBeNull();
  });
});

describe('a replica that comes back', () => {
  it.each([
    ['log', 2, 0, ['logLost']],
    ['database', 1, 1, ['databaseLost']],
    ['both', 2, 1, ['noLog', 'bothLost']],
  ] as const)(
    'without its %s is incarnation %i, takes %i copies, and says %s',
    async (what, incarnation, copies, causes) => {
      await grow();
      const victim = members.find((member) => member !== leading())!;
      await victim.stop();
      victim.lose(what);
      await execute('while it was away');
      victim.events.length = 0;
      await victim.start();
      await execute('while it heals');
      await healthy(['a#0', 'while it was away#0', 'while it heals#0']);
      expect(causesOf(victim)).toEqual(causes);
      expect(victim.status()!.incarnation).toBe(incarnation);
      expect(network.fetched.length).toBe(copies);
    },
  );

  it('copies from a follower, and from the leader where that fails', async () => {
    await grow();
    const victim = members.find((member) => member !== leading())!;
    const follower = members.find((member) => member !== leading() && member !== victim)!;
    await victim.stop();
    victim.lose('database');
    follower.copiesBreak = true;
    await victim.start();
    await vi.waitFor(() => expect(network.fetched).toEqual([follower.id, leading()!.id]), { timeout: 5000 });
    await vi.waitFor(() => expect(victim.status()).toMatchObject({ state: 'serving', recovery: null }), {
      timeout: 5000,
    });
    const attempts = victim.events.flatMap((event) =>
      event.name === 'RecoveryPhase' && event.progress?.phase === 'copying' ? [event.progress.attempts] : [],
    );
    expect(attempts).toContain(2);
  });

  it('takes a copy when the others have purged what it lacks', async () => {
    await grow();
    const victim = members.find((member) => member !== leading())!;
    await victim.stop();
    await execute('b');
    await execute('c');
    // Their logs have outgrown their bound.
    const others = members.filter((member) => member !== victim);
    await vi.waitFor(
      () => {
        for (const member of others) member.pressLog(true);
        for (const member of others) {
          const { log, commitPoint } = member.status()!;
          expect(log.purgedTo).toBe(commitPoint);
        }
      },
      { timeout: 5000, interval: 100 },
    );
    for (const member of others) member.pressLog(false);
    await victim.start();
    await execute('d');
    await healthy(['a#0', 'b#0', 'c#0', 'd#0']);
    expect(network.fetched.length).toBe(1);
    expect(victim.setAside).toBe(1);
    expect(victim.status()!.log.purgedTo).toBeGreaterThan(1);
  });

  it('is told that the majority is lost when it is', async () => {
    await grow();
    for (const member of members.slice(1)) {
      await member.stop();
      member.lose('both');
      await member.start();
    }
    await vi.waitFor(() => expect(members[0]!.status()!.message).toMatch(/lost its majority: r2, r3/), {
      timeout: 5000,
    });
    await vi.waitFor(() => expect(members[1]!.joining!.message).toMatch(/lost its majority/), {
      timeout: 5000,
    });
    expect(members[0]!.status()!.state).toBe('noLeader');
  });
});

describe('a replica whose data differs', () => {
  it.each([
    ['at once', true],
    ['when it is started again', false],
  ] as const)(
    'is repaired %s from one that was found equal, and not from another that differs',
    async (_, repair) => {
      const five = ['r1', 'r2', 'r3', 'r4', 'r5'] as ReplicaId[];
      members = five.map((id) => new MemoryMember(id, five, network));
      for (const member of members) await member.found(foundedBy(five));
      for (const member of members) await member.start();
      await execute('a');
      await healthy(['a#0']);
      // The verdict has not reached the other one yet, which would be asked first.
      const [unaware, told] = members.filter((member) => member !== leading()) as [
        MemoryMember,
        MemoryMember,
      ];
      const equal = five.filter((id) => id !== unaware.id && id !== told.id);
      told.replica!.database.diverged({ reason: 'table a', equal }, repair);
      if (!repair) {
        await told.stop();
        await told.start();
      }
      await vi.waitFor(() => expect(told.setAside).toBe(1), { timeout: 5000 });
      expect(network.fetched).toHaveLength(1);
      expect(equal).toContain(network.fetched[0]);
      await healthy(['a#0']);
    },
  );
});

describe('the database of a replica', () => {
  it('that hangs is started again, also on a follower', async () => {
    await grow();
    const follower = members.find((member) => member !== leading())!;
    const { launches } = follower;
    follower.hangs = true;
    await vi.waitFor(() => expect(follower.launches).toBe(launches + 1), { timeout: 3000 });
    await execute('b');
    await healthy(['a#0', 'b#0']);
  });

  it('that is lost is made anew from its log by a replica that is alone', async () => {
    const [alone] = members as [MemoryMember];
    await alone.found(foundedBy([alone.id]));
    await alone.start();
    await execute('a');
    alone.replica!.database.diverged({ reason: 'table a' }, true);
    await vi.waitFor(() => expect(alone.setAside).toBe(1), { timeout: 5000 });
    await execute('b');
    expect(alone.database!.contents.applied).toEqual(expect.arrayContaining(['a#0', 'b#0']));
    expect(alone.database!.contents.applied).toHaveLength(2);
  });

  it('that is full is waited for and not started again', async () => {
    await grow();
    const follower = members.find((member) => member !== leading())!;
    const { launches } = follower;
    follower.failFull();
    await execute('b');
    await vi.waitFor(() => expect(follower.status()!.message).toMatch(/no space/));
    expect(follower.launches).toBe(launches);
  });
});
