/** What a replica does again and again while clients write must not be done for each of their commits. */
import { expect, it, vi } from 'vitest';
import { MemoryClient } from './testing/memory-client.ts';
import { MemoryGroup } from './testing/memory-group.ts';

it('neither asks a standby how far it is nor looks whether PostgreSQL moves for every commit', async () => {
  const group = new MemoryGroup({ replicas: 3, seed: 11 });
  await group.begin();
  const leader = group.serving()!;
  const looks = vi.spyOn(leader.process!.server, 'isMoving');
  const followers = group.members.filter((member) => member !== leader);
  const asks = followers.map(({ postgres }) => vi.spyOn(postgres.run!.feed!, 'ask'));
  const client = new MemoryClient(group);
  const beganMs = group.time.nowMs();
  const commits = 200;
  for (let n = 0; n < commits; n++) {
    const write = { key: 'k', value: `${n}` };
    expect((await group.time.until(client.transact({ reads: [], writes: [write] }))).kind).toBe('done');
  }
  const tookMs = group.time.nowMs() - beganMs;
  // So many are due by time alone (`pingMs` 250, `askMs` 200), and there are more commits than that.
  const due = Math.ceil(tookMs / 200) + 1;
  expect(due).toBeLessThan(commits / 2);
  expect(looks.mock.calls.length).toBeLessThanOrEqual(due);
  for (const asked of asks) expect(asked.mock.calls.length).toBeLessThanOrEqual(due);
  await group.equal();
  await group.stop();
});
