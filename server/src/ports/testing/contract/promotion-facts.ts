/** Facts about promotions and timelines. */
import { expect, it } from 'vitest';
import { lastWholeRecord } from '../../../payload/wal/last-whole-record.ts';
import { segmentBytes, walPageBytes, type Lsn } from '../../../wal/lsn.ts';
import { timelineFile } from '../../../wal/timeline-file.ts';
import type { ContractContext, TestGroup } from '../database-server-contract.ts';
import { FedStandby, pass, until } from '../database-fixture.ts';
import { TestPrimary } from '../test-primary.ts';
import { putAndCommit, valuesOf } from './standby-facts.ts';

/** Of what is replayed. The standby does not hear of it. */
export async function promote(group: TestGroup, standby: FedStandby): Promise<TestPrimary> {
  const { nextXid, replayed } = await standby.look();
  standby.standby.shut();
  group.log.lead(replayed, { system: group.log.position.system, nextXid });
  return finishPromotion(group, standby);
}

async function finishPromotion({ log }: TestGroup, standby: FedStandby): Promise<TestPrimary> {
  const { position } = log;
  const history = (timeline: typeof position.timeline): string => timelineFile(position, timeline);
  const promotion = { timeline: position.timeline, fork: position.end, history };
  return new TestPrimary(standby.fixture, log, await standby.standby.promote(promotion));
}

/** The primary writes no more, and everything that is chosen is replayed. */
export async function replayed(group: TestGroup, standby: FedStandby): Promise<void> {
  await group.primary.fixture.server.stop('immediate');
  await standby.untilReplayed(group.log.position.end);
}

