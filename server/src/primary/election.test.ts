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
  sent,
  start,
  vote,
} from './testing/one-core.ts';

const first = epoch(1, 'r2');
const second = epoch(2, 'r3');
const log = [vote(1, first, start(first)), vote(2, first, command(1))];
const pair = { replicas: [id('r1'), id('r2')] };

describe('a replica that hears no primary', () => {
  it('stands when its time-out is over, and asks once its promise is durable', () => {
    const core = new OneCore();
    expect(sent(core.tick(99), 'AskWord')).toEqual([]);
    expect(sent(core.tick(2), 'AskWord')).toEqual([]);
    expect(sent(core.flush(), 'AskWord').map(({ to, message }) => [to, message.epoch])).toEqual([
      ['r2', epoch(1, 'r1')],
      ['r3', epoch(1, 'r1')],
    ]);
  });

  it('stands later the further behind it is in the list', () => {
    const core = new OneCore(configOf({ id: id('r3') }));
    core.tick(101);
    expect(core.state.candidacy).toBeNull();
    core.tick(40);
    expect(core.state.candidacy).not.toBeNull();
  });

  it('asks again those who have not answered, in the same epoch', () => {
    const core = new OneCore();
    core.tick(101);
    core.flush();
    expect(sent(core.tick(39), 'AskWord')).toEqual([]);
    expect(sent(core.tick(1), 'AskWord').map(({ message }) => message.epoch.round)).toEqual([1, 1]);
  });

  it('takes over with a majority, and begins its epoch with an entry of its own', () => {
    const core = new OneCore(configOf({ replicas: ['r1', 'r2', 'r3', 'r4', 'r5'].map(id) }));
    core.tick(101);
    core.flush();
    core.receive('r2', { kind: 'Word', group, epoch: epoch(1, 'r1') });
    core.receive('r2', { kind: 'Word', group, epoch: epoch(1, 'r1') });
    expect(core.state.role).toBe('recovering');
    core.receive('r3', { kind: 'Word', group, epoch: epoch(1, 'r1') });
    expect(core.state.role).toBe('primary');
    expect(core.state.log.get(core.state.lastSlot)?.entry).toEqual(start(epoch(1, 'r1')));
  });

  it('counts no word for another epoch', () => {
    const core = new OneCore();
    core.tick(101);
    core.flush();
    core.receive('r2', { kind: 'Word', group, epoch: epoch(7, 'r1') });
    expect(core.state.role).toBe('recovering');
  });

  it('gives up when it is refused, and stands above what it has heard of', () => {
    const core = new OneCore();
    core.tick(101);
    core.flush();
    core.receive('r2', {
      kind: 'Refuse',
      group,
      epoch: epoch(1, 'r1'),
      promised: epoch(6, 'r3'),
      hasMore: false,
    });
    expect(core.state.candidacy).toBeNull();
    core.tick(101);
    expect(core.state.promised).toEqual(epoch(7, 'r1'));
  });

  it('does not stand while its database must be replaced', () => {
    const core = new OneCore();
    core.input({ kind: 'Restored', slot: core.state.lastSlot, isMarked: true });
    core.tick(500);
    expect(core.state.promised).toEqual(ballotNone);
  });
});

describe('a word', () => {
  it('is told once it is durable', () => {
    const core = new OneCore(configOf(), { tail: log });
    expect(sent(core.askWord(second, first, 2), 'Word')).toEqual([]);
    expect(sent(core.flush(), 'Word').map(({ to, message }) => [to, message.epoch])).toEqual([
      ['r3', second],
    ]);
  });

  it('is told again when it is asked for again', () => {
    const core = new OneCore(configOf(), { tail: log });
    core.askWord(second, first, 2);
    core.flush();
    expect(sent(core.askWord(second, first, 2), 'Word')).toHaveLength(1);
  });

  it.each([
    ['has a shorter log', first, 1],
    ['has a log of a lower epoch, though a longer one', ballotNone, 9],
  ])('is refused to one that %s', (_, lastEpoch, lastSlot) => {
    const core = new OneCore(configOf(), { tail: log });
    const refused = sent(core.askWord(second, lastEpoch, lastSlot), 'Refuse');
    expect(refused.map(({ message }) => message.hasMore)).toEqual([true]);
    expect(core.state.promised).toEqual(first);
  });

  it('is given to one whose log ends in a higher epoch, though it is shorter', () => {
    const core = new OneCore(configOf(), { tail: log });
    core.askWord(epoch(5, 'r3'), epoch(4, 'r2'), 1);
    expect(sent(core.flush(), 'Word')).toHaveLength(1);
  });

  it('is refused to a lower epoch than was promised', () => {
    const core = new OneCore(configOf(), { promised: epoch(5, 'r3') });
    const refused = sent(core.askWord(second, first, 9), 'Refuse');
    expect(refused.map(({ message }) => message.promised)).toEqual([epoch(5, 'r3')]);
  });

  it('is given to nobody while the primary is heard', () => {
    const core = new OneCore();
    core.operations(first, [0, ballotNone], [{ epoch: first, entry: start(first) }]);
    core.flush();
    expect(core.askWord(second, first, 9)).toEqual([]);
    core.nowMs += 101;
    expect(core.askWord(second, first, 9).map(({ kind }) => kind)).toContain('persist');
  });

  it('makes a standby nobody’s, until a primary waits for it', () => {
    const core = new OneCore();
    core.operations(first, [0, ballotNone], [{ epoch: first, entry: start(first) }]);
    core.flush();
    core.operations(first, [1, first], [], { isStandby: true });
    expect(core.state.role).toBe('standby');
    core.nowMs += 101;
    core.askWord(second, first, 1);
    core.flush();
    expect(core.state.role).toBe('recovering');
  });

  it('ends a leadership that is in touch with nobody, and its clients hear that nobody knows', () => {
    const core = new OneCore(configOf()).lead();
    core.propose(1);
    core.nowMs += 101;
    const effects = core.askWord(epoch(9, 'r3'), core.state.promised, 99);
    expect(ofKind(effects, 'unacknowledged').map(({ code }) => code)).toEqual(['deposed']);
    expect(core.state.leadership).toBeNull();
  });
});

describe('two replicas', () => {
  const standby = (more: object): OneCore => {
    const core = new OneCore(configOf({ ...pair, ...more }));
    core.operations(first, [0, ballotNone], [{ epoch: first, entry: start(first) }]);
    core.flush();
    core.operations(first, [1, first], [], { isStandby: true });
    return core;
  };

  it('do not take over from each other by default', () => {
    const core = standby({});
    core.tick(101);
    core.flush();
    expect(core.state.role).toBe('standby');
  });

  it('do where the key that may lose what was acknowledged says so', () => {
    const core = standby({ promoteAloneRiskingSplitBrain: true });
    core.tick(101);
    expect(core.state.role).toBe('standby');
    core.flush();
    expect(core.state.role).toBe('primary');
  });

  it('do not even then when they are recovering', () => {
    const core = new OneCore(configOf({ ...pair, promoteAloneRiskingSplitBrain: true }), { tail: log });
    core.tick(101);
    core.flush();
    expect(core.state.role).toBe('recovering');
  });
});

describe('a group that does not replicate', () => {
  it('is led by the first of the list alone, who asks nobody', () => {
    const core = new OneCore(configOf({ replication: 'none' }));
    core.tick(101);
    expect(ofKind(core.flush(), 'send')).toEqual([]);
    expect(core.state.role).toBe('primary');
    const other = new OneCore(configOf({ replication: 'none', id: id('r2') }));
    other.tick(500);
    expect(other.state.candidacy).toBeNull();
  });
});
