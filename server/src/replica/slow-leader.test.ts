/** A leader with a slow disk, or far from its quorum, in a group in simulated time. */
import { afterEach, expect, it } from 'vitest';
import type { ReplicaConfigInput } from '../config/config-schema.ts';
import { MemoryClient } from './testing/memory-client.ts';
import { MemoryGroup } from './testing/memory-group.ts';
import type { MemoryMember } from './testing/memory-member.ts';

const secondsMs = 1000;
const sickMs = 2000;

let group: MemoryGroup;
const load = { isOver: false };

async function begin(config: Partial<ReplicaConfigInput> = {}): Promise<MemoryGroup> {
  group = new MemoryGroup({ replicas: 3, seed: 5, config });
  await group.begin();
  load.isOver = false;
  for (const key of ['a', 'b']) void write(new MemoryClient(group), key);
  // Long enough to know how fast everybody is, and for the leader to count as settled.
  await group.time.pass(40 * secondsMs);
  return group;
}

let done = 0;
async function write(client: MemoryClient, key: string): Promise<void> {
  while (!load.isOver) {
    const end = await client.transact({ reads: [], writes: [{ key, value: `${done}` }] });
    if (end.kind === 'done') done += 1;
    await new Promise<void>((resolve) => group.time.after(100, resolve));
  }
}

/** What is done meanwhile. */
async function doneIn(ms: number): Promise<number> {
  const before = done;
  await group.time.pass(ms);
  return done - before;
}

const leader = (): MemoryMember => group.members.find(({ replica }) => replica?.status(0).role === 'leader')!;
const moves = (): number =>
  group.members.reduce((sum, { replica }) => sum + (replica?.measures().slowHandOvers.done ?? 0), 0);
const attempts = (): number =>
  group.members.reduce(
    (sum, { replica }) =>
      sum + Object.values(replica?.measures().slowHandOvers ?? {}).reduce((all, each) => all + each, 0),
    0,
  );

function setDisk({ logDisk, postgres }: MemoryMember, delayMs: number): void {
  logDisk.delayMs = delayMs;
  postgres.flushDelayMs = delayMs;
}

afterEach(async () => {
  load.isOver = true;
  await group.time.pass(20 * secondsMs);
  await group.stop();
});

it.each([{ ms: sickMs }, { ms: 3 * sickMs }])(
  'hands over once from a disk that flushes for $ms ms to one that is well, and the group is as fast as before',
  async ({ ms }) => {
    await begin();
    const sick = leader();
    const well = await doneIn(5 * secondsMs);
    setDisk(sick, ms);
    expect(await doneIn(3 * secondsMs)).toBeLessThan(well / 4);
    expect(await group.time.passUntil(() => moves() === 1, 60 * secondsMs)).toBe(true);
    expect(leader()).not.toBe(sick);
    await group.time.pass(5 * secondsMs);
    expect(await doneIn(5 * secondsMs)).toBeGreaterThan(well / 2);
    await group.time.pass(60 * secondsMs);
    expect([attempts(), leader() === sick]).toEqual([1, false]);
  },
);

it('says why: of the leader before it moves, and of the follower with the slow disk afterwards', async () => {
  await begin({ slowLeader: 'stay' });
  const sick = leader();
  setDisk(sick, sickMs);
  await group.time.pass(20 * secondsMs);
  const { state, message, pace } = sick.replica!.status(0);
  expect([state, message]).toEqual([
    'serving',
    expect.stringMatching(/^Commits are slow at this replica: a flush of the log/),
  ]);
  expect(pace!.logMs).toBeGreaterThan(200);
  expect(pace!.databaseMs).toBeGreaterThan(200);
  expect([attempts(), leader()]).toEqual([0, sick]);
});

it('stays where all disks are slow', async () => {
  await begin();
  const before = leader();
  for (const member of group.members) setDisk(member, sickMs);
  await group.time.pass(60 * secondsMs);
  expect(attempts()).toBe(0);
  for (const member of group.members) setDisk(member, 0);
  await group.time.pass(10 * secondsMs);
  expect(leader()).toBe(before);
});

it('stays for a short stall, and for a disk that is merely slower than others', async () => {
  await begin();
  const before = leader();
  setDisk(before, sickMs);
  await group.time.pass(2 * secondsMs);
  setDisk(before, 0);
  await group.time.pass(30 * secondsMs);
  setDisk(before, 100);
  await group.time.pass(60 * secondsMs);
  expect([attempts(), leader()]).toEqual([0, before]);
});

it('hands over from a leader that is far from both others to one of them', async () => {
  await begin();
  const far = leader();
  const others = group.members.filter((member) => member !== far);
  for (const { id } of others) {
    for (const [from, to] of [
      [far.id, id],
      [id, far.id],
    ] as const)
      group
        .member(from)
        .process!.transport.setFault({ from, to, cut: false, delayMs: 150, drop: 0, duplicate: 0 });
  }
  expect(await group.time.passUntil(() => moves() === 1, 60 * secondsMs)).toBe(true);
  expect(leader()).not.toBe(far);
  await group.time.pass(40 * secondsMs);
  expect(attempts()).toBe(1);
});
