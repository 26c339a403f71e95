import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { fiveReplicas } from '../testing/configurations.ts';
import { digestMs, timeoutMs, VerifyGroup } from './testing/verify-group.ts';

const [r1, r2, r3, r4, r5] = fiveReplicas;

let group: VerifyGroup;
beforeEach(() => {
  group = new VerifyGroup([r1, r2, r3]);
});
afterEach(async () => {
  // One that stays open keeps VACUUM from its work.
  if ((await group.openSnapshots()) > 0) throw new Error('a snapshot was not closed');
});

const equal = ['equal', 'equal', 'equal'];
const reason = "at slot 1 its data differed from the majority's: table a of app";

describe('a comparison', () => {
  it('comes to its end as soon as all have reported, and tells its result', async () => {
    const { outcomes, advice, tookMs } = await group.compare();
    expect([outcomes, advice]).toEqual([equal, []]);
    expect(tookMs).toBeLessThan(2 * digestMs);
    expect(group.results).toHaveLength(1);
    expect(group.differed()).toEqual({});
  });

  it('tells each that differs once, and from whom it may copy', async () => {
    group = new VerifyGroup([r1, r2, r3, r4, r5]);
    group.member(r2).data = 'wrong';
    group.member(r4).data = 'otherwise wrong';
    await group.compare(true);
    const loss = { reason, equal: [r1, r3, r5] };
    expect(group.differed()).toEqual({ r2: [[loss, true]], r4: [[loss, true]] });
  });

  it('asks again for a report that was lost, and sends a verdict that was lost again', async () => {
    group.member(r2).data = 'wrong';
    const lost = new Set<string>();
    group.lose = ({ kind }) => {
      const isFirst = kind.startsWith('Verify') && !lost.has(kind);
      lost.add(kind);
      return isFirst;
    };
    const { outcomes, tookMs } = await group.compare();
    expect(outcomes).toEqual(['equal', 'differs: table a of app', 'equal']);
    expect(tookMs).toBeLessThan(5000);
    expect([...lost].toSorted()).toEqual(['VerifyQuestion', 'VerifyReport', 'VerifyVerdict']);
    expect(group.differed()).toEqual({ r2: [[{ reason, equal: [r1, r3] }, false]] });
  });

  it('does not wait for one that is down, and waits not for ever for one that says nothing', async () => {
    group.member(r3).isUp = false;
    const { outcomes, tookMs } = await group.compare();
    expect(outcomes).toEqual(['equal', 'equal', 'noReport: nothing was heard of it']);
    expect(tookMs).toBeLessThan(2 * digestMs);
    group.member(r3).isUp = true;
    group.member(r3).meet = () => undefined;
    expect((await group.compare()).tookMs).toBeLessThan(timeoutMs);
  });

  it('has a reason from one that is copying at once', async () => {
    group.member(r3).why = { reason: 'its database is being copied', isFenced: false };
    const { outcomes, tookMs } = await group.compare(true);
    expect(outcomes).toEqual(['equal', 'equal', 'noReport: its database is being copied']);
    expect(tookMs).toBeLessThan(3000);
    expect(group.differed()).toEqual({});
  });

  it('takes no snapshot that lacks what is chosen', async () => {
    group.member(r2).showsAllAtMs = group.time.nowMs() + 100;
    const { outcomes } = await group.compare(true);
    expect(outcomes).toEqual(['equal', 'equal', 'equal']);
    expect(group.differed()).toEqual({});
  });

  it('is made once more where most had no snapshot in time', async () => {
    group.member(r2).misses = 1;
    group.member(r3).misses = 2;
    const comparing = group.compare();
    expect((await comparing).outcomes).toEqual(['equal', 'equal', 'noReport: at slot 2: too late']);
    expect([group.checks, group.results.length]).toEqual([2, 1]);
  });

  it('is one at a time, and for the leader only', async () => {
    const first = group.member(r1).verification.compare(false);
    expect(await group.member(r1).verification.compare(false)).toMatchObject({ ok: false, code: 'busy' });
    expect(await group.member(r2).verification.compare(false)).toMatchObject({
      ok: false,
      code: 'notLeader',
      leader: r1,
    });
    await group.time.until(first);
    expect(await group.compare()).toMatchObject({ outcomes: equal });
  });

  it('ends with the leadership, whether that is before the check is chosen or afterwards', async () => {
    const early = group.member(r1).verification.compare(false);
    group.leader = r2;
    expect(await group.time.until(early)).toMatchObject({ ok: false, code: 'unavailable' });
    const late = group.member(r2).verification.compare(true);
    await group.time.pass(digestMs / 2);
    group.leader = r1;
    expect(await group.time.until(late)).toMatchObject({ ok: false, code: 'unavailable' });
    expect(group.differed()).toEqual({});
  });
});

