import { describe, expect, it } from 'vitest';
import { configOf, id, OneCore, ofKind } from './testing/one-core.ts';
import type { Level } from './types/effects.ts';

const five = ['r1', 'r2', 'r3', 'r4', 'r5'].map(id);
const levels = (effects: ReturnType<OneCore['flush']>): readonly Level[] =>
  ofKind(effects, 'acknowledged').map(({ level }) => level);

describe('a client is answered', () => {
  it('at async when the operation is on the primary’s disk', () => {
    const core = new OneCore().lead();
    expect(levels(core.propose(1, 'async'))).toEqual([]);
    expect(levels(core.flush())).toEqual(['async']);
  });

  it('at majority when it is on so many disks, the own one among them', () => {
    const core = new OneCore(configOf({ replicas: five })).lead();
    core.received('r4', 1);
    core.propose(1, 'majority');
    core.received('r2', 2);
    core.received('r3', 2);
    expect(ofKind(core.effects, 'acknowledged')).toEqual([]);
    expect(levels(core.flush())).toEqual(['majority']);
  });

  it('at semi when every copy has received it', () => {
    const core = new OneCore().lead();
    core.propose(1, 'semi');
    core.flush();
    expect(levels(core.received('r2', 2))).toEqual([]);
    expect(levels(core.received('r3', 2))).toEqual(['semi']);
  });

  it('at sync when every copy has executed it', () => {
    const core = new OneCore().lead();
    core.propose(1, 'sync');
    core.flush();
    core.received('r2', 2, { executed: 2 });
    expect(levels(core.received('r3', 2, { executed: 1 }))).toEqual([]);
    expect(levels(core.received('r3', 2, { executed: 2 }))).toEqual(['sync']);
  });

  it('at the group’s level where none is asked for', () => {
    const core = new OneCore(configOf({ replication: 'async' })).lead();
    core.propose(1);
    expect(levels(core.flush())).toEqual(['async']);
  });

  it('in a group that does not replicate when it is on the own disk', () => {
    const core = new OneCore(configOf({ replication: 'none' })).lead([]);
    core.propose(1);
    expect(levels(core.flush())).toEqual(['none']);
  });

  it('by what copies say of this epoch only', () => {
    const core = new OneCore().lead();
    core.propose(1, 'majority');
    core.flush();
    const { promised } = core.state;
    core.receive('r2', {
      kind: 'Received',
      group: core.state.config.group,
      epoch: { ...promised, round: promised.round + 1 },
      received: core.state.lastSlot,
      executed: core.state.lastSlot,
      goOnFrom: null,
      needsCopy: false,
      sentAtMs: core.nowMs,
    });
    expect(ofKind(core.effects, 'acknowledged')).toEqual([]);
  });
});

describe('at the bound', () => {
  const late = (core: OneCore, heard: readonly string[]): ReturnType<OneCore['flush']> => {
    const { lastSlot } = core.state;
    for (let ms = 0; ms < 400; ms += 50) {
      core.tick(50);
      for (const from of heard) core.received(from, lastSlot);
    }
    return core.effects;
  };

  it('a client hears that nobody knows, and the primary goes on', () => {
    const core = new OneCore().lead();
    core.propose(1, 'semi');
    core.flush();
    core.received('r2', 2);
    expect(ofKind(late(core, ['r2']), 'unacknowledged').map(({ code }) => code)).toEqual(['timedOut']);
    expect(ofKind(core.propose(2, 'majority'), 'proposed')).toHaveLength(1);
  });

  it('a silent copy is waited for no more where that is allowed', () => {
    const core = new OneCore(configOf({ dropSilentCopies: true })).lead();
    core.propose(1, 'semi');
    core.flush();
    core.received('r2', 2);
    const effects = late(core, ['r2']);
    expect(ofKind(effects, 'waitsFor').at(-1)).toEqual({ kind: 'waitsFor', copy: 'r3', isWaitedFor: false });
    expect(ofKind(effects, 'acknowledged').map(({ level }) => level)).toEqual(['semi']);
  });

  it('but never so many that a majority might lack the operation', () => {
    const core = new OneCore(configOf({ dropSilentCopies: true })).lead();
    core.propose(1, 'semi');
    core.flush();
    expect(ofKind(late(core, []), 'acknowledged')).toEqual([]);
    expect(ofKind(core.effects, 'unacknowledged')).toHaveLength(1);
  });

  it('majority drops nobody', () => {
    const core = new OneCore(configOf({ dropSilentCopies: true })).lead();
    core.propose(1, 'majority');
    core.flush();
    late(core, []);
    expect(ofKind(core.effects, 'acknowledged')).toEqual([]);
  });

  it('one that was dropped is waited for again when it has all that was acknowledged', () => {
    const core = new OneCore(configOf({ dropSilentCopies: true })).lead();
    core.propose(1, 'semi');
    core.flush();
    core.received('r2', 2);
    late(core, ['r2']);
    expect(ofKind(core.received('r3', 1), 'waitsFor')).toEqual([]);
    expect(ofKind(core.received('r3', 2), 'waitsFor')).toEqual([
      { kind: 'waitsFor', copy: 'r3', isWaitedFor: true },
    ]);
  });
});

describe('what is settled', () => {
  it('is in so many logs that every majority has one, from the first entry of the epoch on', () => {
    const core = new OneCore().lead([]);
    expect(core.state.settled).toBe(0);
    core.received('r2', 1);
    expect(core.state.settled).toBe(1);
  });

  it('is never beyond the own disk', () => {
    const core = new OneCore().lead();
    core.propose(1, 'majority');
    core.received('r2', 2);
    core.received('r3', 2);
    expect(core.state.settled).toBe(1);
  });
});
