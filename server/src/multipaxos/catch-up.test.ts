import { describe, expect, it } from 'vitest';
import { InvariantViolation } from './step.ts';
import {
  ballot,
  command,
  founding,
  group,
  newCandidate,
  newFollower,
  newServingLeader,
  OneCore,
  promise,
  r1,
  r2,
  r3,
  slot,
  vote,
} from './testing/one-core.ts';
import type { Entry } from './types/entries.ts';
import type { CatchUpReply } from './types/messages.ts';

const first = ballot(1, r2);

function reply(
  firstSlot: number,
  entries: readonly Entry[],
  commitPoint = firstSlot + entries.length - 1,
): CatchUpReply {
  return {
    kind: 'CatchUpReply',
    group,
    ballot: first,
    firstSlot: slot(firstSlot),
    entries,
    commitPoint: slot(commitPoint),
    purgedTo: slot(0),
    configuration: founding,
  };
}

function lagging(commitPoint: number): OneCore {
  const core = newFollower();
  core.receive(r2, core.accept(first, commitPoint + 1, [command('new')], commitPoint));
  return core;
}

describe('catch-up', () => {
  it('asks for a bounded run of slots, one request at a time', () => {
    const core = lagging(9);
    expect(core.take('CatchUpRequest')).toMatchObject([{ fromSlot: 1, toSlot: 4 }]);
    core.tick(50);
    expect(core.take('CatchUpRequest')).toEqual([]);
  });

  it('asks another peer when the first does not answer', () => {
    const core = lagging(9);
    const asked = core.effectsOf('send').map(({ to }) => to);
    for (let attempt = 0; attempt < 4; attempt += 1) {
      core.effects = [];
      core.tick(100);
      asked.push(
        ...core
          .effectsOf('send')
          .flatMap(({ to, message }) => (message.kind === 'CatchUpRequest' ? [to] : [])),
      );
    }
    expect(new Set(asked)).toEqual(new Set([r2, r3]));
  });

  it('takes in the answer, gives it out once it is durable, and asks for the rest at once', () => {
    const core = lagging(6);
    core.fsync();
    core.effects = [];
    core.receive(r2, reply(1, [command('a'), command('b'), command('c'), command('d')], 6));
    expect(core.records()).toMatchObject([
      { kind: 'chosen', slot: 1 },
      { kind: 'chosen', slot: 2 },
      { kind: 'chosen', slot: 3 },
      { kind: 'chosen', slot: 4 },
      { kind: 'commitPoint', slot: 4 },
    ]);
    expect(core.chosen()).toEqual([]);
    core.fsync();
    expect(core.chosen().map((item) => item.slot)).toEqual([1, 2, 3, 4]);
    expect(core.take('CatchUpRequest')).toMatchObject([{ fromSlot: 5, toSlot: 6 }]);
  });

  it('goes on with its own votes where the gap ends', () => {
    const core = newFollower();
    core.receive(r2, core.accept(first, 2, [command('b'), command('c')], 0));
    core.receive(r2, core.accept(first, 4, [command('d')], 3));
    core.receive(r2, reply(1, [command('a')], 3));
    expect(core.state.commitPoint).toBe(3);
  });

  it('takes in no answer that begins behind a gap, and nothing twice', () => {
    const core = lagging(6);
    core.receive(r2, reply(2, [command('b')]));
    expect(core.state.commitPoint).toBe(0);
    core.receive(r2, reply(1, [command('a'), command('b')]));
    core.effects = [];
    core.receive(r2, reply(1, [command('a'), command('b')]));
    expect(core.records()).toEqual([]);
    core.receive(r2, reply(2, [command('b'), command('c')]));
    expect(core.state.commitPoint).toBe(3);
  });

  it('replaces a vote by what was chosen', () => {
    const core = newFollower({}, { promised: first, tail: [vote(1, first, 'mine')] });
    core.receive(r3, reply(1, [command('theirs')]));
    expect(core.state.log.get(slot(1))).toMatchObject({ ballot: null, label: 'theirs/1' });
  });

  it('makes a leader whose own proposal lost step down', () => {
    const core = newServingLeader();
    core.propose('mine');
    core.receive(r3, reply(2, [command('theirs')]));
    expect(core.state.role).toBe('follower');
    expect(core.effectsOf('leadership').at(-1)).toMatchObject({ reason: 'higherBallot' });
  });

  it('makes a leader step down that learns of a slot beyond its own: it must not propose there', () => {
    const core = newServingLeader();
    core.receive(r3, reply(2, [command('theirs')]));
    expect(core.state.role).toBe('follower');
    core.propose('mine');
    expect(core.records().filter(({ kind }) => kind === 'vote')).toEqual([]);
  });

  it('never serves when another leader has chosen slots beyond its first entry', () => {
    const core = newCandidate();
    promise(core, r2);
    core.fsync();
    core.accepted(r2, 1, 1);
    core.receive(r3, reply(2, [command('theirs')]));
    core.applied(1);
    expect(core.effectsOf('leadership').some(({ serving }) => serving)).toBe(false);
  });

  it('leaves a leader alone whose own proposal was chosen', () => {
    const core = newServingLeader();
    core.propose('mine');
    core.receive(r3, reply(2, [command('mine')]));
    expect(core.state.role).toBe('leader');
    expect(core.state.commitPoint).toBe(2);
  });

  it('answers with what is chosen and durable here, and no more than a bounded run', () => {
    const tail = [1, 2, 3, 4, 5, 6].map((at) => vote(at, first, `c${at}`));
    const core = newFollower({}, { promised: first, commitPoint: slot(2), tail: tail.slice(2) });
    const request = { kind: 'CatchUpRequest', group, ballot: first } as const;
    core.receive(r3, { ...request, fromSlot: slot(1), toSlot: slot(9) });
    expect(core.effectsOf('serveCatchUp')).toEqual([
      { kind: 'serveCatchUp', to: r3, fromSlot: 1, toSlot: 2 },
    ]);

    const far = newFollower({}, { commitPoint: slot(100) });
    far.receive(r3, { ...request, fromSlot: slot(10), toSlot: slot(90) });
    expect(far.effectsOf('serveCatchUp')).toEqual([
      { kind: 'serveCatchUp', to: r3, fromSlot: 10, toSlot: 13 },
    ]);
  });

  it('answers with nothing that its own disk could still lose', () => {
    const core = newServingLeader();
    core.propose('a');
    for (const from of [r2, r3]) core.accepted(from, 2, 2);
    expect(core.state.commitPoint).toBe(2);
    const request = {
      kind: 'CatchUpRequest',
      group,
      ballot: first,
      fromSlot: slot(2),
      toSlot: slot(2),
    } as const;
    core.receive(r3, request);
    expect(core.effectsOf('serveCatchUp')).toEqual([]);
    core.fsync();
    core.receive(r3, request);
    expect(core.effectsOf('serveCatchUp')).toHaveLength(1);
  });

  it('asks one of the others in turn when no leader was heard for long: they may hear one', () => {
    const core = newFollower();
    const asked: string[] = [];
    for (let attempt = 0; attempt < 4; attempt += 1) {
      core.effects = [];
      core.tick(700);
      for (const { to, message } of core.effectsOf('send'))
        if (message.kind === 'CatchUpRequest') asked.push(to);
    }
    expect(new Set(asked)).toEqual(new Set([r2, r3]));
    core.receive(r3, reply(1, [command('a')], 2));
    expect(core.state.commitPoint).toBe(1);
    expect(core.take('CatchUpRequest').at(-1)).toMatchObject({ fromSlot: 2, toSlot: 2 });
  });

  it('tells where it is to one who asks for what it has not', () => {
    const core = newFollower({}, { commitPoint: slot(2), purgedTo: slot(1) });
    core.receive(r3, {
      kind: 'CatchUpRequest',
      group,
      ballot: first,
      fromSlot: slot(3),
      toSlot: slot(6),
    });
    expect(core.take('CatchUpReply')).toMatchObject([
      { firstSlot: 3, entries: [], commitPoint: 2, purgedTo: 1, configuration: founding },
    ]);
  });

  it('stops when what it learnt as chosen is said to be something else', () => {
    const core = newFollower({}, { promised: first, tail: [vote(1, first, 'a')] });
    core.state.log.set(slot(1), { ...core.state.log.get(slot(1))!, ballot: null });
    expect(() => core.receive(r3, reply(1, [command('b')]))).toThrow(InvariantViolation);
  });

  it('alone in a group has no one to ask', () => {
    const core = new OneCore({ members: [r1] });
    core.state.knownCommitPoint = slot(5);
    core.tick(100);
    expect(core.effectsOf('send')).toEqual([]);
  });
});