describe('a comparison that is given up', () => {
  beforeEach(() => {
    for (const member of group.members) member.hangs = true;
  });
  const open = (): readonly number[] => group.members.map(({ openSnapshots }) => openSnapshots);

  it('ends on all replicas when leadership ends, also on the new leader', async () => {
    const comparing = group.member(r1).verification.compare(false);
    await group.time.pass(digestMs);
    expect(open()).toEqual([1, 1, 1]);
    group.leader = r2;
    expect(await group.time.until(comparing)).toMatchObject({ ok: false, code: 'unavailable' });
    await group.time.pass(1500);
    expect(open()).toEqual([0, 0, 0]);
  });

  it('ends for a hand-over at once, and on followers when nobody asks for it any more', async () => {
    const comparing = group.member(r1).verification.compare(false);
    await group.time.pass(digestMs);
    group.member(r1).verification.giveUp('leadership is being handed over');
    expect(await group.time.until(comparing)).toMatchObject({
      ok: false,
      code: 'unavailable',
      message: 'leadership is being handed over',
    });
    await group.time.pass(1500);
    expect(open()).toEqual([0, 1, 1]);
    await group.time.pass(35_000);
    expect(open()).toEqual([0, 0, 0]);
  });

  it('is none while nothing is under way: the next one is made', async () => {
    for (const member of group.members) member.hangs = false;
    group.member(r1).verification.giveUp('leadership is being handed over');
    expect(await group.compare()).toMatchObject({ outcomes: equal });
  });

  it('by a leader that waits for one that does not come to an end leaves nothing of its own', async () => {
    group.member(r1).hangs = false;
    const { outcomes } = await group.compare();
    expect(outcomes[0]).toBe('noReport: no majority of the voters has reported');
    await group.time.pass(35_000);
    expect(open()).toEqual([0, 0, 0]);
  });
});

describe('a leader', () => {
  it('that seems to differ is compared twice, and believed to be right if that passes', async () => {
    group.member(r1).data = 'wrong';
    const comparing = group.compare();
    await group.time.pass(digestMs / 2);
    group.member(r1).data = 'right';
    expect(await comparing).toMatchObject({ outcomes: equal });
    expect([group.checks, group.results.length]).toEqual([2, 1]);
  });

  it('that differs is told so like any other', async () => {
    group.member(r1).data = 'wrong';
    expect(await group.compare(true)).toMatchObject({
      outcomes: ['differs: table a of app', 'equal', 'equal'],
    });
    expect(group.checks).toBe(2);
    expect(group.differed()).toEqual({
      r1: [[{ reason: reason.replace('slot 1', 'slot 2'), equal: [r2, r3] }, true]],
    });
  });

  it('whose snapshot shows what is not chosen reports nothing, rather than a difference', async () => {
    group.member(r1).data = 'too much';
    group.member(r1).showsTooEarly = true;
    const { outcomes } = await group.compare(true);
    expect(outcomes).toEqual([
      'noReport: a transaction showed before it was chosen: its session does not wait for that',
      'equal',
      'equal',
    ]);
    expect(group.differed()).toEqual({});
  });
});

describe('replicas that are fenced', () => {
  function fence(id: ReplicaId): void {
    group.member(id).why = { reason: 'at slot 1 its data differed', isFenced: true };
  }

  /** A copy of the leader's database has taken the place of its own. */
  function replace(id: ReplicaId): void {
    const member = group.member(id);
    member.verification.databaseReplaced();
    member.why = null;
    member.data = group.member(r1).data;
  }

  it('are no majority: their leader is not touched, both are repaired, and then all are equal at once', async () => {
    for (const id of [r2, r3]) {
      group.member(id).data = 'wrong';
      fence(id);
    }
    const plain = await group.compare();
    expect(plain.outcomes).toEqual([
      'noReport: no majority of the voters has reported',
      'noReport: at slot 1 its data differed',
      'noReport: at slot 1 its data differed',
    ]);
    expect(plain.advice.join(' ')).toMatch(
      /^Each of r2, r3 serves and leads no more\. "barista verify --repair"/,
    );
    expect(group.differed()).toEqual({});
    await group.compare(true);
    expect(Object.keys(group.differed())).toEqual(['r2', 'r3']);
    for (const id of [r2, r3]) {
      expect(group.member(id).differed).toEqual([
        [{ reason: expect.any(String) as string, equal: [r1] }, true],
      ]);
      replace(id);
    }
    expect(await group.compare()).toMatchObject({ outcomes: equal, advice: [] });
  });

  it('report again after a restart, under the same leader', async () => {
    fence(r2);
    await group.compare();
    replace(r2);
    group.member(r2).restart();
    expect(await group.compare()).toMatchObject({ outcomes: equal });
  });
});

it('a verdict does not reach a database that has taken the place of the one that it is about', async () => {
  group.member(r2).data = 'wrong';
  group.lose = (message) => {
    // In this very moment.
    if (message.kind === 'VerifyVerdict') group.member(r2).verification.databaseReplaced();
    return false;
  };
  expect(await group.compare(true)).toMatchObject({
    outcomes: ['equal', 'differs: table a of app', 'equal'],
  });
  expect(group.differed()).toEqual({});
});
