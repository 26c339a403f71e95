import { describe, expect, it } from 'vitest';
import { at, ballot, command, OnePaxos, r1, r2, r3 } from './testing/one-paxos.ts';

const reply = (firstSlot: number, clients: readonly string[], purgedTo = 0) =>
  ({
    kind: 'LearnReply',
    firstSlot: at(firstSlot),
    entries: clients.map((client) => command(client)),
    purgedTo: at(purgedTo),
  }) as const;

describe('a learner', () => {
  it('takes its vote for what is chosen if it voted in the very ballot that chose, and else asks', () => {
    const core = new OnePaxos();
    core.hear(r2, {
      kind: 'SlotAccept',
      slot: at(1),
      ballot: ballot(1, r2),
      entry: command('x'),
    });
    core.hear(r3, { kind: 'Learn', slot: at(1), ballot: ballot(2, r3) });
    expect(core.state.commitPoint).toBe(0);
    expect(core.sent('LearnRequest')).toMatchObject([{ to: r3, message: { fromSlot: 1, toSlot: 1 } }]);
    core.hear(r2, { kind: 'Learn', slot: at(1), ballot: ballot(1, r2) });
    expect(core.effectsOf('chosen')).toEqual([
      { kind: 'chosen', entries: [{ slot: 1, entry: command('x') }] },
    ]);
  });

  it('tells what is chosen in slot order, each slot once', () => {
    const core = new OnePaxos();
    core.hear(r2, reply(2, ['b', 'c']));
    expect(core.effectsOf('chosen')).toEqual([]);
    core.hear(r2, reply(1, ['a']));
    expect(core.effectsOf('chosen')[0]?.entries.map(({ slot }) => slot)).toEqual([1, 2, 3]);
    core.hear(r2, reply(1, ['a', 'b', 'c']));
    expect(core.effectsOf('chosen')).toEqual([]);
  });

  it('writes what it learns, unless its vote says the same', () => {
    const core = new OnePaxos();
    core.hear(r2, {
      kind: 'SlotAccept',
      slot: at(1),
      ballot: ballot(1, r2),
      entry: command('a'),
    });
    core.hear(r3, reply(1, ['a', 'b']));
    expect(core.records.filter(({ kind }) => kind === 'chosen' || kind === 'vote')).toMatchObject([
      { kind: 'vote', slot: 1 },
      { kind: 'chosen', slot: 2, entry: command('b') },
    ]);
  });

  it('stops when something else is told where it knows what is chosen', () => {
    const core = new OnePaxos();
    core.hear(r2, reply(1, ['a']));
    expect(() => core.hear(r3, reply(1, ['b']))).toThrow('DecidedIsChosen');
  });

  it('writes its commit point behind the entries that it speaks of', () => {
    const core = new OnePaxos();
    core.choose('a');
    core.propose('b');
    expect(core.effectsOf('persist')[0]?.records).toEqual([
      { kind: 'slotPromise', slot: 2, ballot: ballot(1, r1) },
      { kind: 'commitPoint', slot: 1 },
    ]);
    core.propose('c');
    expect(core.effectsOf('persist')[0]?.records).toHaveLength(1);
  });

  it('after a restart goes on from the commit point, and tells what is learnt above it', () => {
    const core = new OnePaxos(
      {},
      {
        promised: ballot(1, r2),
        commitPoint: at(4),
        purgedTo: at(2),
        configuration: { version: 1, slot: at(0), members: [] },
        tail: [
          { slot: at(5), ballot: null, entry: command('e') },
          { slot: at(6), ballot: ballot(1, r2), entry: command('f') },
        ],
      },
    );
    core.tick(0);
    expect(core.effectsOf('chosen')).toEqual([
      { kind: 'chosen', entries: [{ slot: 5, entry: command('e') }] },
    ]);
    expect(core.state.commitPoint).toBe(5);
  });
});

describe('catching up', () => {
  it('asks whoever knows more, and another when there is no answer', () => {
    const core = new OnePaxos();
    core.tick(100);
    core.hear(r2, { kind: 'Status', commitPoint: at(20) });
    expect(core.sent('LearnRequest')).toMatchObject([{ to: r2, message: { fromSlot: 1, toSlot: 8 } }]);
    core.tick(99);
    expect(core.sent('LearnRequest')).toEqual([]);
    core.tick(1);
    expect(core.sent('LearnRequest').map(({ to }) => to)).toEqual([r3]);
    core.hear(r3, reply(1, ['a', 'b']));
    expect(core.sent('LearnRequest')).toMatchObject([{ to: r3, message: { fromSlot: 3 } }]);
  });

  it('tells how far it is, now and then', () => {
    const core = new OnePaxos();
    core.choose('a');
    core.tick(50);
    expect(core.sent('Status').map(({ to, message }) => [to, message.commitPoint])).toEqual([
      [r2, 1],
      [r3, 1],
    ]);
    core.tick(49);
    expect(core.sent('Status')).toEqual([]);
  });

  it('answers from memory as far as it is decided, and from the log what is durable there and no longer in memory', () => {
    const core = new OnePaxos({ windowSlotsMax: 1, catchUpSlotsMax: 4 });
    for (let i = 1; i <= 8; i += 1) core.choose(`c${i}`);
    core.hear(r3, { kind: 'LearnRequest', fromSlot: at(7), toSlot: at(20) });
    expect(core.sent('LearnReply')[0]?.message.entries).toEqual([command('c7'), command('c8')]);
    core.flush();
    core.tick(1);
    expect(core.state.droppedTo).toBe(4);
    core.hear(r3, { kind: 'LearnRequest', fromSlot: at(1), toSlot: at(20) });
    expect(core.effectsOf('serveCatchUp')).toEqual([
      { kind: 'serveCatchUp', to: r3, fromSlot: 1, toSlot: 4 },
    ]);
    core.hear(r3, { kind: 'LearnRequest', fromSlot: at(9), toSlot: at(20) });
    expect(core.sent('LearnReply')).toEqual([]);
  });

  it('lets go of nothing, and reads nothing from the log, that is not durable there in its last form', () => {
    const core = new OnePaxos({ windowSlotsMax: 1, catchUpSlotsMax: 20 });
    core.hear(r2, reply(1, ['a', 'b', 'c', 'd', 'e', 'f']));
    core.tick(1);
    expect(core.state).toMatchObject({
      commitPoint: 6,
      durableTo: 0,
      droppedTo: 0,
    });
    core.flush();
    core.hear(r2, reply(7, ['g']));
    core.hear(r3, { kind: 'LearnRequest', fromSlot: at(1), toSlot: at(20) });
    expect(core.effectsOf('serveCatchUp')).toMatchObject([{ fromSlot: 1, toSlot: 6 }]);
  });

  it('remembers who knows most', () => {
    const core = new OnePaxos();
    core.hear(r2, { kind: 'Status', commitPoint: at(20) });
    core.hear(r3, { kind: 'Status', commitPoint: at(10) });
    expect(core.state).toMatchObject({ heardCommitPoint: 20, heardFrom: r2 });
  });

  it('tells no more bytes than fit a message', () => {
    const core = new OnePaxos({ catchUpBytesMax: 150 });
    core.hear(r2, reply(1, ['a', 'b', 'c']));
    core.hear(r3, { kind: 'LearnRequest', fromSlot: at(1), toSlot: at(3) });
    expect(core.sent('LearnReply')[0]?.message.entries).toHaveLength(2);
  });
});
