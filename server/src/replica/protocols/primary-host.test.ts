/** One host of a primary and its copies: who leads, and what its clients hear. The test is its two peers. */
import { beforeEach, describe, expect, it } from 'vitest';
import {
  acknowledgeMsMax,
  at,
  beginning,
  entryOf,
  failureTimeoutMs,
  m1,
  m2,
  m3,
  of2,
  of3,
  OnePrimaryHost,
  operation,
  silenceMs,
  textsOf,
} from './testing/one-primary-host.ts';
import { whyNoCopyServes } from './primary-host.ts';

let one: OnePrimaryHost;
beforeEach(async () => {
  one = await OnePrimaryHost.start();
  one.host.restored(at(0));
});

const ask2 = { kind: 'AskWord', epoch: of2(5), lastEpoch: of2(1), lastSlot: at(2) } as const;
const given = { code: 'given' } as const;

describe('taking over', () => {
  it('asks for words when nobody is heard, and not before its own promise is durable', async () => {
    const go = one.holdLog();
    await one.pass(silenceMs);
    expect(one.of(m2, 'AskWord')).toEqual([]);
    go();
    await one.pass();
    expect(one.of(m2, 'AskWord')).toMatchObject([{ epoch: { round: 1, replica: m1 }, lastSlot: 0 }]);
    expect(one.of(m3, 'AskWord')).toHaveLength(1);
  });

  it('leads with one other’s word, and answers nobody until that one has its first entry', async () => {
    await one.pass(silenceMs);
    expect(one.host.standing()).toMatchObject({ role: 'follower', service: 'nowhere' });
    expect(one.host.give(operation('a'))).toEqual({ code: 'elsewhere', to: null });
    await one.say(m2, { kind: 'Word', epoch: one.epoch });
    expect(one.host.standing()).toMatchObject({ role: 'leader', service: 'nowhere', lastSlot: 1 });
    expect(one.host.give(operation('a'))).toEqual({ code: 'elsewhere', to: null });
    const [{ entries } = { entries: [] }] = one.of(m3, 'Operations');
    expect(textsOf(entries.map(({ entry }) => entry))).toEqual(['>']);
    await one.received(m2, 1);
    expect(one.host.standing()).toMatchObject({ role: 'leader', service: 'here', whyNot: null, leader: m1 });
    expect(one.host.give(operation('a'))).toEqual(given);
    expect(one.told.proposers).toBeGreaterThan(1);
  });

  it('takes no word that is of another epoch', async () => {
    await one.pass(silenceMs);
    await one.say(m2, { kind: 'Word', epoch: { ...one.epoch, round: one.epoch.round + 1 } });
    await one.say(m3, { kind: 'Word', epoch: of3(one.epoch.round) });
    expect(one.host.standing().role).toBe('follower');
  });

  it('has another lead whose log is not behind, and tells so when that is durable', async () => {
    const go = one.holdLog();
    await one.say(m2, ask2);
    expect(one.of(m2, 'Word')).toEqual([]);
    go();
    await one.pass();
    expect(one.of(m2, 'Word')).toMatchObject([{ epoch: of2(5) }]);
  });

  it('gives its word to nobody whose log is behind, nor to anybody while it hears its primary', async () => {
    await one.follow('a', 'b', 'c');
    await one.say(m3, { ...ask2, epoch: of3(6), lastSlot: at(9) });
    expect(one.of(m3, 'Word')).toEqual([]);
    await one.pass(failureTimeoutMs);
    await one.say(m3, { ...ask2, epoch: of3(6), lastSlot: at(3) });
    expect(one.of(m3, 'Refuse').at(-1)).toMatchObject({ hasMore: true });
    expect(one.of(m3, 'Word')).toEqual([]);
    await one.say(m3, { ...ask2, epoch: of3(7), lastSlot: at(4) });
    expect(one.of(m3, 'Word')).toMatchObject([{ epoch: of3(7) }]);
  });
});

