/** A follower whose replay is paused, or whose PostgreSQL answers nothing, says so; paused replay resumes when the replica is to lead. */
import { expect, it } from 'vitest';
import { MemoryGroup } from './testing/memory-group.ts';

async function begun(): Promise<MemoryGroup> {
  const group = new MemoryGroup({ replicas: 3, seed: 5 });
  await group.begin();
  return group;
}

it('followers with paused replay say so, and one of them leads with replay resumed when the leader dies', async () => {
  const group = await begun();
  const leader = group.serving()!;
  const followers = group.members.filter((member) => member !== leader);
  for (const { postgres } of followers) postgres.run!.standby!.isPaused = true;
  await group.time.pass(3_000);
  for (const { replica } of followers)
    expect(replica!.status(0)).toMatchObject({
      state: 'recovering',
      message: expect.stringContaining('pg_wal_replay_pause()'),
    });
  leader.postgres.killMain();
  await group.time.passUntil(() => group.serving() === null, 5_000);
  expect(await group.time.passUntil(() => group.serving() !== null, 15_000)).toBe(true);
  await group.stop();
});

it('a follower whose PostgreSQL answers no query says so, does not lead, and serves again when it answers', async () => {
  const group = await begun();
  const victim = group.members.find((member) => member !== group.serving())!;
  const { run } = victim.postgres;
  run!.answers = false;
  await group.time.pass(10_000);
  expect(victim.replica!.status(0)).toMatchObject({
    state: 'databaseDown',
    message: expect.stringContaining('has not answered a query'),
  });
  group.serving()!.postgres.killMain();
  await group.time.passUntil(() => group.serving() === null, 5_000);
  expect(await group.time.passUntil(() => group.serving() !== null, 15_000)).toBe(true);
  expect(group.serving()).not.toBe(victim);
  run!.answers = true;
  await group.time.pass(15_000);
  expect(victim.replica!.status(0)).toMatchObject({ state: 'serving', message: null });
  await group.stop();
});
