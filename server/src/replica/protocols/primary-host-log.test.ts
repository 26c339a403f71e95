/** One host of a primary and its copies: its log, its restarts, what is executed, what is too much, and bytes of others. The test is its two peers. */
import { beforeEach, describe, expect, it } from 'vitest';
import { LogStoreError } from '../../ports/log-store.ts';
import {
  at,
  beginning,
  bytesOf,
  entryOf,
  m2,
  m3,
  of2,
  of3,
  OnePrimaryHost,
  operation,
  textsOf,
  windowSlotsMax,
} from './testing/one-primary-host.ts';

let one: OnePrimaryHost;
beforeEach(async () => {
  one = await OnePrimaryHost.start();
  one.host.restored(at(0));
});

const ask2 = { kind: 'AskWord', epoch: of2(5), lastEpoch: of2(1), lastSlot: at(2) } as const;
const given = { code: 'given' } as const;

describe('coming back', () => {
  it('has its log and its promise, and executes only what a primary confirms', async () => {
    await one.follow('a', 'b');
    one.host.applied(at(3), at(1));
    const back = await one.comeBack();
    back.host.restored(at(1));
    await back.pass();
    expect(back.host.standing()).toMatchObject({ ballot: of2(1), lastSlot: 3, leader: null });
    expect(back.chosen).toEqual([]);
    await back.operations(of2(1), [2, of2(1)], []);
    expect(back.chosen).toEqual(['a']);
    expect(back.of(m2, 'Received').at(-1)).toMatchObject({ received: 2, executed: 1 });
    await back.say(m3, { ...ask2, epoch: of3(1), lastSlot: at(9) });
    expect(back.of(m3, 'Word')).toEqual([]);
  });

  it('has nothing of a write that the power cut off, which it has told nobody of', async () => {
    await one.follow('a');
    const told = one.of(m2, 'Received').at(-1)!;
    expect(told.received).toBe(2);
    one.isDiskSlow = true;
    const epoch = of2(1);
    const torn = { epoch, entry: entryOf('x'.repeat(8000)) };
    const behind = { prevSlot: at(2), prevEpoch: epoch, beginsAt: at(1), settled: at(0) };
    one.host.onControl(m2, {
      kind: 'Carried',
      channel: 'primary',
      bytes: bytesOf({ kind: 'Operations', epoch, ...behind, entries: [torn], isStandby: true, sentAtMs: 0 }),
    });
    expect(one.host.standing().lastSlot).toBe(3);
    await one.pass(0.1);
    const back = await one.comeBack();
    await back.pass();
    expect(Math.max(...one.of(m2, 'Received').map(({ received }) => received))).toBe(told.received);
    expect(back.host.standing().lastSlot).toBe(2);
  });

  it('knows that its database is of no use, until that has executed nothing', async () => {
    await one.follow('a');
    await one.pass();
    await one.operations(of3(2), [1, of2(1)], [beginning(of3(2))], { beginsAt: 2 });
    expect(one.mark.isSet).toBe(true);
    const back = await one.comeBack();
    back.host.restored(at(2));
    await back.operations(of3(2), [2, of3(2)], [], { beginsAt: 2 });
    expect(back.told.copies).toBe(1);
    expect(back.chosen).toEqual([]);
    expect(back.mark.isSet).toBe(true);
    back.host.restored(at(0));
    await back.operations(of3(2), [2, of3(2)], [], { beginsAt: 2 });
    expect(back.mark.isSet).toBe(false);
    expect(back.chosen).toEqual(['>', '>']);
  });

  it('takes a copy of what is settled for the beginning that it is', async () => {
    await one.follow('a');
    await one.pass();
    await one.operations(of3(2), [1, of2(1)], [beginning(of3(2))], { beginsAt: 2 });
    expect(one.mark.isSet).toBe(true);
    const before = one.chosen.length;
    one.host.restored(at(1), true);
    await one.operations(of3(2), [2, of3(2)], [], { beginsAt: 2 });
    expect(one.mark.isSet).toBe(false);
    expect(one.chosen.slice(before)).toEqual(['>']);
  });

  it('cuts nothing off before it knows what its database has executed', async () => {
    await one.follow('a', 'b');
    one.host.applied(at(3), at(3));
    const back = await one.comeBack();
    const other = of3(2);
    const entries = [beginning(other), ...['c', 'd'].map((text) => ({ epoch: other, entry: entryOf(text) }))];
    await back.operations(other, [1, of2(1)], entries, { beginsAt: 2 });
    back.host.restored(at(3));
    await back.operations(other, [1, of2(1)], entries, { beginsAt: 2 });
    expect([back.chosen, back.mark.isSet, back.told.copies]).toEqual([[], true, 1]);
    back.host.restored(at(0));
    await back.pass();
    expect(back.chosen).toEqual(['>', '>', 'c', 'd']);
  });

  it('a database that is ahead of its log is of no use', async () => {
    await one.follow('a');
    const back = await one.comeBack();
    back.host.restored(at(5));
    await back.operations(of2(1), [2, of2(1)], []);
    expect(back.told.copies).toBe(1);
    expect(back.mark.isSet).toBe(true);
    expect(back.chosen).toEqual([]);
  });
});

