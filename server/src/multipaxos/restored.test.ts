import { describe, expect, it } from 'vitest';
import {
  ballot,
  command,
  configuration,
  founding,
  group,
  newFollower,
  newServingLeader,
  OneCore,
  r1,
  r2,
  r3,
  slot,
  vote,
} from './testing/one-core.ts';
import type { CatchUpReply } from './types/messages.ts';
import type { ReplicaId } from './types/names.ts';

const first = ballot(1, r2);
const grown = configuration([r1, r2, r3], { learners: ['r4' as ReplicaId], version: 3, slot: 5 });
const tail = [1, 2, 3].map((at) => vote(at, first, `c${at}`));

const nothing = (fromSlot: number, purgedTo: number): CatchUpReply => ({
  kind: 'CatchUpReply',
  group,
  ballot: first,
  firstSlot: slot(fromSlot),
  entries: [],
  commitPoint: slot(9),
  purgedTo: slot(purgedTo),
  configuration: founding,
});

describe('a database that comes up', () => {
  it('beyond the log moves the base, with the configuration that it holds', () => {
    const core = newFollower({}, { promised: first, tail });
    core.restored(7, grown);
    expect(core.records()).toEqual([{ kind: 'base', slot: 7, configuration: grown }]);
    expect(core.state).toMatchObject({ commitPoint: 7, reported: 7, purgedTo: 7, lastSlot: 7, tailBytes: 0 });
    expect(core.state.log.size).toBe(0);
    expect(core.effectsOf('configuration').at(-1)?.configuration).toBe(grown);
    const names = core.effectsOf('trace').map(({ event }) => event.name);
    expect(names.slice(-2)).toEqual(['LearnConfiguration', 'Restored']);
  });

  it('tells the base that it moved, and that it is durable', () => {
    const core = newFollower({}, { promised: first, tail });
    core.restored(7, grown);
    core.fsync();
    const told = core
      .effectsOf('trace')
      .flatMap(({ event: { name, base } }) => (base === undefined ? [] : [[name, base]]));
    expect(told).toEqual([
      ['Restored', 7],
      ['Fsync', 7],
    ]);
  });

  it('keeps its votes above, and what is chosen is given out from there on', () => {
    const above = [vote(9, first, 'c9')];
    const core = newFollower({}, { promised: first, tail: above });
    core.restored(7);
    expect([...core.state.log.keys()]).toEqual([9]);
    core.receive(r2, core.accept(first, 8, [command('c8')], 7));
    core.receive(r2, core.accept(first, 10, [command('c10')], 9));
    core.fsync();
    expect(core.chosen().map((item) => item.slot)).toEqual([8, 9]);
  });

  it('never makes a vote chosen: the database may be a copy of one that applied something else', () => {
    const core = newFollower({}, { promised: first, tail });
    core.restored(3);
    expect(core.state.commitPoint).toBe(0);
    core.receive(r3, core.accept(ballot(2, r3), 2, [command('other')], 1));
    expect(core.chosen()).toEqual([]);
  });

  it('moves the base to what it has when others have purged what the log would need', () => {
    const core = newFollower({}, { promised: first, tail });
    core.restored(3);
    core.receive(r3, nothing(1, 2));
    expect(core.state.commitPoint).toBe(3);
    expect(core.records()).toMatchObject([{ kind: 'base', slot: 3 }]);
    core.receive(r3, nothing(4, 8));
    expect(core.state.commitPoint).toBe(3);
  });

  it('promises with the moved base only when it is durable', () => {
    const core = newFollower({}, { promised: first, tail });
    core.restored(7, grown);
    core.receive(r3, { kind: 'Prepare', group, ballot: ballot(2, r3), commitPoint: slot(0) });
    expect(core.take('Promise')).toEqual([]);
    core.fsync();
    expect(core.take('Promise')).toMatchObject([{ commitPoint: 7, configuration: grown, votes: [] }]);
  });

  it('with less than before takes back how far it is durable', () => {
    const core = newFollower({}, { commitPoint: slot(5), purgedTo: slot(2) });
    core.restored(5);
    core.restored(3);
    expect(core.state).toMatchObject({ applied: 3, durableApplied: 3, commitPoint: 5 });
  });
});

