import { expect, it } from 'vitest';
import { MemoryGroup } from './testing/memory-group.ts';

it('a copy that a crash has interrupted goes on with what is there: it is not given up for another one', async () => {
  const group = new MemoryGroup({ replicas: 3, seed: 3 });
  await group.begin();
  const victim = group.members.find((member) => member !== group.serving())!;
  victim.crash();
  victim.lose('database');
  await victim.start();
  const isHalf = (): boolean => victim.postgres.disk.state?.role.kind === 'copying';
  expect(await group.time.passUntil(isHalf, 20_000)).toBe(true);
  victim.crash();
  await victim.start();

  const isAgain = (): boolean => (victim.replica?.status(0).recovery?.bytes ?? 0) > 0;
  expect(await group.time.passUntil(isAgain, 20_000)).toBe(true);
  expect(await group.time.until(victim.process!.directory.condemned())).toBe(null);
  await group.healthy(60_000);
  await group.equal();
  expect(group.troubles).toEqual([]);
  await group.stop();
});