describe('what its clients hear', () => {
  it('at majority: that it is done when one copy has it, which the copies hear', async () => {
    await one.lead();
    expect(one.host.give(operation('a'))).toEqual(given);
    await one.pass();
    const answer = one.answerOf(2);
    await one.received(m2, 1);
    expect(answer.outcome).toBeNull();
    await one.received(m2, 2);
    expect(answer.outcome).toBe('acknowledged');
    expect(one.of(m3, 'Told').at(-1)).toMatchObject({ epoch: one.epoch, acknowledged: [2] });
  });

  it('nothing is acknowledged that is not durable here', async () => {
    await one.lead();
    const go = one.holdLog();
    one.host.give(operation('a'));
    await one.pass();
    const answer = one.answerOf(2);
    await one.received(m2, 2);
    await one.received(m3, 2);
    expect(answer.outcome).toBeNull();
    expect(one.chosen).toEqual(['>']);
    go();
    await one.pass();
    expect(answer.outcome).toBe('acknowledged');
    expect(one.chosen).toEqual(['>', 'a']);
  });

  it('at sync: when both copies have executed it', async () => {
    one = await OnePrimaryHost.start('sync');
    one.host.restored(at(0));
    await one.lead();
    one.host.give(operation('a'));
    await one.pass();
    const answer = one.answerOf(2);
    await one.received(m2, 2, 2);
    await one.received(m3, 2, 1);
    expect(answer.outcome).toBeNull();
    await one.received(m3, 2, 2);
    expect(answer.outcome).toBe('acknowledged');
  });

  it('at the level that the operation asks for, and not before', async () => {
    await one.lead();
    one.host.give(operation('async!a'));
    one.host.give(operation('semi!b'));
    await one.pass();
    const [first, second] = [one.answerOf(2), one.answerOf(3)];
    expect([first.outcome, second.outcome]).toEqual(['acknowledged', null]);
    await one.received(m2, 3);
    expect(second.outcome).toBeNull();
    await one.received(m3, 3);
    expect(second.outcome).toBe('acknowledged');
  });

  it('that nobody knows, at the bound and not before', async () => {
    await one.lead();
    one.host.give(operation('a'));
    const answer = one.answerOf(2);
    await one.passHeard(acknowledgeMsMax - 200, 1);
    expect(answer.outcome).toBeNull();
    await one.passHeard(400, 1);
    expect(answer.outcome).toBe('unacknowledged');
    expect(one.of(m2, 'Told').at(-1)).toMatchObject({ unacknowledged: [2] });
    expect(one.host.status()).toMatchObject({ counts: { acknowledged: 0, unacknowledged: 1 } });
    await one.received(m2, 2);
    expect(one.host.status()).toMatchObject({ counts: { acknowledged: 0, unacknowledged: 1 } });
  });

  it('at a copy: what the primary of that epoch has told, early or late', async () => {
    await one.follow('a', 'b', 'c');
    const [early, late] = [one.answerOf(2), one.answerOf(3)];
    const told = { kind: 'Told', epoch: of2(1), unacknowledged: [] } as const;
    await one.say(m3, { ...told, epoch: of2(1), acknowledged: [at(2)] });
    await one.say(m3, { ...told, epoch: of3(1), acknowledged: [at(2), at(4)] });
    expect([early.outcome, one.answerOf(4).outcome]).toEqual([null, null]);
    await one.say(m2, { ...told, acknowledged: [at(2), at(4)] });
    expect([early.outcome, late.outcome]).toEqual(['acknowledged', null]);
    expect(one.answerOf(4).outcome).toBe('acknowledged');
    await one.pass(2 * acknowledgeMsMax);
    expect(late.outcome).toBe('unacknowledged');
  });

  it('that nobody knows, when the replica ends', async () => {
    await one.follow('a');
    const answer = one.answerOf(2);
    one.host.stop();
    expect(answer.outcome).toBe('unacknowledged');
    expect(one.answerOf(2).outcome).toBe('unacknowledged');
  });
});

