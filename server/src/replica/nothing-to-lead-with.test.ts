/** Replicas that have no database, and wait for a copy: the only one that has WAL can go on with it when it leads, and not before. */
import { expect, it } from 'vitest';
import { MemoryGroup } from './testing/memory-group.ts';

/** Leaders are missed sooner than a replica looks whether something is wrong with it. */
const timings = {
  heartbeatMs: 40,
  retransmitMs: 60,
  leaseMs: 200,
  electionTimeoutMinMs: 210,
  electionTimeoutMaxMs: 300,
};

it.each([1, 2, 3, 4])('do not stand, so that one leads that has a database (seed %i)', async (seed) => {
  const group = new MemoryGroup({ replicas: 3, seed, config: { timings } });
  await group.begin();
  const leader = group.serving()!;
  const others = group.members.filter((member) => member !== leader);
  const { server } = leader.process!;
  for (const other of others) other.crashMachine();
  const session = await group.time.until(server.connect());
  await group.time.until(session.ask({ kind: 'append', key: 'k', value: 'unchosen' }));
  session.ask({ kind: 'commit' }).catch(() => undefined);
  await group.time.pass(1000);
  leader.crash();
  for (const other of others) {
    other.lose('database');
    await other.start();
  }
  // Each begins without knowing that it has none.
  await group.time.passUntil(
    () => others.every(({ replica }) => replica?.status(0).recovery?.phase === 'copying'),
    1000,
  );
  const isLed = (): boolean => others.some(({ replica }) => replica?.status(0).role !== 'follower');
  expect(await group.time.passUntil(isLed, 20_000)).toBe(false);
  await leader.start();
  await group.healthy(20_000);
  await group.equal();
  await group.stop();
});
