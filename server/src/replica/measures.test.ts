/** What replicas measure of themselves and of each other, in a group in simulated time. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { PeerLag, ReplicaMeasures } from '../api/measures.ts';
import { MemoryClient } from './testing/memory-client.ts';
import { MemoryGroup } from './testing/memory-group.ts';
import type { MemoryMember } from './testing/memory-member.ts';

let group: MemoryGroup;
let client: MemoryClient;

beforeEach(async () => {
  group = new MemoryGroup({ replicas: 3, seed: 3 });
  client = new MemoryClient(group);
  await group.begin();
});
afterEach(() => group.stop());

const measures = ({ replica }: MemoryMember): ReplicaMeasures => replica!.measures();
const leader = (): MemoryMember => group.serving()!;
const followers = (): MemoryMember[] => group.members.filter((member) => member !== leader());

async function write(times: number): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    const end = await group.time.until(client.transact({ reads: [], writes: [{ key: 'k', value: `${n}` }] }));
    expect(end.kind).toBe('done');
  }
}

/** As the leader sees it. */
const lagOf = (member: MemoryMember): PeerLag | undefined =>
  measures(leader()).peers.find((peer) => peer.member === member.id);

it('a leader knows how far the others are, and that one which is cut off says nothing and falls behind', async () => {
  await write(5);
  await group.time.pass(1000);
  const [away, other] = followers() as [MemoryMember, MemoryMember];
  expect(
    measures(leader())
      .peers.map(({ member }) => member)
      .toSorted(),
  ).toEqual(
    followers()
      .map(({ id }) => id)
      .toSorted(),
  );
  expect(lagOf(away)).toMatchObject({ behindSlots: 0, behindBytes: 0 });
  expect(lagOf(away)!.silentMs).toBeLessThan(1000);
  const before = lagOf(away)!.databaseBehindSlots!;
  group.network.isolate(away.id, group.ids);
  await write(20);
  await group.time.pass(3000);
  const cut = lagOf(away)!;
  expect(cut.silentMs).toBeGreaterThan(2500);
  expect(cut.behindSlots).toBeGreaterThanOrEqual(20);
  expect(cut.behindBytes).toBeGreaterThan(500);
  expect(cut.databaseBehindSlots).toBeGreaterThanOrEqual(before + 20);
  expect(lagOf(other)).toMatchObject({ behindSlots: 0 });
  group.network.heal();
  await group.healthy(60_000);
  await group.time.pass(3000);
  expect(lagOf(away)).toMatchObject({ behindSlots: 0, behindBytes: 0 });
});

it('only a leader tells of peers and of a wait for choice, and only a standby of how far it is', async () => {
  await write(3);
  await group.time.pass(3000);
  const caughtUp = { receivedBehindBytes: 0, flushedBehindBytes: 0 };
  for (const follower of followers())
    expect(measures(follower)).toMatchObject({ peers: [], standby: caughtUp, choiceWaitMs: 0 });
  expect(measures(leader())).toMatchObject({ standby: null, choiceWaitMs: 0 });
});

it('while no majority is reached, what a leader has proposed waits longer and longer', async () => {
  const alone = leader();
  group.network.isolate(alone.id, group.ids);
  void client.transact({ reads: [], writes: [{ key: 'k', value: 'not chosen' }] });
  await group.time.passUntil(() => measures(alone).choiceWaitMs > 0, 1000);
  const early = measures(alone).choiceWaitMs;
  await group.time.pass(200);
  expect(measures(alone).choiceWaitMs).toBeGreaterThanOrEqual(early + 150);
  await group.time.passUntil(() => alone.replica!.status(0).role === 'follower', 10_000);
  expect(measures(alone)).toMatchObject({ choiceWaitMs: 0, peers: [] });
  expect(measures(alone).elections.leadershipsEnded.quorumLost).toBe(1);
  group.network.heal();
  await group.healthy(60_000);
});

it('elections and hand-overs are counted where they happen', async () => {
  const first = leader();
  expect(measures(first).elections).toMatchObject({ started: 1, won: 1 });
  // Who has just begun may not stand.
  await group.time.pass(5000);
  const outcome = await group.time.until(first.replica!.handingOver.run({ to: null, transactionMs: 500 }));
  expect(outcome).toMatchObject({ code: 'done' });
  await group.healthy(30_000);
  const second = leader();
  expect(second).not.toBe(first);
  expect(measures(first).handOvers).toMatchObject({ done: 1, timedOut: 0 });
  expect(measures(first).elections.leadershipsEnded).toMatchObject({ handedOver: 1 });
  expect(measures(second).elections).toMatchObject({ started: 1, won: 1 });
});

it('a leader whose groups adapt has an interval that follows from what it and the others take', async () => {
  await group.stop();
  group = new MemoryGroup({
    replicas: 3,
    seed: 3,
    config: { groupCommit: { kind: 'adaptive', firstMs: 200 } },
  });
  client = new MemoryClient(group);
  await group.begin();
  expect(measures(leader()).groupIntervalMs).toBeLessThanOrEqual(200);
  await write(20);
  const { groupIntervalMs } = measures(leader());
  expect(groupIntervalMs).toBeGreaterThan(0);
  expect(groupIntervalMs).toBeLessThan(50);
  for (const follower of followers()) expect(measures(follower).groupIntervalMs).toBeNull();
});
