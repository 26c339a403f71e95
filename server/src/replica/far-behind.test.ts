/** A replica whose log lacks more than it may vote beyond, and which can have that only as a copy of the leader's database. */
import { describe, expect, it } from 'vitest';
import { MemoryClient } from './testing/memory-client.ts';
import { MemoryGroup } from './testing/memory-group.ts';
import type { MemoryMember } from './testing/memory-member.ts';

const windowSlotsMax = 4;
/** Of the bound of a log. */
const near = 0.85;

async function writeMuch(group: MemoryGroup, prefix: string): Promise<void> {
  const client = new MemoryClient(group);
  for (let n = 0; n < 10 * windowSlotsMax; n++) {
    const write = { key: 'k', value: `${prefix} ${n}` };
    expect((await group.time.until(client.transact({ reads: [], writes: [write] }))).kind).toBe('done');
  }
}

/** Its log nears its bound, and lets go of all that its own PostgreSQL has, but for the last two windows; those go, too, if it is very near. */
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

/** Whenever the leader's pages have been copied, some of what these wrote is not chosen yet. */
class Writers {
  /** What they were told to be done. */
  readonly answered = new Set<string>();
  private readonly group: MemoryGroup;
  private asked = 0;

  constructor(group: MemoryGroup) {
    this.group = group;
    for (let n = 0; n < 3; n += 1) {
      const client = new MemoryClient(group);
      group.time.every(20, () => void this.write(client));
    }
  }

  private async write(client: MemoryClient): Promise<void> {
    const value = `later ${this.asked}`;
    this.asked += 1;
    const { kind } = await client.transact({ reads: [], writes: [{ key: 'k', value }] });
    if (kind === 'done') this.answered.add(value);
  }

  /** True as soon as so many more are done. */
  goOn(count: number): Promise<boolean> {
    const { group, answered } = this;
    const enough = answered.size + count;
    return group.time.passUntil(() => answered.size >= enough, 30_000);
  }
}

const isBeingCopiedTo = (member: MemoryMember): boolean =>
  member.replica?.status(0).recovery?.phase === 'copying';

const wide = { replicas: 3, seed: 5 };
const narrow = { ...wide, config: { bounds: { windowSlotsMax } } };

const servesAgain = (group: MemoryGroup): Promise<boolean> =>
  group.time.passUntil(() => group.serving() !== null, 60_000);

describe('a group of which two are left, one far behind', () => {
  it('serves, though the leader has what is not chosen', async () => {
    const group = new MemoryGroup(narrow);
    await leaveTwo(group, near);
    expect(await servesAgain(group)).toBe(true);
    expect(group.troubles).toEqual([]);
  });

  it('serves where that is within two windows, and has been let go of', async () => {
    const group = new MemoryGroup(wide);
    await leaveTwo(group, 1);
    expect(await servesAgain(group)).toBe(true);
    expect(group.troubles).toEqual([]);
  });

  it('serves while the leader is copied, and has two databases in the end', async () => {
    const group = new MemoryGroup(narrow);
    const { leader, behind, third } = await leaveBehind(group, near);
    const writers = new Writers(group);
    await behind.start();
    expect(await group.time.passUntil(() => isBeingCopiedTo(behind), 20_000)).toBe(true);
    third.crashMachine();
    expect(await writers.goOn(100)).toBe(true);
    const isWhole = (): boolean => behind.replica?.status(0).state === 'serving' && !isBeingCopiedTo(behind);
    expect(await group.time.passUntil(isWhole, 30_000)).toBe(true);
    expect(group.serving()).toBe(leader);
    expect(group.troubles).toEqual([]);
  });

  it('has lost nothing when that leader is lost, too, and the third comes back instead', async () => {
    const group = new MemoryGroup(narrow);
    const { leader, behind, third } = await leaveBehind(group, near);
    const writers = new Writers(group);
    await behind.start();
    expect(await group.time.passUntil(() => isBeingCopiedTo(behind), 20_000)).toBe(true);
    third.crashMachine();
    // In two logs, of which one is without a database.
    expect(await writers.goOn(5)).toBe(true);
    expect(isBeingCopiedTo(behind)).toBe(true);
    leader.crashMachine();
    const answered = [...writers.answered];
    await group.time.pass(3000);
    await third.start();
    expect(await servesAgain(group)).toBe(true);
    expect(await writers.goOn(5)).toBe(true);
    const [list] = await group.time.until(group.serving()!.process!.server.read(['k']));
    expect(answered.filter((value) => !list!.includes(value))).toEqual([]);
    expect(group.troubles).toEqual([]);
  });
});
