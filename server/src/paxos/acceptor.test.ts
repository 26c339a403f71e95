import { describe, expect, it } from 'vitest';
import { at, ballot, command, OnePaxos, r1, r2, r3 } from './testing/one-paxos.ts';

const prepare = (slot: number, round: number, from = r2) =>
  ({
    kind: 'SlotPrepare',
    slot: at(slot),
    ballot: ballot(round, from),
  }) as const;
const accept = (slot: number, round: number, client: string, from = r2) =>
  ({
    kind: 'SlotAccept',
    slot: at(slot),
    ballot: ballot(round, from),
    entry: command(client),
  }) as const;

describe('an acceptor', () => {
  it('promises when the promise is durable, and tells its vote with it', () => {
    const core = new OnePaxos();
    core.hear(r2, accept(1, 1, 'x'));
    core.hear(r3, prepare(1, 2, r3));
    expect(core.sent('SlotPromise')).toEqual([]);
    expect(core.records).toEqual([
      { kind: 'vote', slot: 1, ballot: ballot(1, r2), entry: command('x') },
      { kind: 'slotPromise', slot: 1, ballot: ballot(2, r3) },
    ]);
    core.flush();
    expect(core.sent('SlotPromise')).toMatchObject([
      {
        to: r3,
        message: {
          ballot: ballot(2, r3),
          vote: { ballot: ballot(1, r2), entry: command('x') },
        },
      },
    ]);
    expect(core.sent('SlotAccepted')).toMatchObject([{ to: r2 }]);
  });

  it('tells of a record when the log has got so far, and not of those behind it', () => {
    const core = new OnePaxos();
    core.hear(r2, prepare(1, 1));
    core.hear(r2, prepare(2, 1));
    core.input({ kind: 'Persisted', seq: 1 });
    expect(core.sent('SlotPromise').map(({ message }) => message.slot)).toEqual([1]);
    core.flush();
    expect(core.sent('SlotPromise').map(({ message }) => message.slot)).toEqual([2]);
  });

  it('neither promises nor votes below its promise, and says what that is', () => {
    const core = new OnePaxos();
    core.hear(r3, prepare(1, 5, r3));
    for (const body of [prepare(1, 5), accept(1, 4, 'x')]) {
      core.hear(r2, body);
      expect(core.effectsOf('persist')).toEqual([]);
      expect(core.sent('SlotReject')).toMatchObject([{ to: r2, message: { promised: ballot(5, r3) } }]);
    }
  });

  it('has a promise for each slot', () => {
    const core = new OnePaxos();
    core.hear(r3, prepare(1, 5, r3));
    core.hear(r2, prepare(2, 1));
    core.flush();
    expect(core.sent('SlotPromise').map(({ to }) => to)).toEqual([r3, r2]);
  });

  it('answers again what comes again, when it is durable', () => {
    const core = new OnePaxos();
    core.hear(r2, prepare(1, 1));
    core.hear(r2, prepare(1, 1));
    expect(core.effectsOf('persist')).toEqual([]);
    expect(core.sent('SlotPromise')).toEqual([]);
    core.flush();
    expect(core.sent('SlotPromise')).toHaveLength(2);
    core.hear(r2, accept(1, 1, 'x'));
    core.flush();
    core.hear(r2, accept(1, 1, 'x'));
    expect(core.sent('SlotAccepted')).toHaveLength(1);
    expect(core.effectsOf('persist')).toEqual([]);
    // Who was asked for a vote needs no promise any more.
    core.hear(r2, prepare(1, 1));
    expect(core.sent('SlotPromise')).toEqual([]);
  });

  it('tells what is decided instead of promising or voting', () => {
    const core = new OnePaxos();
    const slot = core.choose('a');
    for (const body of [prepare(slot, 9, r3), accept(slot, 9, 'x', r3)]) {
      core.hear(r3, body);
      expect(core.sent('LearnReply')).toMatchObject([
        { to: r3, message: { firstSlot: 1, entries: [command('a')] } },
      ]);
      expect(core.effectsOf('persist')).toEqual([]);
    }
  });

  it('says that a slot is forgotten, and promises nothing there', () => {
    const core = new OnePaxos();
    core.choose('a');
    core.flush();
    core.input({ kind: 'Applied', slot: at(1), durableSlot: at(1) });
    for (const from of [r2, r3]) core.hear(from, { kind: 'Status', commitPoint: at(1) }, 1);
    core.tick(1);
    expect(core.effectsOf('purge')).toEqual([{ kind: 'purge', upTo: 1 }]);
    core.hear(r3, prepare(1, 9, r3));
    expect(core.effectsOf('persist')).toEqual([]);
    expect(core.sent('LearnReply')).toMatchObject([{ to: r3, message: { entries: [], purgedTo: 1 } }]);
  });

  it('holds nothing that lies too far above what it knows to be decided', () => {
    const core = new OnePaxos();
    core.hear(r2, prepare(33, 1));
    expect(core.effects.filter(({ kind }) => kind !== 'trace')).toEqual([]);
    core.hear(r2, prepare(32, 1));
    expect(core.effectsOf('persist')).toHaveLength(1);
  });

  it('remembers its promises and votes over a restart', () => {
    const recovered = new OnePaxos(
      {},
      {
        promised: ballot(3, r2),
        commitPoint: at(0),
        purgedTo: at(0),
        configuration: { version: 1, slot: at(0), members: [] },
        tail: [{ slot: at(2), ballot: ballot(3, r2), entry: command('x') }],
        slotPromises: [
          { slot: at(1), ballot: ballot(4, r3) },
          { slot: at(2), ballot: ballot(2, r3) },
        ],
      },
    );
    recovered.hear(r2, prepare(1, 4));
    expect(recovered.sent('SlotReject')).toMatchObject([{ message: { promised: ballot(4, r3) } }]);
    recovered.hear(r2, prepare(2, 2));
    expect(recovered.sent('SlotReject')).toMatchObject([{ message: { promised: ballot(3, r2) } }]);
    recovered.propose('a');
    recovered.tick(30);
    expect(recovered.sent('SlotPrepare')[0]?.message).toMatchObject({
      slot: 1,
      ballot: ballot(5, r1),
    });
  });

  it('after a restart takes for decided what its log has purged', () => {
    const log = {
      promised: ballot(1, r2),
      configuration: { version: 1, slot: at(0), members: [] },
      tail: [],
    };
    const core = new OnePaxos({}, { ...log, commitPoint: at(3), purgedTo: at(5) });
    core.propose('a');
    expect(core.effectsOf('proposed')).toMatchObject([{ slot: 6 }]);
  });

  it('hears nobody who is not a member, nor of another group', () => {
    const core = new OnePaxos();
    core.hear('r9' as typeof r2, prepare(1, 1));
    expect(core.effectsOf('persist')).toEqual([]);
    core.hear(r1, prepare(1, 1, r1));
    expect(core.effectsOf('persist')).toEqual([]);
  });
});