describe('an old primary', () => {
  beforeEach(async () => {
    await one.lead();
    one.host.give(operation('lost'));
    await one.pass();
  });
  const later = of2(7);

  it('is none when another’s operations come; what it had not answered nobody knows', async () => {
    const answer = one.answerOf(2);
    const old = one.epoch;
    await one.operations(later, [1, old], [beginning(later)], { beginsAt: 2 });
    expect(one.host.standing()).toMatchObject({ role: 'follower', leader: m2, ballot: later });
    expect(one.host.give(operation('b'))).toEqual({ code: 'elsewhere', to: m2 });
    expect(answer.outcome).toBe('unacknowledged');
    const { sentAtMs } = one.of(m3, 'Operations').at(-1)!;
    const received = { received: at(2), executed: at(0), goOnFrom: null, needsCopy: false, sentAtMs };
    await one.say(m3, { kind: 'Received', epoch: old, ...received });
    expect(one.host.status()).toMatchObject({ counts: { acknowledged: 0 } });
  });

  it('marks ahead of the records that cut off what it has executed, and executes nothing more', async () => {
    expect(one.chosen).toEqual(['>', 'lost']);
    one.host.applied(at(2), at(2));
    await one.pass();
    const before = one.records.length;
    await one.operations(later, [1, one.epoch], [beginning(later)], { beginsAt: 2 });
    expect(one.mark.noted).toEqual([{ isSet: true, records: before }]);
    expect(one.records.length).toBeGreaterThan(before);
    expect(one.told.copies).toBe(1);
    await one.operations(later, [2, later], [{ epoch: later, entry: entryOf('theirs') }], { beginsAt: 2 });
    expect(one.chosen).toEqual(['>', 'lost']);
    const told = one.of(m2, 'Received').filter(({ epoch }) => epoch.round === later.round);
    expect(told.map(({ received }) => received)).toContain(3);
    expect(told.filter(({ executed, needsCopy }) => executed > 0 || !needsCopy)).toEqual([]);
    expect(one.answerOf(3).outcome).toBe('unacknowledged');
  });

  it('executes the log from its beginning when its database has executed nothing', async () => {
    await one.operations(later, [1, one.epoch], [beginning(later)], { beginsAt: 2 });
    one.told.entries.length = 0;
    one.host.restored(at(0));
    await one.pass();
    expect(one.mark.isSet).toBe(false);
    expect(one.told.entries.map(({ slot }) => slot)).toEqual([1, 2]);
    expect(one.chosen).toEqual(['>', '>']);
  });

  it('hears from whoever refuses that there is another', async () => {
    const { epoch } = one;
    const answer = one.answerOf(2);
    await one.say(m3, { kind: 'Refuse', epoch, promised: epoch, hasMore: false });
    expect(one.host.standing().role).toBe('leader');
    await one.say(m3, { kind: 'Refuse', epoch, promised: of3(9), hasMore: false });
    expect([one.host.standing().role, answer.outcome]).toEqual(['follower', 'unacknowledged']);
    expect(one.host.give(operation('b'))).toEqual({ code: 'elsewhere', to: null });
  });

  it('tells one that is older still', async () => {
    await one.operations(later, [1, one.epoch], [beginning(later)], { beginsAt: 2 });
    await one.operations(of3(3), [0, of3(0)], [beginning(of3(3))]);
    expect(one.of(m3, 'Refuse')).toMatchObject([{ epoch: of3(3), promised: later }]);
    expect(one.host.standing().ballot).toEqual(later);
  });

  it('answers nobody when it hears nobody, says why, and goes on when it does', async () => {
    one.cutOff();
    await one.pass(failureTimeoutMs);
    expect(one.host.standing()).toMatchObject({ role: 'leader', service: 'nowhere' });
    expect(one.host.standing().whyNot).toContain('too few of the other replicas are heard');
    expect(one.host.give(operation('b'))).toEqual({ code: 'elsewhere', to: null });
  });

  it('is one no more when it is told to step back', async () => {
    one.host.stepBack();
    expect(one.host.standing()).toMatchObject({ role: 'follower', leader: null });
  });
});

describe('why a copy does not serve', () => {
  const replicas = [m1, m2, m3];

  it('is that it hears no primary', () => {
    expect(whyNoCopyServes({ id: m2, replicas, replication: 'semi' }, m1)).toBeNull();
    expect(whyNoCopyServes({ id: m2, replicas, replication: 'semi' }, null)).toBe('no primary is heard');
    expect(whyNoCopyServes({ id: m2, replicas: [m1, m2], replication: 'semi' }, null)).toContain('of two');
  });

  it('is that nothing is replicated, and who serves, though that one is heard by nobody', () => {
    for (const id of [m2, m3])
      expect(whyNoCopyServes({ id, replicas, replication: 'none' }, null)).toContain('connect to r1');
    expect(whyNoCopyServes({ id: m1, replicas, replication: 'none' }, null)).toBe('no primary is heard');
  });
});
