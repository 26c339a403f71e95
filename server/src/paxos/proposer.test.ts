import { describe, expect, it } from 'vitest';
import { at, ballot, command, noop, OnePaxos, r1, r2, r3 } from './testing/one-paxos.ts';

const first = ballot(1, r1);

describe('a proposer', () => {
  it('asks for promises at once, for votes when a majority has promised, and tells when a majority has voted', () => {
    const core = new OnePaxos();
    core.propose('a');
    expect(core.effectsOf('proposed')).toEqual([
      { kind: 'proposed', proposal: { client: 'a', request: 1 }, slot: 1 },
    ]);
    expect(core.sent('SlotPrepare').map(({ to, message }) => [to, message.slot, message.ballot])).toEqual([
      [r2, 1, first],
      [r3, 1, first],
    ]);
    core.flush();
    core.hear(r2, {
      kind: 'SlotPromise',
      slot: at(1),
      ballot: first,
      vote: null,
    });
    expect(core.sent('SlotAccept').map(({ to, message }) => [to, message.entry])).toEqual([
      [r2, command('a')],
      [r3, command('a')],
    ]);
    core.flush();
    expect(core.sent('Learn')).toEqual([]);
    core.hear(r2, { kind: 'SlotAccepted', slot: at(1), ballot: first });
    expect(core.sent('Learn').map(({ to, message }) => [to, message.ballot])).toEqual([
      [r2, first],
      [r3, first],
    ]);
    expect(core.effectsOf('chosen')).toEqual([
      { kind: 'chosen', entries: [{ slot: 1, entry: command('a') }] },
    ]);
  });

  it('asks for no vote before its own promise is durable, however many have promised', () => {
    const core = new OnePaxos();
    core.propose('a');
    for (const from of [r2, r3])
      core.hear(from, {
        kind: 'SlotPromise',
        slot: at(1),
        ballot: first,
        vote: null,
      });
    expect(core.sent('SlotAccept')).toEqual([]);
    core.flush();
    expect(core.sent('SlotAccept')).toHaveLength(2);
  });

  it('counts its own vote no sooner than it is durable', () => {
    const core = new OnePaxos();
    core.propose('a');
    core.flush();
    core.hear(r2, {
      kind: 'SlotPromise',
      slot: at(1),
      ballot: first,
      vote: null,
    });
    core.hear(r2, { kind: 'SlotAccepted', slot: at(1), ballot: first });
    expect(core.state.commitPoint).toBe(0);
    core.flush();
    expect(core.state.commitPoint).toBe(1);
  });

  it('proposes the vote of the highest ballot that it finds, and moves its own to the next slot when that is chosen', () => {
    const core = new OnePaxos({
      members: [r1, r2, r3, 'r4' as typeof r1, 'r5' as typeof r1],
    });
    core.propose('a');
    core.flush();
    const vote = (round: number, client: string) => ({
      ballot: ballot(round, r3),
      entry: command(client),
    });
    core.hear(r2, {
      kind: 'SlotPromise',
      slot: at(1),
      ballot: first,
      vote: vote(0, 'low'),
    });
    core.hear(r3, {
      kind: 'SlotPromise',
      slot: at(1),
      ballot: first,
      vote: vote(1, 'high'),
    });
    expect(core.sent('SlotAccept')[0]?.message.entry).toEqual(command('high'));
    core.flush();
    core.hear(r2, { kind: 'SlotAccepted', slot: at(1), ballot: first });
    core.hear(r3, { kind: 'SlotAccepted', slot: at(1), ballot: first });
    expect(core.effectsOf('chosen')[0]?.entries).toEqual([{ slot: 1, entry: command('high') }]);
    expect(core.effectsOf('proposed')).toMatchObject([{ proposal: { client: 'a' }, slot: 2 }]);
  });

  it('that was rejected waits a random time, and comes again above what it was told, in the same slot', () => {
    const core = new OnePaxos();
    core.propose('a');
    core.flush();
    core.hear(r2, {
      kind: 'SlotReject',
      slot: at(1),
      ballot: first,
      promised: ballot(7, r2),
    });
    expect(core.actions()).toContain('HandleReject');
    expect(core.sent('SlotPrepare')).toEqual([]);
    core.tick(0);
    expect(core.sent('SlotPrepare')).toEqual([]);
    core.tick(41);
    expect(core.sent('SlotPrepare').map(({ message }) => [message.slot, message.ballot])).toEqual([
      [1, ballot(8, r1)],
      [1, ballot(8, r1)],
    ]);
  });

  it('waits longer each time, up to a bound', () => {
    const waits = [1, 2, 3, 12].map((times) => {
      const core = new OnePaxos();
      core.propose('a');
      const own = core.state.slots.get(at(1))!.own!;
      own.rejections = times - 1;
      core.hear(r2, {
        kind: 'SlotReject',
        slot: at(1),
        ballot: first,
        promised: ballot(7, r2),
      });
      return own.notBeforeMs;
    });
    expect(waits[1]! / waits[0]!).toBeCloseTo(2);
    expect(waits[2]! / waits[1]!).toBeCloseTo(2);
    expect(waits[3]).toBeLessThanOrEqual(400);
    expect(waits[3]).toBeGreaterThan(waits[2]!);
  });

  it('gives its ballot up to a higher one that it promises, and backs off', () => {
    const core = new OnePaxos();
    core.propose('a');
    core.hear(r3, { kind: 'SlotPrepare', slot: at(1), ballot: ballot(2, r3) });
    core.flush();
    core.hear(r2, {
      kind: 'SlotPromise',
      slot: at(1),
      ballot: first,
      vote: null,
    });
    expect(core.sent('SlotAccept')).toEqual([]);
    expect(core.state.slots.get(at(1))!.own!.notBeforeMs).toBeGreaterThan(0);
  });

  it('keeps several proposals in flight, each in a slot of its own, up to its window', () => {
    const core = new OnePaxos();
    core.propose('a', 'b', 'a', 'c', 'd', 'e');
    expect(core.effectsOf('proposed').map(({ proposal, slot }) => [proposal.client, slot])).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 3],
      ['d', 4],
    ]);
    expect(core.effectsOf('refused').map(({ proposal, code }) => [proposal.client, code])).toEqual([
      ['a', 'duplicate'],
      ['e', 'windowFull'],
    ]);
  });

  it('takes no more bytes than its window has room for, and one proposal whatever its size', () => {
    const core = new OnePaxos({ windowBytesMax: 100 });
    core.propose('a', 'b');
    expect(core.effectsOf('refused')).toMatchObject([{ proposal: { client: 'b' }, code: 'windowFull' }]);
  });

  it('takes one that is larger than its window, and has room again for what is chosen', () => {
    const core = new OnePaxos({ windowBytesMax: 10 });
    for (const [i, client] of ['a', 'b', 'c'].entries()) expect(core.choose(client)).toBe(i + 1);
    expect(core.state.underBytes).toBe(0);
  });

  it('cuts in with a proposal that has lost a slot: it has waited', () => {
    const core = new OnePaxos();
    core.propose('a');
    core.hear(r2, { kind: 'SlotPrepare', slot: at(2), ballot: ballot(1, r2) });
    core.hear(r2, {
      kind: 'LearnReply',
      firstSlot: at(1),
      entries: [command('x')],
      purgedTo: at(0),
    });
    expect(core.sent('SlotPrepare').map(({ message }) => [message.slot, message.ballot.round])).toEqual([
      [2, 2],
      [2, 2],
    ]);
  });

  it('waits a time that is drawn', () => {
    const waits = [0.1, 0.7].map((random) => {
      const core = new OnePaxos();
      core.tick(0, random);
      core.propose('a');
      core.hear(r2, {
        kind: 'SlotReject',
        slot: at(1),
        ballot: first,
        promised: ballot(7, r2),
      });
      return core.state.slots.get(at(1))!.own!.notBeforeMs;
    });
    expect(new Set(waits).size).toBe(2);
  });

  it('does not cut in at once where another is at work', () => {
    const core = new OnePaxos();
    core.hear(r2, { kind: 'SlotPrepare', slot: at(1), ballot: ballot(1, r2) });
    core.propose('a');
    expect(core.effectsOf('proposed')).toMatchObject([{ slot: 1 }]);
    expect(core.sent('SlotPrepare')).toEqual([]);
    core.tick(20);
    expect(core.sent('SlotPrepare')).toHaveLength(2);
  });

  it('goes beyond the slots of others with a proposal that has lost twice', () => {
    const core = new OnePaxos();
    core.propose('a');
    const lose = (slot: number): void => {
      const entries = [command(`x${slot}`)];
      core.hear(r2, {
        kind: 'LearnReply',
        firstSlot: at(slot),
        entries,
        purgedTo: at(0),
      });
    };
    lose(1);
    expect(core.effectsOf('proposed')).toMatchObject([{ slot: 2 }]);
    core.hear(r2, { kind: 'SlotPrepare', slot: at(3), ballot: ballot(1, r2) });
    lose(2);
    expect(core.effectsOf('proposed')).toMatchObject([{ slot: 4 }]);
  });

  it('sends again to those who have not answered', () => {
    const core = new OnePaxos();
    core.propose('a');
    core.flush();
    core.tick(99);
    expect(core.sent('SlotPrepare')).toEqual([]);
    core.tick(1);
    expect(core.sent('SlotPrepare').map(({ to }) => to)).toEqual([r2, r3]);
    core.tick(60);
    core.hear(r3, {
      kind: 'SlotPromise',
      slot: at(1),
      ballot: first,
      vote: null,
    });
    core.tick(99);
    expect(core.sent('SlotAccept')).toEqual([]);
    core.tick(1);
    expect(core.sent('SlotAccept').map(({ to }) => to)).toEqual([r2, r3]);
    core.hear(r3, { kind: 'SlotAccepted', slot: at(1), ballot: first });
    core.tick(100);
    expect(core.sent('SlotAccept').map(({ to }) => to)).toEqual([r2]);
  });

  it('of a group of one needs nobody but its disk', () => {
    const core = new OnePaxos({ members: [r1] });
    core.propose('a');
    core.flush();
    expect(core.state.commitPoint).toBe(0);
    core.flush();
    expect(core.effectsOf('chosen')[0]?.entries).toEqual([{ slot: 1, entry: command('a') }]);
  });
});

