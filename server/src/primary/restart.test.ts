import { describe, expect, it } from 'vitest';
import { ballotNone } from '../multipaxos/ballot.ts';
import {
  command,
  configOf,
  epoch,
  group,
  id,
  OneCore,
  ofKind,
  slot,
  start,
  vote,
} from './testing/one-core.ts';

const first = epoch(1, 'r2');
const third = epoch(3, 'r2');
const tail = [vote(1, first, start(first)), vote(2, first, command(1)), vote(3, first, command(2))];

describe('a recovered log', () => {
  it('is recovering, whatever the replica was', () => {
    expect(new OneCore(configOf(), { tail }).state.role).toBe('recovering');
  });

  it('ends where epochs go back: what lies behind was cut off', () => {
    const cut = [...tail.slice(0, 2), vote(3, ballotNone, { kind: 'noop', group })];
    expect(new OneCore(configOf(), { tail: cut, promised: third }).state.lastSlot).toBe(2);
    const back = [vote(1, third, start(third)), vote(2, first, command(1))];
    expect(new OneCore(configOf(), { tail: back, promised: third }).state.lastSlot).toBe(1);
  });

  it('ends where a slot is missing', () => {
    expect(new OneCore(configOf(), { tail: [tail[0]!, tail[2]!] }).state.lastSlot).toBe(1);
  });

  it('begins with a settled entry, whose epoch it knows', () => {
    const { state } = new OneCore(configOf(), { tail: tail.slice(1), commitPoint: 1 });
    expect([state.base, state.lastSlot, state.log.get(slot(2))?.ballot]).toEqual([2, 3, first]);
    expect(() => new OneCore(configOf(), { commitPoint: 1 })).toThrow('begins with a settled entry');
  });

  it('is what the next epochs lie above', () => {
    const core = new OneCore(configOf(), { promised: epoch(8, 'r3') });
    core.tick(101);
    expect(core.state.promised).toEqual(epoch(9, 'r1'));
  });
});

describe('a database that came up', () => {
  const restored = (database: number): OneCore =>
    new OneCore(configOf(), { tail: tail.slice(1), commitPoint: 1, database });

  it.each([
    ['more than the log', 4],
    ['less than the log begins with', 0],
  ])('is to be replaced if it has %s', (_, at) => {
    expect(ofKind(restored(at).effects, 'copyNeeded')).toHaveLength(1);
  });

  it('is to be replaced if that was noted, which is not noted again', () => {
    const core = restored(3);
    core.input({ kind: 'Restored', slot: slot(3), isMarked: true });
    expect(core.state.needsCopy).toBe(true);
    expect(ofKind(core.effects, 'copyNeeded')).toEqual([]);
  });

  it('that was to be replaced and has executed nothing now needs no other: the whole log is there', () => {
    const core = new OneCore(configOf(), { tail, database: 4 });
    expect(core.state.needsCopy).toBe(true);
    core.input({ kind: 'Restored', slot: slot(0), isMarked: false });
    expect(core.state.needsCopy).toBe(false);
    const purged = restored(4);
    purged.input({ kind: 'Restored', slot: slot(0), isMarked: false });
    expect(purged.state.needsCopy).toBe(true);
  });

  it('goes on from where it is', () => {
    const core = restored(2);
    core.operations(first, [3, first], []);
    core.flush();
    expect(ofKind(core.effects, 'chosen').flatMap(({ entries }) => entries.map((each) => each.slot))).toEqual(
      [3],
    );
  });
});

describe('a configuration', () => {
  it.each([
    ['of one replica', { replicas: [id('r1')] }, 'one to four copies'],
    ['of six', { replicas: ['r1', 'r2', 'r3', 'r4', 'r5', 'r6'].map(id) }, 'one to four copies'],
    ['without the replica itself', { replicas: [id('r2'), id('r3')] }, 'one of the replicas'],
    ['of three that take over alone', { promoteAloneRiskingSplitBrain: true }, 'only one of two'],
    ['in which one sign of life too late is a suspicion', { heartbeatMs: 51 }, 'signs of life'],
  ])('%s is refused', (_, more, message) => {
    expect(() => new OneCore(configOf(more))).toThrow(message);
  });

  it('lets no clock go back', () => {
    const core = new OneCore();
    core.nowMs -= 1;
    expect(() => core.input({ kind: 'Tick', random: 0 })).toThrow('clock');
  });
});
