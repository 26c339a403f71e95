import { describe, expect, it } from 'vitest';
import { ballotNone } from '../multipaxos/ballot.ts';
import {
  command,
  configOf,
  epoch,
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

function tainted(): OneCore {
  const core = new OneCore();
  core.operations(
    first,
    [0, ballotNone],
    [
      { epoch: first, entry: start(first) },
      { epoch: first, entry: command(1) },
    ],
  );
  core.flush();
  core.executed(2);
  core.operations(second, [1, first], [{ epoch: second, entry: start(second) }], { beginsAt: 2 });
  core.flush();
  return core;
}

const copied = [vote(5, second, command(5)), vote(6, second, command(6))];

describe('a primary that pauses', () => {
  it('keeps requests waiting, and orders them when it goes on', () => {
    const core = new OneCore().lead();
    core.executed(1);
    core.input({ kind: 'Pause' });
    expect(ofKind(core.propose(1, 'async'), 'proposed')).toEqual([]);
    expect(ofKind(core.propose(1, 'async'), 'refused').map(({ code }) => code)).toEqual(['duplicate']);
    const effects = core.input({ kind: 'Resume' });
    expect(ofKind(effects, 'proposed')).toHaveLength(1);
    expect(ofKind(effects, 'resumed')).toHaveLength(1);
  });

  it('tells its log once all of it is executed', () => {
    const core = new OneCore().lead();
    core.executed(1);
    core.propose(1, 'async');
    core.flush();
    expect(ofKind(core.input({ kind: 'Pause' }), 'paused')).toEqual([]);
    const [paused] = ofKind(core.executed(2), 'paused');
    expect(paused?.entries.map((each) => each.slot)).toEqual([1, 2]);
    expect(ofKind(core.executed(2), 'paused')).toEqual([]);
  });

  it('goes on by itself after a while', () => {
    const core = new OneCore().lead();
    core.input({ kind: 'Pause' });
    core.propose(1, 'async');
    core.tick(50);
    core.received('r2', 1);
    expect(ofKind(core.tick(249), 'proposed')).toEqual([]);
    expect(ofKind(core.tick(1), 'proposed')).toHaveLength(1);
  });

  it('keeps no more waiting than its window', () => {
    const core = new OneCore().lead();
    core.input({ kind: 'Pause' });
    for (let request = 1; request <= 9; request += 1) core.propose(request, 'async');
    expect(ofKind(core.effects, 'refused').map(({ code }) => code)).toEqual(['windowFull']);
  });

  it('refuses what waits when it is deposed', () => {
    const core = new OneCore().lead();
    core.input({ kind: 'Pause' });
    core.propose(1, 'async');
    const effects = core.input({ kind: 'StepDown' });
    expect(ofKind(effects, 'refused').map(({ code }) => code)).toEqual(['notLeader']);
    expect(ofKind(effects, 'resumed')).toHaveLength(1);
  });

  it('hears that a copy cannot go on', () => {
    const core = new OneCore().lead();
    expect(ofKind(core.received('r2', 1, { needsCopy: true }), 'transferNeeded')).toEqual([
      { kind: 'transferNeeded', to: 'r2' },
    ]);
    expect(ofKind(core.received('r2', 1, { needsCopy: true }), 'transferNeeded')).toEqual([]);
  });
});

describe('a replica whose database must be replaced', () => {
  it('executes nothing, and is no standby', () => {
    const core = tainted();
    core.effects = [];
    core.operations(second, [2, second], [{ epoch: second, entry: command(7) }], {
      beginsAt: 2,
      isStandby: true,
    });
    core.flush();
    expect(ofKind(core.effects, 'chosen')).toEqual([]);
    expect(core.state.role).toBe('recovering');
  });

  it('goes on from the copy and the log that came with it, once that is durable', () => {
    const core = tainted();
    const effects = core.input({ kind: 'Copied', epoch: second, entries: copied });
    expect(
      records(effects).map((record) =>
        record.kind === 'vote' || record.kind === 'commitPoint' ? [record.kind, record.slot] : record.kind,
      ),
    ).toEqual(['promise', ['vote', 5], ['vote', 6], ['commitPoint', 4]]);
    expect(core.state.needsCopy).toBe(true);
    core.flush();
    expect([core.state.needsCopy, core.state.base, core.state.lastSlot, core.state.executed]).toEqual([
      false,
      5,
      6,
      6,
    ]);
  });

  it('hears nothing, and does not stand, while that is written', () => {
    const core = tainted();
    core.input({ kind: 'Copied', epoch: second, entries: copied });
    expect(sent(core.operations(second, [2, second], [], { beginsAt: 2 }), 'Received')).toEqual([]);
    core.tick(1000);
    expect(core.state.promised).toEqual(second);
  });

  it('keeps a log that has what the copy has executed last', () => {
    const core = tainted();
    core.operations(
      second,
      [2, second],
      [
        { epoch: second, entry: command(3) },
        { epoch: second, entry: command(4) },
      ],
      { beginsAt: 2 },
    );
    core.flush();
    core.input({
      kind: 'Copied',
      epoch: second,
      entries: [vote(1, first, start(first)), vote(2, second, start(second)), vote(3, second, command(3))],
    });
    core.flush();
    expect([core.state.lastSlot, core.state.executed, core.state.pushedTo]).toEqual([4, 3, 4]);
  });

  it('takes no copy that ends below what its log has let go of', () => {
    const core = new OneCore(configOf(), { commitPoint: 4, database: 5, tail: [vote(5, first, command(5))] });
    core.operations(second, [2, first], [{ epoch: second, entry: start(second) }], { beginsAt: 3 });
    expect(core.state.needsCopy).toBe(true);
    const copy = (last: number) =>
      core.input({
        kind: 'Copied',
        epoch: second,
        entries: Array.from({ length: last }, (_, at) => vote(at + 1, second, command(at + 1))),
      });
    expect(ofKind(copy(4), 'persist')).toEqual([]);
    expect(ofKind(copy(5), 'persist')).toHaveLength(1);
    core.flush();
    expect([core.state.needsCopy, core.state.lastSlot, core.state.settled <= 5]).toEqual([false, 5, true]);
  });

  it('takes no copy of an epoch below its promise, and none that it does not need', () => {
    const core = tainted();
    expect(core.input({ kind: 'Copied', epoch: first, entries: copied })).toEqual([]);
    const well = new OneCore(configOf(), {
      tail: copied.map(({ ballot, entry }, at) => vote(at + 1, ballot, entry)),
    });
    expect(
      ofKind(
        well.input({ kind: 'Copied', epoch: second, entries: [vote(1, second, command(5))] }),
        'persist',
      ),
    ).toEqual([]);
  });
});

describe('what is purged', () => {
  it('is settled, executed and more than is kept', () => {
    const core = new OneCore(configOf({ keepSlots: 4 })).lead();
    for (let request = 1; request <= 6; request += 1) core.propose(request, 'async');
    core.flush();
    core.received('r2', 7);
    expect(ofKind(core.effects, 'purge')).toEqual([]);
    const effects = core.executed(7);
    expect(ofKind(effects, 'purge')).toEqual([{ kind: 'purge', upTo: 2 }]);
    expect(core.state.base).toBe(3);
    expect(core.state.log.has(slot(3))).toBe(true);
    expect(core.state.log.has(slot(2))).toBe(false);
  });

  it('is all of it but the last where the log is larger than it may be', () => {
    const core = new OneCore(configOf({ keepSlots: 4, keepBytesMax: 1 })).lead();
    for (let request = 1; request <= 6; request += 1) core.propose(request, 'async');
    core.flush();
    core.received('r2', 7);
    const effects = core.executed(7);
    expect(ofKind(effects, 'purge')).toEqual([{ kind: 'purge', upTo: 5 }]);
    expect([core.state.base, core.state.lastSlot]).toEqual([6, 7]);
  });
});
