/** A replica whose log lacks more than it may vote beyond, and which can have that only as a copy of the leader's database. */
import { describe, expect, it } from 'vitest';
import { MemoryClient } from './testing/memory-client.ts';
import { MemoryGroup } from './testing/memory-group.ts';
import type { MemoryMember } from './testing/memory-member.ts';

const windowSlotsMax = 4;
/** Of the bound of a log. */
const near = 0.95;

async function writeMuch(group: MemoryGroup, prefix: string): Promise<void> {
  const client = new MemoryClient(group);
  for (let n = 0; n < 10 * windowSlotsMax; n++) {
    const write = { key: 'k', value: `${prefix} ${n}` };
    expect((await group.time.until(client.transact({ reads: [], writes: [write] }))).kind).toBe('done');
  }
}

/** Its log nears its bound, and lets go of all that its own PostgreSQL has, but for the last two windows; those go, too, if the bound is passed. */
async function purge(group: MemoryGroup, member: MemoryMember, share: number): Promise<void> {
  const purgedTo = (): number => member.process!.log!.stats().purgedTo;
  const before = purgedTo();
  member.logBytesSaid = share * member.logBytesMax;
  expect(await group.time.passUntil(() => purgedTo() > before + 4 * windowSlotsMax, 20_000)).toBe(true);
  member.logBytesSaid = null;
}

/** One is away while the logs of the others let go of what it needs. */
async function leaveBehind(group: MemoryGroup, share: number) {
  await group.begin();
  const leader = group.serving()!;
  const [behind, third] = group.members.filter((member) => member !== leader) as [MemoryMember, MemoryMember];
  behind.crash();
  await writeMuch(group, 'while it was away');
  for (const member of [leader, third]) await purge(group, member, share);
  return { leader, behind, third };
}

/** The third machine is lost, and the leader has what is not chosen: it does not serve any more when the first comes back. */
async function leaveTwo(group: MemoryGroup, share: number): Promise<void> {
  const { leader, behind, third } = await leaveBehind(group, share);
  third.crashMachine();
  const session = await group.time.until(leader.process!.server.connect());
  await group.time.until(session.ask({ kind: 'append', key: 'k', value: 'unchosen' }));
  session.ask({ kind: 'commit' }).catch(() => undefined);
  await group.time.pass(10_000);
  expect(group.serving()).toBeNull();
  await behind.start();
}

const wide = { replicas: 3, seed: 5 };
const narrow = { ...wide, config: { bounds: { windowSlotsMax } } };

const servesAgain = (group: MemoryGroup): Promise<boolean> =>
  group.time.passUntil(() => group.serving() !== null, 60_000);

describe('a group of which two are left, one far behind', () => {
  it('serves, though the leader has what is not chosen', { timeout: 60_000 }, async () => {
    const group = new MemoryGroup(narrow);
    await leaveTwo(group, near);
    expect(await servesAgain(group)).toBe(true);
    expect(group.troubles).toEqual([]);
  });

  it('serves where that is within two windows, and has been let go of', { timeout: 60_000 }, async () => {
    const group = new MemoryGroup(wide);
    await leaveTwo(group, 1);
    expect(await servesAgain(group)).toBe(true);
    expect(group.troubles).toEqual([]);
  });

  it('serves while the leader is copied, and has two databases in the end', { timeout: 60_000 }, async () => {
    const group = new MemoryGroup(narrow);
    const { leader, behind, third } = await leaveBehind(group, near);
    let answered = 0;
    let asked = 0;
    const write = async (client: MemoryClient): Promise<void> => {
      asked += 1;
      const { kind } = await client.transact({ reads: [], writes: [{ key: 'k', value: `later ${asked}` }] });
      if (kind === 'done') answered += 1;
    };
    // Whenever its pages have been copied, some of what they hold is not chosen yet.
    for (let n = 0; n < 3; n += 1) {
      const client = new MemoryClient(group);
      group.time.every(20, () => void write(client));
    }
    await behind.start();
    const isBeingCopied = (): boolean => behind.replica?.status(0).recovery?.phase === 'copying';
    expect(await group.time.passUntil(isBeingCopied, 20_000)).toBe(true);
    third.crashMachine();
    const before = asked;
    expect(await group.time.passUntil(() => answered > before + 100, 30_000)).toBe(true);
    const isWhole = (): boolean => behind.replica?.status(0).state === 'serving' && !isBeingCopied();
    expect(await group.time.passUntil(isWhole, 30_000)).toBe(true);
    expect(group.serving()).toBe(leader);
    expect(group.troubles).toEqual([]);
  });
});