describe('the order of what is executed', () => {
  it('is that of the log, each slot once, when it is durable', async () => {
    const go = one.holdLog();
    await one.follow('a', 'b');
    expect([one.chosen, one.host.commitPoint]).toEqual([[], 0]);
    go();
    await one.pass();
    expect(one.told.entries.map(({ slot }) => slot)).toEqual([1, 2, 3]);
    await one.follow('a', 'b');
    expect(one.chosen).toEqual(['>', 'a', 'b']);
    expect(one.host.commitPoint).toBe(3);
    expect(textsOf(await one.host.readChosen(at(2), at(9), 1000))).toEqual(['a', 'b']);
    expect(textsOf(await one.host.readChosen(at(2), at(9), 1))).toEqual(['a']);
  });

  it('is begun by no operation whose predecessor is missing: that one is asked for', async () => {
    await one.follow('a');
    const epoch = of2(1);
    await one.operations(epoch, [3, epoch], [{ epoch, entry: entryOf('c', 3) }]);
    expect(one.of(m2, 'Received').at(-1)).toMatchObject({ goOnFrom: 2 });
    expect(one.chosen).toEqual(['>', 'a']);
    await one.operations(
      epoch,
      [2, epoch],
      ['b', 'c'].map((text, index) => ({ epoch, entry: entryOf(text, index + 2) })),
    );
    expect(one.chosen).toEqual(['>', 'a', 'b', 'c']);
  });

  it('begins when the database is there', async () => {
    one = await OnePrimaryHost.start();
    await one.follow('a');
    expect(one.chosen).toEqual([]);
    one.host.restored(at(1));
    await one.pass();
    expect(one.chosen).toEqual(['a']);
  });

  it('what is executed is told to the primary, and nothing that was not given', async () => {
    await one.follow('a', 'b');
    expect(one.of(m2, 'Received').at(-1)).toMatchObject({ received: 3, executed: 0 });
    one.host.applied(at(2), at(0));
    await one.pass();
    expect(one.of(m2, 'Received').at(-1)).toMatchObject({ received: 3, executed: 2 });
    one.host.applied(at(7), at(7));
    await one.operations(of2(1), [3, of2(1)], []);
    expect(one.of(m2, 'Received').at(-1)).toMatchObject({ received: 3, executed: 2 });
  });
});

