/** Facts about a standby: it has what it was fed and nothing else, and says how far it is. */
import { expect, it } from 'vitest';
import { walPageBytes, type Lsn } from '../../../wal/lsn.ts';
import type { ContractContext, TestGroup } from '../database-server-contract.ts';
import { pass, until } from '../database-fixture.ts';
import type { FedStandby } from '../database-fixture.ts';

export async function putAndCommit(
  { primary }: Pick<TestGroup, 'primary'>,
  ...values: readonly string[]
): Promise<void> {
  const session = await primary.connect();
  for (const value of values) {
    await session.put(value);
    await session.commit();
  }
  session.close();
}

export async function valuesOf(standby: FedStandby): Promise<readonly string[]> {
  const found: (readonly string[])[] = [];
  // It lets nobody in before it makes sense.
  await until(standby.fixture.timers, async () => {
    const session = await standby.fixture.connect().catch(() => null);
    const values = await session?.values().catch(() => null);
    session?.close();
    if (values !== undefined && values !== null) found.push(values);
    return found.length > 0;
  });
  return found[0]!;
}

export function standbyFacts({ group: open }: ContractContext): void {
  it('a standby replays what it is fed, and reports it', async () => {
    const group = await open(2);
    group.primary.chooseAlways();
    await putAndCommit(group, 'a', 'b');
    const { end } = group.log.position;
    for (const standby of group.standbys) {
      await standby.untilReplayed(end);
      expect(standby.standby.streaming).toBe(true);
      expect(await valuesOf(standby)).toEqual(['a', 'b']);
      // PostgreSQL writes WAL by itself, too.
      expect((await standby.look()).replayed).toBeGreaterThanOrEqual(end);
      // What it has written begins anew with each connection, and may be said to be less than what is flushed.
      for (const { written, flushed, replayed } of standby.reports) {
        expect(replayed).toBeLessThanOrEqual(flushed);
        expect(Math.max(flushed, written)).toBeLessThanOrEqual(group.log.position.end);
      }
    }
  });

  it('a standby is never beyond what it was fed, nor does it say so', async () => {
    const group = await open(1);
    const [standby] = group.standbys as [FedStandby];
    group.primary.chooseAlways();
    await putAndCommit(group, 'a');
    const limit = group.log.position.end;
    standby.limit = limit;
    await standby.untilReplayed(limit);
    await putAndCommit(group, 'b');
    standby.standby.more();
    await pass(standby.fixture.timers, 200);
    standby.standby.ask();
    await pass(standby.fixture.timers, 100);
    expect(await valuesOf(standby)).toEqual(['a']);
    expect((await standby.look()).replayed).toBe(limit);
    for (const { written, flushed } of standby.reports)
      expect(Math.max(flushed, written)).toBeLessThanOrEqual(limit);
    standby.limit = null;
    standby.standby.more();
    await standby.untilReplayed(group.log.position.end);
    expect(await valuesOf(standby)).toEqual(['a', 'b']);
  });

  it('part of a record is written and flushed, and not replayed', async () => {
    const group = await open(1);
    const [standby] = group.standbys as [FedStandby];
    group.primary.chooseAlways();
    await putAndCommit(group, 'a');
    await standby.untilReplayed(group.log.position.end);
    const { replayed: before } = await standby.look();
    standby.limit = before;
    await putAndCommit(group, 'x'.repeat(3 * walPageBytes));
    // At the end of the first page on which nothing but that record is.
    const page = (Math.ceil(before / walPageBytes) * walPageBytes + walPageBytes) as Lsn;
    standby.limit = page;
    standby.standby.more();
    await until(standby.fixture.timers, () => {
      standby.standby.ask();
      return standby.flushed >= page;
    });
    const { replayed } = await standby.look();
    expect(replayed).toBeLessThan(page);
    expect(replayed).toBeGreaterThanOrEqual(before);
    expect(await valuesOf(standby)).toEqual(['a']);
    standby.limit = null;
    standby.standby.more();
    await standby.untilReplayed(group.log.position.end);
    expect(await valuesOf(standby)).toHaveLength(2);
  });

  it.each(['fast', 'immediate'] as const)(
    'a standby goes on where it was after its end: %s',
    async (mode) => {
      const group = await open(1);
      const [standby] = group.standbys as [FedStandby];
      group.primary.chooseAlways();
      await putAndCommit(group, 'a');
      await standby.untilReplayed(group.log.position.end);
      await standby.fixture.server.stop(mode);
      expect(standby.standby.streaming).toBe(false);
      await putAndCommit(group, 'b');
      await standby.launch();
      await standby.untilReplayed(group.log.position.end);
      expect(await valuesOf(standby)).toEqual(['a', 'b']);
    },
  );

  it('nothing is fed while the feed is shut', async () => {
    const group = await open(1);
    const [standby] = group.standbys as [FedStandby];
    group.primary.chooseAlways();
    await putAndCommit(group, 'a');
    const { end } = group.log.position;
    await standby.untilReplayed(end);
    standby.standby.shut();
    await putAndCommit(group, 'b');
    standby.standby.more();
    await pass(standby.fixture.timers, 300);
    expect(standby.standby.streaming).toBe(false);
    expect((await standby.look()).replayed).toBe(end);
    standby.standby.open();
    await standby.untilReplayed(group.log.position.end);
    expect(await valuesOf(standby)).toEqual(['a', 'b']);
  });
}