describe('a leadership that the database knows', () => {
  const know = (core: OneCore, round: number, replica = r1): void =>
    core.input({ kind: 'LeadershipKnown', ballot: ballot(round, replica) });
  const lone = (): OneCore => new OneCore({ members: [r1] });
  const lead = (core: OneCore): void => {
    core.tick(700);
    core.fsync();
    core.fsync();
  };

  it('is what the next campaign is above, though nothing was promised', () => {
    const core = new OneCore();
    know(core, 5, r3);
    expect(core.state.promised.round).toBe(0);
    expect(core.records()).toEqual([]);
    core.tick(700);
    expect(core.take('PreVote')[0]?.ballot).toEqual(ballot(6, r1));
  });

  it('deposes a lower candidate or leader, which then leads above it', () => {
    for (const role of ['candidate', 'leader']) {
      const core = lone();
      if (role === 'leader') lead(core);
      else core.tick(700);
      expect(core.state).toMatchObject({ role, promised: ballot(1, r1) });
      know(core, 5);
      expect(core.state.role).toBe('follower');
      expect(core.effectsOf('trace').at(-1)?.event).toMatchObject({
        name: 'StepDown',
        reason: 'higherBallot',
      });
      lead(core);
      core.applied(core.state.commitPoint);
      expect(core.state.leadership).toMatchObject({ serving: true, ballot: ballot(6, r1) });
    }
  });

  it('that is its own, or older, leaves it in office', () => {
    const core = lone();
    lead(core);
    const { leadership } = core.state;
    know(core, 1);
    know(core, 0);
    expect(core.state.leadership).toBe(leadership);
    expect(leadership).not.toBeNull();
  });
});

describe('purging', () => {
  it('stops while the database is down, for it may be gone', () => {
    const core = newServingLeader();
    core.input({ kind: 'StepDown', reason: 'databaseFailed' });
    core.input({ kind: 'LogPressure', isUrgent: true });
    expect(core.effectsOf('purge')).toEqual([]);
    core.restored(1);
    core.input({ kind: 'LogPressure', isUrgent: true });
    expect(core.effectsOf('purge')).toEqual([{ kind: 'purge', upTo: 1 }]);
  });

  it('under pressure takes what is applied durably here, whoever still wants it, and no more', () => {
    const core = newServingLeader();
    core.propose('a', 'b');
    core.fsync();
    core.accepted(r2, 2, 3);
    core.applied(3, 2);
    core.input({ kind: 'LogPressure', isUrgent: true });
    expect(core.effectsOf('purge')).toEqual([{ kind: 'purge', upTo: 2 }]);
    core.input({ kind: 'LogPressure', isUrgent: true });
    expect(core.effectsOf('purge')).toHaveLength(1);
  });

  it('near the bound keeps two windows that a restart would find to be chosen', () => {
    const core = newServingLeader({ windowSlotsMax: 2 });
    const choose = (at: number): void => {
      core.propose(`c${at}`);
      core.fsync();
      core.accepted(r2, at, at);
      core.applied(at);
    };
    for (let at = 2; at <= 10; at += 1) choose(at);
    // The last record was written when nine slots were known to be chosen.
    core.input({ kind: 'LogPressure', isUrgent: false });
    expect(core.effectsOf('purge')).toEqual([{ kind: 'purge', upTo: 5 }]);
    choose(11);
    core.propose('c12');
    core.input({ kind: 'LogPressure', isUrgent: false });
    expect(core.effectsOf('purge').at(-1)).toEqual({ kind: 'purge', upTo: 6 });
    core.fsync();
    core.input({ kind: 'LogPressure', isUrgent: false });
    expect(core.effectsOf('purge').at(-1)).toEqual({ kind: 'purge', upTo: 7 });
    core.input({ kind: 'LogPressure', isUrgent: true });
    expect(core.effectsOf('purge').at(-1)).toEqual({ kind: 'purge', upTo: 11 });
  });

  it('near the bound takes no more than is applied durably, either', () => {
    const core = newServingLeader({ windowSlotsMax: 1 });
    for (let at = 2; at <= 6; at += 1) {
      core.propose(`c${at}`);
      core.fsync();
      core.accepted(r2, at, at);
      core.applied(at, 2);
    }
    core.input({ kind: 'LogPressure', isUrgent: false });
    expect(core.effectsOf('purge')).toEqual([{ kind: 'purge', upTo: 2 }]);
  });

  it('follows the newest answer of a peer, even one that has less than before', () => {
    const core = newServingLeader();
    core.propose('a', 'b');
    core.fsync();
    core.accepted(r2, 2, 3);
    core.applied(3, 3);
    core.tick(50);
    core.heartbeatAck(r3, { durable: 3 });
    core.heartbeatAck(r2, { durable: 3, sentAtMs: core.nowMs });
    core.heartbeatAck(r2, { durable: 1, sentAtMs: core.nowMs });
    core.heartbeatAck(r2, { durable: 3, sentAtMs: core.nowMs - 20 });
    core.tick(50);
    expect(core.take('Heartbeat').at(-1)?.globalApplicationPointer).toBe(1);
  });

  it('of a restarted replica begins with what its database says', () => {
    const core = new OneCore({}, { commitPoint: slot(4), purgedTo: slot(1) });
    core.input({ kind: 'LogPressure', isUrgent: true });
    expect(core.effectsOf('purge')).toEqual([]);
  });
});
