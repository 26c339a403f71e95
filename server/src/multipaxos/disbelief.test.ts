import { describe, expect, it } from 'vitest';
import {
  ballot,
  configuration,
  group,
  newCandidate,
  newServingLeader,
  type OneCore,
  promise,
  r1,
  r2,
  r3,
  slot,
} from './testing/one-core.ts';
import type { Message } from './types/messages.ts';

/** What r3 says to a leader whose last slot is 1, each time as if slot 42 were chosen. */
function claims(core: OneCore): Message[] {
  const base = { group, ballot: core.state.promised };
  const reply = { ...base, kind: 'CatchUpReply', firstSlot: slot(2), entries: [] } as const;
  const ack = { ...base, kind: 'HeartbeatAck', sentAtMs: core.nowMs } as const;
  const members = configuration([r1, r2, r3]);
  return [
    { ...ack, commitPoint: slot(42), durableApplicationPointer: slot(0) },
    { ...ack, commitPoint: slot(1), durableApplicationPointer: slot(42) },
    { ...base, kind: 'Accepted', firstSlot: slot(1), lastSlot: slot(1), commitPoint: slot(42), sentAtMs: 1 },
    { ...base, kind: 'CatchUpRequest', fromSlot: slot(43), toSlot: slot(50) },
    { ...reply, commitPoint: slot(42), purgedTo: slot(0), configuration: members },
    { ...reply, commitPoint: slot(1), purgedTo: slot(42), configuration: members },
    {
      ...reply,
      commitPoint: slot(1),
      purgedTo: slot(0),
      configuration: { ...members, version: 2, slot: slot(42) },
    },
  ];
}

const kinds = claims(newServingLeader()).map(({ kind }, index) => [index, kind] as const);

/** r3 comes to say what cannot be. */
function withLiar(): OneCore {
  const core = newServingLeader();
  core.heartbeatAck(r3, { commitPoint: 42 });
  core.effects = [];
  return core;
}

describe('a leader that serves and holds its lease', () => {
  it.each(kinds)('does not believe that a slot which it has not proposed is chosen (%i, %s)', (index) => {
    const core = newServingLeader();
    core.receive(r3, claims(core)[index]!);
    const told = { kind: 'disbelieved', member: r3, claimed: slot(42), lastSlot: slot(1) };
    expect(core.effectsOf('disbelieved')).toEqual([told]);
    expect(core.sentKinds()).toEqual([]);
    expect(core.state).toMatchObject({ role: 'leader', commitPoint: 1 });
    expect(core.state.knownCommitPoint).toBeLessThanOrEqual(1);
    expect(core.state.configuration.version).toBe(1);
  });

  it('asks nobody for what cannot be chosen', () => {
    const core = withLiar();
    core.tick(150);
    expect(core.sentKinds()).not.toContain('CatchUpRequest');
  });

  it('tells of it once, and does not hear or count that member any more, though its claim comes to be plausible', () => {
    const core = withLiar();
    core.heartbeatAck(r3, { commitPoint: 43 });
    for (let n = 2; n <= 50; n += 1) {
      core.propose(`p${n}`);
      core.fsync();
      core.accepted(r3, n, n);
      expect(core.state.commitPoint).toBe(n - 1);
      core.accepted(r2, n, n);
    }
    core.heartbeatAck(r3, { commitPoint: 42, durable: 42 });
    expect(core.effectsOf('disbelieved')).toEqual([]);
    const heard = core.state.leadership!.peers.find(({ id }) => id === r3);
    expect(heard).toMatchObject({ commitPoint: 0, durableApplicationPointer: null });
  });

  it('does not promote a learner that it does not believe', () => {
    const withLearner = configuration([r1, r2], { learners: [r3] });
    const roleAfter = (claimed: number): string | undefined => {
      const core = newCandidate({}, { configuration: withLearner });
      promise(core, r2, [], 0, withLearner);
      core.fsync();
      core.accepted(r2, 1, 1);
      core.applied(1);
      core.heartbeatAck(r3, { commitPoint: claimed, durable: claimed });
      for (let n = 0; n < 40; n += 1) {
        core.heartbeatAck(r2, { commitPoint: 1, durable: 1 });
        core.heartbeatAck(r3, { commitPoint: 1, durable: 1 });
        core.tick(50);
      }
      expect(core.state).toMatchObject({ role: 'leader', leadership: { serving: true } });
      return core.state.leadership!.pending?.members.find(({ replica }) => replica === r3)?.role;
    };
    expect(roleAfter(1)).toBe('voter');
    expect(roleAfter(42)).toBeUndefined();
  });

  it('believes what it has proposed, chosen or not', () => {
    const core = newServingLeader();
    core.propose('a');
    core.heartbeatAck(r3, { commitPoint: 2 });
    expect(core.effectsOf('disbelieved')).toEqual([]);
    expect(core.state.knownCommitPoint).toBe(2);
  });

  it('follows whoever leads in a higher ballot, whatever is chosen there', () => {
    const core = withLiar();
    core.receive(r3, {
      kind: 'Heartbeat',
      group,
      ballot: ballot(9, r3),
      commitPoint: slot(60),
      sentAtMs: 1,
      globalApplicationPointer: slot(0),
      configuration: configuration([r1, r2, r3]),
    });
    expect(core.state).toMatchObject({ role: 'follower', leader: r3, knownCommitPoint: 60 });
    expect(core.effectsOf('disbelieved')).toEqual([]);
  });
});

it('a leader whose lease has run out believes it: it may have been deposed', () => {
  const core = newServingLeader();
  core.nowMs += 200;
  core.heartbeatAck(r3, { commitPoint: 42, sentAtMs: core.nowMs - 200 });
  expect(core.effectsOf('disbelieved')).toEqual([]);
  expect(core.state.knownCommitPoint).toBe(42);
});

it('the next leadership begins without doubts', () => {
  const core = withLiar();
  core.input({ kind: 'StepDown', reason: 'requested' });
  core.tick(700);
  const { ballot: asked } = core.take('PreVote')[0]!;
  const grant = { kind: 'PreVoteReply', group, ballot: asked, granted: true } as const;
  core.receive(r2, { ...grant, configuration: configuration([r1, r2, r3]) });
  core.fsync();
  promise(core, r3, [], 1);
  expect(core.state).toMatchObject({ role: 'leader' });
  core.heartbeatAck(r3, { commitPoint: 1 });
  expect(core.state.leadership!.peers.find(({ id }) => id === r3)!.commitPoint).toBe(1);
});
