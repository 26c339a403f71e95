/** A follower whose PostgreSQL stands still must not be the one that leads next: it could not be promoted. One that has nothing to do may be. */
import { expect, it } from 'vitest';
import { MemoryGroup } from './testing/memory-group.ts';

it('a follower whose PostgreSQL stands still says so, and follows again when that goes on', async () => {
  const group = new MemoryGroup({ replicas: 3, seed: 5 });
  await group.begin();
  const victim = group.members.find((member) => member !== group.serving())!;
  const state = (): unknown => victim.replica!.status(0);
  victim.postgres.stand('stopped');
  await group.time.pass(3_000);
  expect(state()).toMatchObject({
    state: 'databaseDown',
    message: expect.stringContaining('main process is stopped'),
  });
  victim.postgres.goOn();
  await group.time.pass(3_000);
  expect(state()).toMatchObject({ state: 'serving', message: null });
  await group.stop();
});

it('a standby that has had nothing to replay for long is not taken for one that stands still when its replica is to lead', async () => {
  const group = new MemoryGroup({ replicas: 1, seed: 5 });
  await group.begin();
  group.serving()!.postgres.killMain();
  expect(await group.time.passUntil(() => group.serving() === null, 5_000)).toBe(true);
  expect(await group.time.passUntil(() => group.serving() !== null, 20_000)).toBe(true);
  await group.stop();
});