describe('too much at once', () => {
  it('is refused beyond the window, until some of it is settled', async () => {
    await one.lead();
    const codes = Array.from(
      { length: windowSlotsMax + 1 },
      (_, n) => one.host.give(operation(`o${n}`)).code,
    );
    expect(codes).toEqual([...Array.from({ length: windowSlotsMax }, () => 'given'), 'full']);
    await one.pass();
    const { rooms } = one.told;
    await one.received(m2, 3);
    expect(one.host.give(operation('again'))).toEqual(given);
    await one.pass();
    expect(one.told.rooms).toBeGreaterThan(rooms);
  });

  it('an operation that is under way is not ordered again', async () => {
    await one.lead();
    const ours = operation('ours');
    expect([one.host.give(ours), one.host.give(ours)]).toEqual([given, given]);
    await one.pass();
    expect(one.host.standing().lastSlot).toBe(2);
    await one.received(m2, 2);
    expect(one.host.give(ours)).toEqual(given);
    expect(one.host.standing().lastSlot).toBe(3);
  });

  it('a copy whose disk is full takes nothing on, and goes on when there is room', async () => {
    await one.follow('a');
    one.failing = new LogStoreError('logFull', 'no room');
    const epoch = of2(1);
    const [b, c] = ['b', 'c'].map((text, index) => ({ epoch, entry: entryOf(text, index + 2) }));
    await one.operations(epoch, [2, epoch], [b!]);
    expect(one.told.troubles).toEqual([one.failing]);
    await one.operations(epoch, [3, epoch], [c!]);
    expect(one.host.standing().lastSlot).toBe(3);
    expect(one.of(m2, 'Received').at(-1)).toMatchObject({ received: 2 });
    one.failing = null;
    await one.pass(600);
    expect(one.told.troubles.at(-1)).toBeNull();
    await one.operations(epoch, [3, epoch], [c!]);
    expect(one.of(m2, 'Received').at(-1)).toMatchObject({ received: 4 });
    expect(one.told.errors).toEqual([]);
  });

  it('a log that fails ends it: it says nothing any more', async () => {
    await one.follow('a');
    one.failing = new LogStoreError('logFailed', 'broken');
    const epoch = of2(1);
    await one.operations(epoch, [2, epoch], [{ epoch, entry: entryOf('b', 2) }]);
    expect(one.told.errors).toEqual([one.failing]);
    one.failing = null;
    const before = one.heard.length;
    await one.operations(epoch, [3, epoch], [{ epoch, entry: entryOf('c', 3) }]);
    await one.pass(2000);
    expect(one.heard).toHaveLength(before);
  });

  it('what is settled and executed goes when there is much of it, and the rest is read', async () => {
    const epoch = of2(1);
    await one.follow();
    const [many, times] = [5000, 9];
    for (let n = 0; n < times; n += 1) {
      const entries = Array.from({ length: many }, (_, k) => ({ epoch, entry: entryOf(`${n}.${k}`) }));
      await one.operations(epoch, [1 + n * many, epoch], entries);
    }
    const last = 1 + many * times;
    expect(one.host.standing().lastSlot).toBe(last);
    one.host.applied(at(last), at(11_000));
    await one.operations(epoch, [last, epoch], [], { settled: last });
    expect([one.host.purgedTo, one.told.purges]).toEqual([10_999, 1]);
    expect(await one.host.readChosen(at(1), at(5), 1000)).toEqual([]);
    expect(textsOf(await one.host.readChosen(at(15_001), at(15_002), 1000))).toEqual(['2.4999', '3.0']);
    one.host.restored(at(0));
    await one.pass();
    expect([one.told.copies, one.mark.isSet]).toEqual([1, true]);
    const back = await one.comeBack();
    expect(back.host.purgedTo).toBe(10_999);
  });
});

describe('bytes of others', () => {
  const epoch = of2(1);
  const behind = { prevSlot: at(0), prevEpoch: of2(0), beginsAt: at(1), settled: at(0) };
  const whole = bytesOf({
    kind: 'Operations',
    epoch,
    ...behind,
    entries: [beginning(epoch)],
    isStandby: true,
    sentAtMs: 0,
  });

  it.each([
    ['nothing', new Uint8Array(0)],
    ['an unknown form', Uint8Array.of(9, 1)],
    ['an unknown kind', Uint8Array.of(1, 77, 0, 0, 0, 0, 0, 0, 0, 0)],
    ['half a message', whole.subarray(0, whole.length / 2)],
    ['a message and more', Buffer.concat([whole, Uint8Array.of(0)])],
  ])('%s is dropped, and the host goes on', async (_, bytes) => {
    one.carry(m2, bytes, 'primary');
    await one.pass();
    expect(one.host.standing().lastSlot).toBe(0);
    expect(one.told.errors).toEqual([]);
    one.carry(m2, whole, 'primary');
    await one.pass();
    expect(one.host.standing().lastSlot).toBe(1);
  });

  it('of another channel, or of one who is no member, say nothing', async () => {
    one.carry(m2, whole, 'paxos');
    one.host.onControl('r9.1' as typeof m2, { kind: 'Carried', channel: 'primary', bytes: whole });
    await one.pass();
    expect(one.host.standing().lastSlot).toBe(0);
  });

  it('in the name of another are dropped: an epoch has one primary', async () => {
    one.carry(m3, whole, 'primary');
    await one.say(m3, ask2);
    expect(one.host.standing().lastSlot).toBe(0);
    expect([...one.of(m2, 'Word'), ...one.of(m3, 'Word')]).toEqual([]);
    expect(one.told.errors).toEqual([]);
    one.carry(m2, whole, 'primary');
    await one.pass();
    expect(one.host.standing().lastSlot).toBe(1);
  });
});
