import { describe, expect, it } from 'vitest';
import { ballotNone } from '../multipaxos/ballot.ts';
import {
  command,
  configOf,
  epoch,
  group,
  OneCore,
  ofKind,
  records,
  sent,
  slot,
  start,
  vote,
} from './testing/one-core.ts';

const first = epoch(1, 'r2');
const second = epoch(2, 'r3');
const begin = { epoch: first, entry: start(first) };
const op = (request: number, of = first) => ({ epoch: of, entry: command(request) });

function following(): OneCore {
  const core = new OneCore();
  core.operations(first, [0, ballotNone], [begin, op(1)]);
  core.flush();
  return core;
}

describe('a copy', () => {
  it('tells of operations once they are durable, and executes them then', () => {
    const core = new OneCore();
    const before = core.operations(first, [0, ballotNone], [begin, op(1)]);
    expect(sent(before, 'Received')).toEqual([]);
    expect(ofKind(before, 'chosen')).toEqual([]);
    const after = core.flush();
    expect(sent(after, 'Received').map(({ message }) => [message.received, message.executed])).toEqual([
      [2, 0],
    ]);
    expect(ofKind(after, 'chosen').flatMap(({ entries }) => entries.map((each) => each.slot))).toEqual([
      1, 2,
    ]);
  });

  it('whose word for an epoch is not durable yet tells the epoch nothing until what it follows is', () => {
    const core = new OneCore();
    core.askWord(first, ballotNone, 0);
    const followed = core.operations(first, [0, ballotNone], [begin]);
    expect(sent(followed, 'Received')).toEqual([]);
    const word = core.input({ kind: 'Persisted', seq: 1 });
    expect([...sent(word, 'Word'), ...sent(word, 'Received')]).toEqual([]);
    expect(sent(core.flush(), 'Received').map(({ message }) => message.received)).toEqual([1]);
  });

  it('writes what it follows where its word for that epoch is not durable and nothing is new', () => {
    const core = new OneCore();
    core.askWord(first, ballotNone, 0);
    const followed = core.operations(first, [0, ballotNone], []);
    expect(records(followed)).toEqual([{ kind: 'promise', ballot: first }]);
    expect(sent(core.input({ kind: 'Persisted', seq: 1 }), 'Received')).toEqual([]);
    expect(sent(core.flush(), 'Received')).toHaveLength(1);
  });

  it('tells what it has executed', () => {
    const core = following();
    expect(sent(core.executed(2), 'Received').map(({ message }) => message.executed)).toEqual([2]);
  });

  it('tells of the durable part where more is on its way to the disk', () => {
    const core = following();
    const effects = core.operations(first, [2, first], [op(2)]);
    expect(sent(effects, 'Received').map(({ message }) => message.received)).toEqual([2]);
  });

  it('takes nothing behind a gap, and says where its log ends', () => {
    const core = following();
    const effects = core.operations(first, [5, first], [op(5)]);
    expect(core.state.lastSlot).toBe(2);
    expect(sent(effects, 'Received').map(({ message }) => message.goOnFrom)).toEqual([2]);
  });

  it('takes nothing behind an entry of another epoch, and passes over all of that epoch', () => {
    const core = new OneCore(configOf(), {
      tail: [vote(1, first, start(first)), vote(2, second, start(second)), vote(3, second, command(1))],
    });
    const third = epoch(3, 'r2');
    const effects = core.operations(third, [3, third], [op(9, third)]);
    expect(sent(effects, 'Received').map(({ message }) => message.goOnFrom)).toEqual([1]);
    expect(core.state.promised).toEqual(second);
  });

  it('keeps what it has when it comes again', () => {
    const core = following();
    const effects = core.operations(first, [0, ballotNone], [begin]);
    expect(records(effects)).toEqual([]);
    expect(core.state.lastSlot).toBe(2);
  });

  it('cuts off what differs, and says first that its database has executed it', () => {
    const core = following();
    core.executed(2);
    const effects = core.operations(second, [1, first], [{ epoch: second, entry: start(second) }], {
      beginsAt: 2,
    });
    const kinds = effects.map(({ kind }) => kind);
    expect(kinds).toContain('copyNeeded');
    expect(kinds.indexOf('copyNeeded')).toBeLessThan(kinds.indexOf('persist'));
    expect(core.state.log.get(slot(2))?.entry).toEqual(start(second));
    expect(
      sent(core.flush(), 'Received').map(({ message }) => [
        message.received,
        message.executed,
        message.needsCopy,
      ]),
    ).toEqual([[2, 0, true]]);
  });

  it('overwrites on disk what lies behind the new end, ahead of what is new', () => {
    const core = following();
    core.operations(first, [2, first], [op(2), op(3)]);
    core.flush();
    const written = records(
      core.operations(second, [1, first], [{ epoch: second, entry: start(second) }], { beginsAt: 2 }),
    );
    expect(
      written.map((record) => (record.kind === 'vote' ? [record.slot, record.ballot.round] : record.kind)),
    ).toEqual(['promise', [4, 0], [3, 0], [2, 2]]);
  });

  it('refuses a primary of a lower epoch than it has promised', () => {
    const core = new OneCore(configOf(), { promised: epoch(5, 'r3') });
    const effects = core.operations(first, [0, ballotNone], [begin]);
    expect(sent(effects, 'Refuse').map(({ to, message }) => [to, message.promised])).toEqual([
      ['r2', epoch(5, 'r3')],
    ]);
    expect(core.state.lastSlot).toBe(0);
  });

  it('forgets in a new epoch what the old primary had confirmed', () => {
    const core = following();
    core.operations(second, [1, first], [], { beginsAt: 3 });
    expect(core.state.matched).toBe(1);
  });

  it('executes nothing that its primary has not confirmed', () => {
    const core = new OneCore(configOf(), {
      tail: [vote(1, first, start(first)), vote(2, first, command(1))],
    });
    core.operations(first, [1, first], []);
    core.flush();
    expect(ofKind(core.effects, 'chosen').flatMap(({ entries }) => entries.map((each) => each.slot))).toEqual(
      [1],
    );
  });

  it('is a standby when the primary waits for it, and has its beginning', () => {
    const core = following();
    expect(core.state.role).toBe('recovering');
    core.operations(first, [2, first], [], { isStandby: true, beginsAt: 3 });
    expect(core.state.role).toBe('recovering');
    core.operations(first, [2, first], [], { isStandby: true, beginsAt: 1 });
    expect(core.state.role).toBe('standby');
  });

  describe('whose log begins with what another primary has settled', () => {
    const purged = (): OneCore =>
      new OneCore(configOf(), {
        commitPoint: 4,
        database: 6,
        tail: [vote(5, first, command(5)), vote(6, first, command(6))],
      });
    const begun = { epoch: second, entry: start(second) };

    it.each([
      ['the epoch began below', [2, first], [begun], 3],
      ['its first entry is of another epoch', [5, epoch(1, 'r1')], [], 7],
      [
        'an entry that comes is of another epoch',
        [4, first],
        [{ epoch: epoch(1, 'r1'), entry: command(5) }],
        7,
      ],
    ] as const)('needs a copy: %s', (_, prev, entries, beginsAt) => {
      const core = purged();
      const effects = core.operations(second, prev, entries, { beginsAt });
      expect(ofKind(effects, 'copyNeeded')).toHaveLength(1);
      expect(sent(effects, 'Received').map(({ message }) => [message.received, message.needsCopy])).toEqual([
        [0, true],
      ]);
      expect(core.state.lastSlot).toBe(6);
    });

    it('goes on where it is the same', () => {
      const core = purged();
      const effects = core.operations(second, [5, first], [{ epoch: first, entry: command(6) }, begun], {
        beginsAt: 7,
      });
      expect(ofKind(effects, 'copyNeeded')).toEqual([]);
      expect(core.state.lastSlot).toBe(7);
    });
  });

  it('hears nobody of another group, and nobody that is no replica', () => {
    const core = new OneCore();
    expect(
      core.receive('r9', {
        kind: 'AskWord',
        group,
        epoch: epoch(1, 'r9'),
        lastEpoch: ballotNone,
        lastSlot: slot(0),
      }),
    ).toEqual([]);
    const stranger = { kind: 'Word', group: 'other' as typeof group, epoch: first } as const;
    expect(core.receive('r2', stranger)).toEqual([]);
  });
});
