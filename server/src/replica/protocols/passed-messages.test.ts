/** What people who watch are told of messages, by the hosts of both protocols. */
import { describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../api/events.ts';
import type { GroupId } from '../../multipaxos/types/names.ts';
import type { ReplicaEvents } from '../status/events.ts';
import { at, m2, m3, OnePaxosHost, operation } from './testing/one-paxos-host.ts';
import { shownOfPrimary } from './passed-messages.ts';
import { OnePrimaryHost } from './testing/one-primary-host.ts';

type Passed = Extract<TraceEvent, { readonly name: 'MessagesPassed' }>;

function listen(events: ReplicaEvents, attention: 'all' | 'watching'): Passed[] {
  const told: Passed[] = [];
  events.subscribe((event) => {
    if (event.name === 'MessagesPassed') told.push(event);
  }, attention);
  return told;
}

const sentIn = (told: readonly Passed[]): readonly string[] =>
  told.flatMap(({ sent }) => sent.map(({ kind, peer }) => `${kind} ${peer}`));

describe('messages that pass', () => {
  it('are told of to whoever watches, what is heard with what is sent because of it', async () => {
    const one = await OnePaxosHost.start();
    one.host.restored(at(0));
    const told = listen(one.events, 'watching');
    const ballot = { round: 1, replica: m2 };
    await one.say(m2, { kind: 'SlotPrepare', slot: at(1), ballot });
    expect(told.flatMap(({ heard }) => heard)).toEqual([
      { peer: 'r2', kind: 'SlotPrepare', ballot, firstSlot: 1 },
    ]);
    expect(told.flatMap(({ sent }) => sent)).toContainEqual({
      peer: 'r2',
      kind: 'SlotPromise',
      ballot,
      firstSlot: 1,
    });
    one.host.give(operation('ours'));
    await one.pass();
    expect(sentIn(told)).toEqual(expect.arrayContaining(['SlotPrepare r2', 'SlotPrepare r3']));
  });

  it('left when the turn began in which they were sent: they may be there before it is over', async () => {
    const one = await OnePaxosHost.start();
    one.host.restored(at(0));
    const told = listen(one.events, 'watching');
    one.host.give(operation('ours'));
    const beganUs = one.events.nowUs();
    await Promise.resolve();
    expect(sentIn(told)).toContain('SlotPrepare r2');
    expect(told[0]!.atUs).toBeLessThan(beganUs);
  });

  it('are told of to nobody else, a trace least of all', async () => {
    const one = await OnePaxosHost.start();
    one.host.restored(at(0));
    const told = listen(one.events, 'all');
    await one.say(m3, { kind: 'SlotPrepare', slot: at(1), ballot: { round: 1, replica: m3 } });
    expect(one.of(m3, 'SlotPromise')).not.toEqual([]);
    expect(told).toEqual([]);
  });

  it('of a primary are operations, and without any a sign of life that is about no slot', async () => {
    const one = await OnePrimaryHost.start();
    one.host.restored(at(0));
    await one.lead();
    const told = listen(one.events, 'watching');
    await one.passHeard(1_000, one.host.standing().lastSlot);
    one.host.give(operation('ours'));
    await one.pass();
    const operations = told.flatMap(({ sent }) => sent.filter(({ kind }) => kind === 'Operations'));
    expect(
      operations.some(({ firstSlot, lastSlot }) => firstSlot !== undefined && lastSlot === firstSlot),
    ).toBe(true);
    expect(operations.some(({ firstSlot }) => firstSlot === undefined)).toBe(true);
  });

  it('of what a primary has told span both lists, though these have gaps', () => {
    const epoch = { round: 2, replica: m2 };
    const shown = (acknowledged: readonly number[], unacknowledged: readonly number[]) =>
      shownOfPrimary({
        kind: 'Told',
        group: 'main' as GroupId,
        epoch,
        acknowledged: acknowledged.map(at),
        unacknowledged: unacknowledged.map(at),
      });
    expect(shown([4, 9], [3])).toMatchObject({ firstSlot: 3, lastSlot: 9 });
    expect(shown([], [7])).toMatchObject({ firstSlot: 7, lastSlot: 7 });
    expect(shown([], []).firstSlot).toBeUndefined();
  });
});
