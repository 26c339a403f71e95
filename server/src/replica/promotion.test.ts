/** What a standby must have before a primary is made of it. */
import { expect, it } from 'vitest';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import type { Lsn } from '../wal/lsn.ts';
import { MemoryGroup } from './testing/memory-group.ts';

it('no leadership is proposed before everything that is chosen is replayed, though all of it is there', async () => {
  const proposed: ReplicaId[] = [];
  const group = new MemoryGroup({
    replicas: 3,
    seed: 5,
    onEvent: (id, { name }) => {
      if (name === 'ProposeLeadership') proposed.push(id);
    },
  });
  await group.begin();
  const old = group.serving()!;
  const others = group.members.filter((member) => member !== old);
  let isBehind = true;
  for (const { process } of others) {
    const standby = process!.assembled!.payload.context.feed!;
    const look = standby.look.bind(standby);
    standby.look = async (givenUp) => {
      const seen = await look(givenUp);
      return isBehind ? { ...seen, replayed: (seen.replayed - 1) as Lsn } : seen;
    };
  }
  proposed.length = 0;
  old.crash();
  const isElected = (): boolean => others.some(({ replica }) => replica!.status(0).role === 'leader');
  expect(await group.time.passUntil(isElected, 10_000)).toBe(true);
  await group.time.pass(2_000);
  expect([isElected(), proposed]).toEqual([true, []]);
  const follower = (): string =>
    others.find(({ replica }) => replica!.status(0).role === 'follower')!.replica!.status(0).state;
  expect(follower()).toBe('recovering');

  isBehind = false;
  expect(await group.time.passUntil(() => group.serving() !== null, 1_000)).toBe(true);
  expect(proposed).toEqual([group.serving()!.id]);
  expect(await group.time.passUntil(() => follower() === 'serving', 1_000)).toBe(true);
  await old.start();
  await group.healthy(30_000);
  await group.equal();
  await group.stop();
});

it('an operator who has another replica lead hears when that one serves, and that one which cannot be promoted does not', async () => {
  const group = new MemoryGroup({ replicas: 3, seed: 6 });
  await group.begin();
  // Who has just begun may not stand.
  await group.time.pass(5_000);
  const transfer = (from: NonNullable<ReturnType<typeof group.serving>>) =>
    group.time.until(from.replica!.admin.transferLeadership({ to: null, transactionMs: 100 }));
  const first = group.serving()!;
  const answer = await transfer(first);
  const second = group.serving()!;
  expect(second).not.toBe(first);
  expect(answer).toMatchObject({ ok: true, answer: { leader: second.id } });

  await group.healthy(30_000);
  await group.time.pass(5_000);
  let isBehind = true;
  for (const { process } of group.members.filter((member) => member !== second)) {
    const standby = process!.assembled!.payload.context.feed!;
    const look = standby.look.bind(standby);
    standby.look = async (givenUp) => {
      const seen = await look(givenUp);
      return isBehind ? { ...seen, replayed: (seen.replayed - 1) as Lsn } : seen;
    };
  }
  const refusal = await transfer(second);
  const { id } = second;
  expect(refusal).toEqual({
    ok: false,
    error: {
      code: 'timedOut',
      message: expect.stringMatching(
        `^r\\d was elected, did not come to serve clients, and leads no more: ${id} leads, and serves them.$`,
      ) as string,
    },
  });
  isBehind = false;
  await group.healthy(30_000);
  await group.equal();
  await group.stop();
});