export function promotionFacts({ group: open }: ContractContext): void {
  it('a standby becomes the primary of exactly the timeline that is asked for, and others follow it', async () => {
    const group = await open(2);
    const [next, other] = group.standbys as [FedStandby, FedStandby];
    group.primary.chooseAlways();
    await putAndCommit(group, 'a');
    await replayed(group, next);
    await other.untilReplayed(group.log.position.end);
    const primary = await promote(group, next);
    expect([primary.primary.timeline, primary.primary.system]).toEqual([2, group.primary.primary.system]);
    await primary.open();
    primary.chooseAlways();
    await putAndCommit({ primary }, 'b');
    await other.untilReplayed(group.log.position.end);
    expect(await valuesOf(other)).toEqual(['a', 'b']);
    expect(other.streamed.at(-1)).toMatch(/^2 /);
  });

  it('numbers of leaders that never wrote stay unused', async () => {
    const group = await open(2);
    const [next, other] = group.standbys as [FedStandby, FedStandby];
    group.primary.chooseAlways();
    await putAndCommit(group, 'a');
    await replayed(group, next);
    next.standby.shut();
    for (let n = 0; n < 3; n++) group.log.lead(next.replayed, { system: group.log.position.system });
    const primary = await finishPromotion(group, next);
    expect(primary.primary.timeline).toBe(4);
    await primary.open();
    primary.chooseAlways();
    await putAndCommit({ primary }, 'b');
    await other.untilReplayed(group.log.position.end);
    expect(await valuesOf(other)).toEqual(['a', 'b']);
  });

  it('one that has heard of its own timeline takes another number, and says so', async () => {
    const group = await open(1);
    const [next] = group.standbys as [FedStandby];
    group.primary.chooseAlways();
    await putAndCommit(group, 'a');
    await replayed(group, next);
    group.log.lead(next.replayed, { system: group.log.position.system });
    next.standby.more();
    await until(next.fixture.timers, () => next.streamed.at(-1)!.startsWith('2 '));
    // It has come to timeline 3, or PostgreSQL has given up altogether, with whatever that does to a connection.
    await expect(finishPromotion(group, next)).rejects.toThrow(
      /timeline 3.*instead of timeline 2|terminated|connection|EPIPE|ECONNRESET/i,
    );
  });

  it('the gate is shut from the first instant of a promotion', async () => {
    const group = await open(1);
    const [next] = group.standbys as [FedStandby];
    group.primary.chooseAlways();
    await putAndCommit(group, 'a');
    await replayed(group, next);
    let committed = 0;
    const over = new AbortController();
    async function writeAgainAndAgain(): Promise<void> {
      while (!over.signal.aborted) {
        const session = await next.fixture.connect().catch(() => null);
        const wrote =
          session === null
            ? false
            : await session.put('early').then(
                () => true,
                () => false,
              );
        if (wrote)
          void session!.commit().then(
            () => (committed += 1),
            () => undefined,
          );
        if (wrote) return;
        session?.close();
        await pass(next.fixture.timers, 1);
      }
    }
    const writers = [writeAgainAndAgain(), writeAgainAndAgain()];
    const primary = await promote(group, next);
    await pass(next.fixture.timers, 200);
    over.abort();
    await Promise.all(writers);
    expect(committed).toBe(0);
    expect(await valuesOf(next)).toEqual(['a']);
    await primary.open();
    primary.chooseAlways();
    await until(next.fixture.timers, () => committed === 2);
    expect(await valuesOf(next)).toEqual(['a', 'early', 'early']);
  });

  it('what was chosen of an unfinished record is nobody’s: the promotion forks below it, and what others have of it is not counted', async () => {
    const group = await open(2);
    const [next, other] = group.standbys as [FedStandby, FedStandby];
    const { primary, log } = group;
    primary.chooseAlways();
    await putAndCommit(group, 'a');
    const whole = log.position.end;
    for (const standby of group.standbys) await standby.untilReplayed(whole);
    primary.choosesAll = false;
    const session = await primary.connect();
    await session.distrust();
    await session.put('x'.repeat(4 * walPageBytes));
    await session.commit();
    await primary.untilReceived();
    const page = Math.ceil(whole / walPageBytes) * walPageBytes + walPageBytes;
    primary.keepUpTo(page as Lsn);
    primary.choose();
    expect(log.position.end).toBe(page);
    await until(next.fixture.timers, () => {
      for (const { standby } of group.standbys) standby.ask();
      return next.flushed >= page && other.flushed >= page;
    });
    await primary.fixture.server.stop('immediate');
    const fork = (await next.look()).replayed;
    expect(fork).toBeLessThan(page);
    expect((await other.look()).replayed).toBe(fork);
    const reportsBefore = other.reports.length;
    const promoted = await promote(group, next);
    await promoted.open();
    promoted.chooseAlways();
    await putAndCommit({ primary: promoted }, 'b');
    const { end } = log.position;
    await until(other.fixture.timers, () => {
      other.standby.ask();
      return other.reports.slice(reportsBefore).some((report) => report.replayed >= end);
    });
    expect(await valuesOf(other)).toEqual(['a', 'b']);
    const [first] = other.reports.slice(reportsBefore);
    expect(first!.flushed <= fork || other.streamed.at(-1)!.startsWith('2 ')).toBe(true);
  });

  it('of a switch of segments the empty rest need not be chosen: the promotion forks at its end, and others are fed zeros', async ({
    skip,
  }) => {
    const group = await open(2);
    const [next, other] = group.standbys as [FedStandby, FedStandby];
    const { primary, log } = group;
    const { switchSegment } = primary.fixture;
    if (switchSegment === null) {
      skip('no segment can be switched here');
      return;
    }
    primary.chooseAlways();
    await putAndCommit(group, 'a');
    primary.choosesAll = false;
    await switchSegment();
    await primary.untilReceived();
    const end = primary.receivedTo;
    expect(end % segmentBytes).toBe(0);
    const chosen = (end - segmentBytes / 2) as Lsn;
    expect(chosen).toBeGreaterThan(log.position.end);
    primary.keepUpTo(chosen);
    primary.choose();
    await next.untilReplayed(chosen);
    expect((await next.look()).replayed).toBe(end);
    await primary.fixture.server.stop('immediate');
    expect(await lastWholeRecord(next.wal, log.position)).toBe(end);
    const promoted = await promote(group, next);
    expect(log.position).toMatchObject({ timeline: 2, end });
    expect(await lastWholeRecord(next.wal, log.position)).toBe(end);
    await promoted.open();
    promoted.chooseAlways();
    await putAndCommit({ primary: promoted }, 'b');
    await other.untilReplayed(log.position.end);
    expect(await valuesOf(other)).toEqual(['a', 'b']);
    await other.fixture.server.stop('fast');
    await other.launch();
    await other.look();
    expect(await valuesOf(other)).toEqual(['a', 'b']);
  });

  it('what was a primary, and has nothing but what is chosen, becomes a standby of the next timeline', async () => {
    const group = await open(1);
    const [next] = group.standbys as [FedStandby];
    const { primary, log } = group;
    primary.chooseAlways();
    await putAndCommit(group, 'a');
    await primary.fixture.server.stop('fast');
    const before = log.position;
    await next.untilReplayed(before.end);
    const promoted = await promote(group, next);
    await promoted.open();
    promoted.chooseAlways();
    await putAndCommit({ primary: promoted }, 'b');
    const old = await FedStandby.start(primary.fixture, log, before);
    await old.untilReplayed(log.position.end);
    expect(await valuesOf(old)).toEqual(['a', 'b']);
  });
}
