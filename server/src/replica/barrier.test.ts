/** Barriers of a leader (commits of its own, behind which answers wait) that its PostgreSQL does not wait for, or cannot make. */
import { expect, it } from 'vitest';
import type { TraceEvent } from '../api/events.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { MemoryGroup } from './testing/memory-group.ts';
import type { MemoryMember } from './testing/memory-member.ts';

async function begin(
  onEvent?: (member: ReplicaId, event: TraceEvent) => void,
): Promise<{ group: MemoryGroup; leader: MemoryMember; others: readonly ReplicaId[] }> {
  const group = new MemoryGroup({ replicas: 3, seed: 5, ...(onEvent === undefined ? {} : { onEvent }) });
  await group.begin();
  const leader = group.serving()!;
  const others = group.ids.filter((id) => id !== leader.id);
  return { group, leader, others };
}

it.each(['cancel', 'terminate'] as const)(
  'is passed when it is chosen, and not when an operator ends its wait: %s',
  async (how) => {
    const { group, leader, others } = await begin();
    const { payload } = leader.process!.assembled!;
    const { sessions } = leader.postgres.run!.primary!;
    group.network.isolate(leader.id, others);
    let state = 'waiting';
    void payload.barrier().then(
      () => (state = 'passed'),
      () => (state = 'failed'),
    );
    const isWaiting = (): boolean => [...sessions.values()].some((session) => session.isWaiting);
    expect(await group.time.passUntil(isWaiting, 1_000)).toBe(true);
    for (const session of sessions.values())
      if (how === 'cancel') session.cancel();
      else session.terminate(true);
    await group.time.pass(50);
    expect([state, sessions.size]).toEqual(['waiting', 0]);

    group.network.heal();
    expect(await group.time.passUntil(() => state !== 'waiting', 2_000)).toBe(true);
    expect([state, group.serving()]).toEqual(['passed', leader]);
    await group.stop();
  },
);

it('is made again when its session was terminated: a new leader comes to serve', async () => {
  const { group, leader } = await begin();
  for (const { postgres } of group.members) postgres.failingBarriers = 3;
  leader.crash();
  expect(await group.time.passUntil(() => group.serving() !== null, 5_000)).toBe(true);
  expect(group.serving()!.postgres.failingBarriers).toBe(0);
  await leader.start();
  await group.healthy(30_000);
  await group.stop();
});

it('makes a leader hand over that cannot make any, and say why', async () => {
  const reasons: string[] = [];
  const { group, leader } = await begin((_, event) => {
    if (event.name === 'Depose') reasons.push(event.reason);
  });
  const [one, other] = group.members.filter((member) => member !== leader);
  for (const { postgres } of group.members) postgres.failingBarriers = Number.POSITIVE_INFINITY;
  leader.crash();
  await group.time.pass(5_000);
  const unserving = [one!, other!].find(({ postgres }) => (postgres.run?.primary ?? null) !== null)!;
  expect(group.serving()).toBeNull();
  const healthy = unserving === one ? other! : one!;
  healthy.postgres.failingBarriers = 0;

  expect(await group.time.passUntil(() => group.serving() === healthy, 30_000)).toBe(true);
  expect(reasons).toContainEqual(
    expect.stringMatching(
      /has made no barrier for \d+ ms: terminating connection due to administrator command$/,
    ),
  );
  unserving.postgres.failingBarriers = 0;
  leader.postgres.failingBarriers = 0;
  await leader.start();
  await group.healthy(30_000);
  await group.equal();
  await group.stop();
});
