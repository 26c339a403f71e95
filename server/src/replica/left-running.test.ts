/** A leader whose process dies and leaves its PostgreSQL standing still: what that would still write must not lie behind what is judged. */
import { expect, it } from 'vitest';
import { MemoryGroup } from './testing/memory-group.ts';

it('the PostgreSQL that a process before this one left has ended before its directory is judged', async () => {
  let judged = '';
  const judgedBesideARunningOne: boolean[] = [];
  const group = new MemoryGroup({
    replicas: 3,
    seed: 7,
    onEvent: (member, event) => {
      if (event.layer === 'apply' && event.name === 'CheckPrefix' && member === judged)
        judgedBesideARunningOne.push(group.member(member).postgres.run !== null);
    },
  });

  await group.begin();
  const old = group.serving()!;
  judged = old.id;
  old.postgres.stand('stopped');
  old.crash();
  void old.start();
  expect(await group.time.passUntil(() => judgedBesideARunningOne.length > 0, 30_000)).toBe(true);
  await group.healthy(60_000);
  expect(new Set(judgedBesideARunningOne)).toEqual(new Set([false]));
  expect(group.troubles).toEqual([]);
  await group.stop();
});
