/** The WAL passes from one file of 16 MB to the next while clients write: with all replicas there, with one that was away meanwhile, and under the leader that comes next. */
import { expect, it } from 'vitest';
import { segmentBytes, segmentStart, type Lsn } from '../wal/lsn.ts';
import { MemoryClient } from './testing/memory-client.ts';
import { MemoryGroup } from './testing/memory-group.ts';
import type { MemoryMember } from './testing/memory-member.ts';

const fillerBytes = 512 * 1024;
/** Commits are to pass the end, not what fills the file up to there. */
const leftBytes = 8 * 1024;

const endOf = (leader: MemoryMember): Lsn => leader.postgres.run!.primary!.writer.end;

/** The leader's file is nearly full. */
async function fill(group: MemoryGroup, leader: MemoryMember): Promise<void> {
  const nextSegment = segmentStart(endOf(leader)) + segmentBytes;
  for (;;) {
    const bytes = Math.min(fillerBytes, nextSegment - leftBytes - endOf(leader));
    if (bytes < 1024) return;
    // Headers of pages come to it.
    leader.postgres.run!.primary!.writer.insert({ kind: 'filler', bytes: Math.floor(bytes * 0.98) });
    await write(group, 1);
  }
}

async function write(group: MemoryGroup, count: number): Promise<void> {
  const client = new MemoryClient(group);
  for (let n = 0; n < count; n += 1) {
    const transaction = { reads: [], writes: [{ key: 'k', value: `${n}` }] };
    expect((await group.time.until(client.transact(transaction))).kind).toBe('done');
  }
}

async function passEnd(group: MemoryGroup, leader: MemoryMember): Promise<void> {
  const segment = segmentStart(endOf(leader));
  while (segmentStart(endOf(leader)) === segment) await write(group, 10);
  await write(group, 10);
}

it('goes on in the next file', async () => {
  const group = new MemoryGroup({ replicas: 3, seed: 5 });
  await group.begin();
  const leader = group.serving()!;
  await fill(group, leader);
  await passEnd(group, leader);
  await group.equal();

  const away = group.members.find((member) => member !== leader)!;
  await fill(group, leader);
  away.crashMachine();
  await passEnd(group, leader);
  await away.start();
  await group.healthy(60_000);
  await group.equal();

  leader.crash();
  expect(await group.time.passUntil(() => group.serving() !== null, 60_000)).toBe(true);
  await write(group, 10);
  await leader.start();
  await group.healthy(60_000);
  await fill(group, group.serving()!);
  await passEnd(group, group.serving()!);
  await group.equal();
  expect(group.troubles).toEqual([]);
  await group.stop();
});
