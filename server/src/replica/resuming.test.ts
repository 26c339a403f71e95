/** Leaders that were deposed with WAL beyond the chosen one: what they take their own directories for. */
import { expect, it } from 'vitest';
import { pause } from '../payload/pause.ts';
import { MemoryGroup } from './testing/memory-group.ts';
import type { MemoryMember } from './testing/memory-member.ts';

/** Written by the leader's PostgreSQL, and chosen by nobody yet: the client is never answered. Returns the transaction's id. */
async function write(leader: MemoryMember, value: string): Promise<bigint> {
  const client = await leader.process!.server.connect();
  await client.ask({ kind: 'append', key: 'k', value });
  const { xid } = client;
  client.ask({ kind: 'commit' }).catch(() => undefined);
  return xid!;
}

/** Its PostgreSQL takes its time to end. */
function endsSlowly(member: MemoryMember, ms = 800): void {
  const { server, timers } = member.process!;
  const stop = server.stop.bind(server);
  server.stop = (mode) => pause(timers, ms).then(() => stop(mode));
}

it('leads again when the only database that has everything is its own', async () => {
  const group = new MemoryGroup({ replicas: 3, seed: 5 });
  await group.begin();
  const leader = group.serving()!;
  const others = group.members.filter((member) => member !== leader);

  for (const other of others) other.crash();
  const xid = await group.time.until(write(leader, 'unchosen'));
  const isDeposed = (): boolean =>
    leader.replica!.status(0).wal?.role === 'primary' && group.serving() === null;
  expect(await group.time.passUntil(isDeposed, 20_000)).toBe(true);
  for (const other of others) {
    other.lose('database');
    await other.start();
  }

  await group.healthy(60_000);
  expect(group.serving()).toBe(leader);
  expect(group.contents()[0]).toContainEqual(expect.stringMatching(new RegExp(`^${xid}@`)));
  await group.equal();
  expect(group.troubles).toEqual([]);
  await group.stop();
});

it('looks for the end of its own WAL, however far the others have come when it learns that it is deposed', async () => {
  const group = new MemoryGroup({ replicas: 3, seed: 5 });
  await group.begin();
  const old = group.serving()!;
  await group.time.until(write(old, 'unchosen'));
  endsSlowly(old);
  old.process!.timers.stop();

  const isReplaced = (): boolean =>
    group.members.some((member) => member !== old && member.replica!.service.service().kind === 'here');
  expect(await group.time.passUntil(isReplaced, 20_000)).toBe(true);
  old.process!.timers.goOn();

  await group.healthy(30_000);
  expect(group.serving()).not.toBe(old);
  await group.equal();
  expect(group.troubles).toEqual([]);
  await group.stop();
});

it('is no standby after it was stopped in order, if others went another way meanwhile', async () => {
  const group = new MemoryGroup({ replicas: 3, seed: 5 });
  await group.begin();
  const old = group.serving()!;
  const others = group.members.filter((member) => member !== old);
  group.network.isolate(
    old.id,
    others.map(({ id }) => id),
  );
  await group.time.until(write(old, 'unchosen'));
  endsSlowly(old, 5000);
  const ended = old.stop();
  const isReplaced = (): boolean =>
    others.some((member) => member.replica!.service.service().kind === 'here');
  expect(await group.time.passUntil(isReplaced, 20_000)).toBe(true);
  group.network.heal();
  await group.time.until(ended);

  await old.start();
  await group.healthy(30_000);
  await group.equal();
  expect(group.troubles).toEqual([]);
  await group.stop();
});