describe('a slot that is in use and silent', () => {
  it('is finished with a no-op by whoever sees it', () => {
    const core = new OnePaxos();
    core.hear(r2, { kind: 'SlotPrepare', slot: at(2), ballot: ballot(1, r2) });
    core.tick(1);
    core.tick(299);
    expect(core.sent('SlotPrepare')).toEqual([]);
    core.tick(30);
    expect(core.sent('SlotPrepare').map(({ message }) => [message.slot, message.ballot.round])).toEqual([
      [1, 1],
      [1, 1],
      [2, 2],
      [2, 2],
    ]);
    core.flush();
    core.hear(r3, {
      kind: 'SlotPromise',
      slot: at(1),
      ballot: first,
      vote: null,
    });
    expect(core.sent('SlotAccept')[0]?.message.entry).toEqual(noop);
    core.hear(r3, {
      kind: 'SlotReject',
      slot: at(1),
      ballot: first,
      promised: ballot(2, r3),
    });
    // Others finish it, too: each time it waits longer.
    expect(core.state.slots.get(at(1))!.fills).toBe(1);
  });

  it('is finished with what was voted for', () => {
    const core = new OnePaxos();
    core.hear(r2, {
      kind: 'SlotAccept',
      slot: at(1),
      ballot: ballot(1, r2),
      entry: command('x'),
    });
    core.tick(400);
    core.flush();
    core.hear(r3, {
      kind: 'SlotPromise',
      slot: at(1),
      ballot: ballot(2, r1),
      vote: null,
    });
    expect(core.sent('SlotAccept')[0]?.message.entry).toEqual(command('x'));
  });
});
