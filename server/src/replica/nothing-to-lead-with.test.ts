/** Replicas that have no database, and are elected all the same: the only one that has WAL can go on with it when it leads, and not before. */
import { expect, it } from 'vitest';
import { MemoryGroup } from './testing/memory-group.ts';

/** Leaders are missed sooner than a replica looks whether it may lead. */
const timings = {
  heartbeatMs: 40,
  retransmitMs: 60,
  leaseMs: 200,
  electionTimeoutMinMs: 210,
  electionTimeoutMaxMs: 300,
};

it.each([1, 2, 3, 4])('give up, so that one leads that has a database (seed %i)', async (seed) => {
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
  const isLed = (): boolean => others.some(({ replica }) => replica?.status(0).role === 'leader');
  expect(await group.time.passUntil(isLed, 20_000)).toBe(true);
  await leader.start();
  await group.healthy(20_000);
  await group.equal();
  await group.stop();
});
