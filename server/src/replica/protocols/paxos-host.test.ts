/** One host of single-decree Paxos, its log and its links: what it says and when. The test is its peers. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Ballot } from '../../multipaxos/types/names.ts';
import { LogStoreError } from '../../ports/log-store.ts';
import { testGroup as group } from '../testing/configurations.ts';
import { at, bytesOf, m1, m2, m3, OnePaxosHost, operation, textsOf } from './testing/one-paxos-host.ts';

const of2 = (round: number): Ballot => ({ round, replica: m2 });
const of3 = (round: number): Ballot => ({ round, replica: m3 });
const entryOf = (text: string, request = 1): Entry => ({
  kind: 'command',
  group,
  proposal: { client: 'elsewhere', request },
  payload: operation(text),
});
const prepare = { kind: 'SlotPrepare', slot: at(1), ballot: of2(1) } as const;
const accept = { kind: 'SlotAccept', slot: at(1), ballot: of2(1), entry: entryOf('theirs') } as const;

let one: OnePaxosHost;
beforeEach(async () => {
  one = await OnePaxosHost.start();
  one.host.restored(at(0));
});

describe('what is durable first', () => {
  it('a promise leaves only when it is', async () => {
    const go = one.holdLog();
    await one.say(m2, prepare);
    expect(one.of(m2, 'SlotPromise')).toEqual([]);
    go();
    await one.pass();
    expect(one.of(m2, 'SlotPromise')).toMatchObject([{ slot: 1, ballot: of2(1), vote: null }]);
  });

  it('a vote leaves only when it is', async () => {
    const go = one.holdLog();
    await one.say(m2, accept);
    expect(one.of(m2, 'SlotAccepted')).toEqual([]);
    go();
    await one.pass();
    expect(one.of(m2, 'SlotAccepted')).toMatchObject([{ slot: 1, ballot: of2(1) }]);
  });

  it('nobody is asked for a vote before the own promise is, nor does the own vote count', async () => {
    const go = one.holdLog();
    expect(one.host.give(operation('ours'))).toEqual({ code: 'given' });
    await one.pass(5);
    const [{ ballot } = { ballot: of2(0) }] = one.of(m2, 'SlotPrepare');
    expect(ballot.replica).toBe(m1);
    await one.say(m2, { kind: 'SlotPromise', slot: at(1), ballot, vote: null });
    expect(one.of(m2, 'SlotAccept')).toEqual([]);
    go();
    await one.pass(5);
    expect(one.of(m2, 'SlotAccept')).not.toEqual([]);
    expect(one.of(m3, 'SlotAccept')).not.toEqual([]);
    const goOn = one.holdLog();
    await one.choose('next');
    expect(one.chosen).toEqual([]);
    await one.say(m2, { kind: 'SlotAccepted', slot: at(1), ballot });
    goOn();
    await one.pass();
    expect(one.chosen[0]).toBe('ours');
  });
});

describe('coming back', () => {
  it('has its promises and votes, and not a write that the power cut off', async () => {
    await one.say(m2, accept);
    await one.say(m2, { kind: 'SlotPrepare', slot: at(2), ballot: of2(5) });
    expect(one.of(m2, 'SlotPromise')).toHaveLength(1);
    one.isDiskSlow = true;
    const torn = { slot: at(3), ballot: of2(1), entry: entryOf('x'.repeat(8000)) };
    const heardBefore = one.of(m2, 'SlotAccepted').length;
    one.host.onControl(m2, {
      kind: 'Carried',
      channel: 'paxos',
      bytes: bytesOf({ kind: 'SlotAccept', ...torn }),
    });
    await one.pass(0.1);
    const back = await one.comeBack();
    expect(one.of(m2, 'SlotAccepted')).toHaveLength(heardBefore);
    await back.say(m3, { kind: 'SlotPrepare', slot: at(1), ballot: of3(2) });
    expect(back.of(m3, 'SlotPromise')).toMatchObject([
      { slot: 1, vote: { ballot: of2(1), entry: entryOf('theirs') } },
    ]);
    await back.say(m3, { kind: 'SlotPrepare', slot: at(2), ballot: of3(4) });
    expect(back.of(m3, 'SlotReject')).toMatchObject([{ slot: 2, promised: of2(5) }]);
  });

  it('tells what was chosen, and proposes above it', async () => {
    await one.choose('first');
    await one.choose('second');
    expect(one.chosen).toEqual(['first', 'second']);
    const back = await one.comeBack();
    await back.pass(500);
    await back.say(m2, {
      kind: 'LearnReply',
      firstSlot: at(1),
      purgedTo: at(0),
      entries: one.told.entries.map(({ entry }) => entry),
    });
    expect(back.host.commitPoint).toBe(2);
    back.host.give(operation('third'));
    await back.pass(5);
    expect(back.of(m2, 'SlotPrepare').at(-1)).toMatchObject({ slot: 3 });
  });
});

describe('a log without room', () => {
  it('nothing is proposed beyond nine tenths of the bound, and clients are told why', async () => {
    const bound = 1024 * 1024 * 1024;
    one.bytes = 0.91 * bound;
    expect(one.host.give(operation('ours'))).toEqual({ code: 'full' });
    await one.pass();
    expect(one.of(m2, 'SlotPrepare')).toEqual([]);
    expect(one.host.standing().whyNot).toContain('bounds.logBytesMax');
    await one.say(m2, prepare);
    expect(one.of(m2, 'SlotPromise')).toHaveLength(1);
    one.bytes = 0.89 * bound;
    expect(one.host.standing().whyNot).toBeNull();
    expect(one.host.give(operation('ours'))).toEqual({ code: 'given' });
  });

  it('takes no votes on while the disk is full, and goes on when it is not', async () => {
    one.failing = new LogStoreError('logFull', 'no room');
    await one.say(m2, prepare);
    await one.say(m2, accept);
    await one.say(m2, { kind: 'SlotPrepare', slot: at(2), ballot: of2(1) });
    expect(one.told.troubles).toEqual([one.failing]);
    one.failing = null;
    await one.pass(600);
    expect(one.told.troubles.at(-1)).toBeNull();
    expect(one.of(m2, 'SlotPromise').map(({ slot }) => slot)).toEqual([1]);
    // A slot of which nothing was heard for a while this one may have begun to finish.
    await one.say(m2, { ...accept, ballot: of2(9) });
    expect(one.of(m2, 'SlotAccepted')).toHaveLength(1);
    expect(one.told.errors).toEqual([]);
  });

  it('a log that fails ends it: it says nothing any more', async () => {
    one.failing = new LogStoreError('logFailed', 'broken');
    await one.say(m2, prepare);
    expect(one.told.errors).toEqual([one.failing]);
    one.failing = null;
    const before = one.heard.length;
    await one.say(m2, accept);
    await one.pass(1000);
    expect(one.heard).toHaveLength(before);
    expect(one.host.give(operation('ours'))).toEqual({ code: 'full' });
  });
});

describe('what others know', () => {
  it('is asked for, learnt and told in order', async () => {
    await one.say(m2, { kind: 'Status', commitPoint: at(3) });
    expect(one.of(m2, 'LearnRequest')).toMatchObject([{ fromSlot: 1 }]);
    const [a, b, c] = [entryOf('a', 1), entryOf('b', 2), entryOf('c', 3)];
    await one.say(m2, { kind: 'LearnReply', firstSlot: at(1), entries: [a, b], purgedTo: at(0) });
    expect(one.chosen).toEqual(['a', 'b']);
    expect(one.of(m2, 'LearnRequest').at(-1)).toMatchObject({ fromSlot: 3 });
    await one.say(m2, { kind: 'LearnReply', firstSlot: at(3), entries: [c], purgedTo: at(0) });
    expect(one.chosen).toEqual(['a', 'b', 'c']);
    expect(textsOf(await one.host.readChosen(at(1), at(3), 1000))).toEqual(['a', 'b', 'c']);
  });

  it('is told to whoever asks, from the log too', async () => {
    await one.choose('first');
    await one.choose('second');
    one.host.applied(at(2), at(2));
    await one.say(m3, { kind: 'LearnRequest', fromSlot: at(1), toSlot: at(9) });
    const { firstSlot, entries } = one.of(m3, 'LearnReply').at(-1)!;
    expect(firstSlot).toBe(1);
    expect(textsOf(entries)).toEqual(['first', 'second']);
  });

  it('when all have forgotten what the database needs, a copy is asked for once', async () => {
    const gone = { kind: 'LearnReply', firstSlot: at(1), entries: [], purgedTo: at(40) } as const;
    await one.say(m2, gone, 40);
    await one.say(m3, gone, 40);
    expect(one.told.copies).toBe(1);
    expect(one.chosen).toEqual([]);
    one.host.restored(at(40));
    await one.pass();
    expect(one.host.commitPoint).toBe(40);
    await one.say(
      m2,
      { kind: 'LearnReply', firstSlot: at(41), entries: [entryOf('next')], purgedTo: at(40) },
      40,
    );
    expect(one.chosen).toEqual(['next']);
  });

  it('a replica whose own log has let go asks for a copy', async () => {
    const [a] = [entryOf('a')];
    await one.say(m2, { kind: 'LearnReply', firstSlot: at(1), entries: [a], purgedTo: at(0) });
    one.host.copyAwaited();
    await one.say(m2, { kind: 'LearnReply', firstSlot: at(2), entries: [], purgedTo: at(9) });
    expect(one.told.copies).toBe(0);
    one.host.restored(at(1));
    await one.say(m2, { kind: 'LearnReply', firstSlot: at(2), entries: [], purgedTo: at(9) });
    expect(one.told.copies).toBe(1);
  });
});

describe('bytes of others', () => {
  const whole = bytesOf(accept);

  it.each([
    ['nothing', new Uint8Array(0)],
    ['an unknown form', Uint8Array.of(9, 1)],
    ['an unknown kind', Uint8Array.of(1, 77, 0, 0, 0, 0, 0, 0, 0, 0)],
    ['half a message', whole.subarray(0, whole.length / 2)],
    ['a message and more', Buffer.concat([whole, Uint8Array.of(0)])],
  ])('%s is dropped, and the host goes on', async (_, bytes) => {
    one.carry(m2, bytes, 'paxos');
    await one.pass();
    expect(one.of(m2, 'SlotAccepted')).toEqual([]);
    expect(one.told.errors).toEqual([]);
    await one.say(m2, accept);
    expect(one.of(m2, 'SlotAccepted')).toHaveLength(1);
  });

  it('of another channel, or of one who is no member, say nothing', async () => {
    one.carry(m2, whole, 'operations');
    one.host.onControl('r9.1' as typeof m2, { kind: 'Carried', channel: 'paxos', bytes: whole });
    one.host.onControl('r2.2' as typeof m2, { kind: 'Carried', channel: 'paxos', bytes: whole });
    await one.pass();
    expect(one.of(m2, 'SlotAccepted')).toEqual([]);
  });

  it('a slot far ahead takes no memory and gets no answer', async () => {
    await one.say(m2, { ...accept, slot: at(2 ** 50) });
    expect(one.of(m2, 'SlotAccepted')).toEqual([]);
    expect(one.host.standing().lastSlot).toBe(0);
  });
});

describe('its own clients', () => {
  it('an operation that is under way is not proposed again', async () => {
    const ours = operation('ours');
    one.host.give(ours);
    one.host.give(ours);
    await one.pass(5);
    expect(new Set(one.of(m2, 'SlotPrepare').map(({ slot }) => slot))).toEqual(new Set([1]));
    expect(one.told.proposers).toBe(0);
  });

  it('are told that no majority can be reached', async () => {
    expect(one.host.standing()).toMatchObject({ service: 'here', whyNot: null, leader: null });
    one.cutOff();
    expect(one.host.standing()).toMatchObject({ service: 'nowhere' });
    expect(one.host.standing().whyNot).toContain('majority');
  });
});
