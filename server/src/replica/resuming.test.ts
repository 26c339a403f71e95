/** A leader that was deposed with WAL beyond the chosen one, while nobody else has a database that could lead. */
import { expect, it } from 'vitest';
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
