/** Replicas in memory that are founded, join, and lose their disks. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TraceEvent } from '../api/events.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { addressOf, foundedBy } from './testing/configurations.ts';
import { MemoryClient } from './testing/memory-client.ts';
import { MemoryGroup } from './testing/memory-group.ts';
import type { MemoryMember } from './testing/memory-member.ts';

const ids = ['r1', 'r2', 'r3'] as ReplicaId[];
let group: MemoryGroup;
let client: MemoryClient;
let events: (readonly [ReplicaId, TraceEvent])[];
let written: string[];

beforeEach(() => {
  events = [];
  written = [];
  group = new MemoryGroup({ replicas: 3, seed: 1, onEvent: (id, event) => events.push([id, event]) });
  client = new MemoryClient(group);
});
afterEach(() => group.stop());

async function write(value: string): Promise<void> {
  expect(await group.time.passUntil(() => group.serving() !== null, 20_000)).toBe(true);
  const end = await group.time.until(client.transact({ reads: [], writes: [{ key: 'k', value }] }));
  expect(end.kind).toBe('done');
  written.push(value);
}

/** Everybody votes, serves or is served by a standby, and has what was written, in its order. */
async function healthy(): Promise<void> {
  await group.healthy(60_000);
  await group.equal();
  for (const { process } of group.members)
    expect(await group.time.until(process!.server.read(['k']))).toEqual([written]);
}

function follower(): MemoryMember {
  return group.members.find(({ replica }) => replica?.service.service().kind !== 'here')!;
}

/** Why it says that it recovers, each once. */
function causesOf({ id }: MemoryMember): string[] {
  const causes = events.flatMap(([of, event]) =>
    of === id && event.name === 'RecoveryPhase' && event.progress !== null ? [event.progress.cause] : [],
  );
  return [...new Set(causes)];
}

async function untilMessage({ process }: MemoryMember, text: RegExp): Promise<void> {
  const says = (): boolean => text.test(process!.joining?.message ?? '');
  expect(await group.time.passUntil(says, 20_000)).toBe(true);
}

describe('a group that is founded on one replica', () => {
  it('lets in the others, and makes them voters', async () => {
    await group.begin();
    expect(group.members.map(({ replica }) => replica!.status(0).incarnation)).toEqual([1, 1, 1]);
    expect(group.members.map(causesOf)).toEqual([[], ['noLog', 'new'], ['noLog', 'new']]);
    await write('a');
    await healthy();
  });

  it('does not let in whom it does not expect', async () => {
    const [first, , third] = group.members as [MemoryMember, MemoryMember, MemoryMember];
    await first.found(foundedBy(ids.slice(0, 1), ids.slice(1, 2)));
    for (const member of group.members) await member.start();
    await untilMessage(third, /refuses.*barista members add r3/);
    expect(third.replica).toBeNull();
    const added = await group.time.until(
      first.replica!.admin.members({ action: 'add', replica: third.id, address: addressOf(third.id) }),
    );
    expect(added.ok).toBe(true);
    await write('a');
    await healthy();
    expect(third.replica!.status(0).incarnation).toBeGreaterThan(1);
    expect(causesOf(third)).toEqual(['noLog', 'new']);
  });

  it('is waited for by those that have nothing', async () => {
    const [, second, third] = group.members as [MemoryMember, MemoryMember, MemoryMember];
    await second.start();
    await third.start();
    await untilMessage(second, /r3 has no log either.*barista init/);
    expect(second.replica).toBeNull();
  });
});

describe('a replica that comes back', () => {
  beforeEach(async () => {
    await group.begin();
    await write('a');
    group.network.copiesAsked.length = 0;
  });

  it.each([
    ['log', 2, 0, ['logLost']],
    ['database', 1, 1, ['databaseLost']],
    ['both', 2, 1, ['noLog', 'bothLost']],
  ] as const)(
    'without its %s is incarnation %i, takes %i copies, and says %s',
    async (what, incarnation, copies, causes) => {
      const victim = follower();
      await group.time.until(victim.stop());
      victim.lose(what);
      await write('while it was away');
      events = [];
      await victim.start();
      await write('while it heals');
      await healthy();
      expect(causesOf(victim)).toEqual(causes);
      expect(victim.replica!.status(0).incarnation).toBe(incarnation);
      expect(group.network.copiesAsked).toHaveLength(copies);
    },
  );

  it('after it met damage in its files while it followed takes a copy', async () => {
    const victim = follower();
    events = [];
    victim.postgres.die('PostgreSQL ended (exit code 1)', 'an invalid page');
    await write('while it heals');
    await healthy();
    expect(causesOf(victim)).toEqual(['databaseLost']);
    expect(group.network.copiesAsked).toHaveLength(1);
  });

  it('copies from a follower, and from the leader where that fails', async () => {
    const victim = follower();
    const leader = group.serving()!;
    const other = group.members.find((member) => member !== victim && member !== leader)!;
    await group.time.until(victim.stop());
    victim.lose('database');
    // It votes, and has nothing to give.
    other.postgres.failingStarts = 1000;
    other.postgres.die('somebody stopped it');
    await victim.start();
    const isDone = (): boolean =>
      group.network.copiesAsked.length > 1 && victim.replica?.status(0).recovery === null;
    expect(await group.time.passUntil(isDone, 60_000)).toBe(true);
    expect(group.network.copiesAsked.slice(0, 2)).toEqual([other.id, leader.id]);
    expect(victim.replica!.status(0).state).toBe('serving');
    other.postgres.failingStarts = 0;
    await healthy();
  });

  it('takes a copy when the others have purged what it lacks', async () => {
    const victim = follower();
    const lacks = victim.replica!.status(0).commitPoint;
    await group.time.until(victim.stop());
    // Whole segments of the log are purged.
    for (let n = 0; n < 60; n++) await write(`b${n}`);
    // Their logs have outgrown their bound.
    const others = group.members.filter((member) => member !== victim);
    for (const member of others) member.logBytesSaid = Number.MAX_SAFE_INTEGER;
    const purgedTo = ({ process }: MemoryMember): number => process!.log!.stats().purgedTo;
    const arePurged = (): boolean => others.every((member) => purgedTo(member) > lacks);
    expect(await group.time.passUntil(arePurged, 30_000)).toBe(true);
    for (const member of others) member.logBytesSaid = null;
    await victim.start();
    await write('d');
    await healthy();
    expect(group.network.copiesAsked).toHaveLength(1);
    // Blocks that are equal stay: nothing was wrong with its data.
    expect(victim.postgres.disk.setAside).toBe(0);
    expect(purgedTo(victim)).toBeGreaterThan(lacks);
  });

  it('is told that the majority is lost when it is', async () => {
    const [first, second, third] = group.members as [MemoryMember, MemoryMember, MemoryMember];
    for (const member of [second, third]) {
      await group.time.until(member.stop());
      member.lose('both');
    }
    for (const member of [second, third]) await member.start();
    const says = (): boolean => /lost its majority: r2, r3/.test(first.replica!.status(0).message ?? '');
    expect(await group.time.passUntil(says, 20_000)).toBe(true);
    await untilMessage(second, /lost its majority/);
    expect(first.replica!.status(0).state).toBe('noLeader');
  });
});
