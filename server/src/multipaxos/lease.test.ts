import { describe, expect, it } from 'vitest';
import { leaseHeld } from './step.ts';
import {
  founding,
  newCandidate,
  newServingLeader,
  OneCore,
  promise,
  r1,
  r2,
  r3,
} from './testing/one-core.ts';

const fiveMembers = [r1, r2, r3, 'r4' as typeof r1, 'r5' as typeof r1];

describe('a lease', () => {
  it('runs from when the acknowledged message was sent, shortened by the drift of clocks', () => {
    const core = newServingLeader();
    const sentAtMs = core.nowMs;
    core.nowMs += 80;
    core.heartbeatAck(r2, { sentAtMs });
    expect(leaseHeld(core.state, sentAtMs + 189)).toBe(true);
    expect(leaseHeld(core.state, sentAtMs + 190)).toBe(false);
  });

  it('needs a quorum: with five members, the second newest acknowledgement counts', () => {
    const core = new OneCore({ members: fiveMembers });
    core.tick(700);
    const [asked] = core.take('PreVote');
    for (const from of [r2, r3])
      core.receive(from, { ...asked!, kind: 'PreVoteReply', granted: true, configuration: founding });
    core.fsync();
    for (const from of [r2, r3]) promise(core, from);
    core.fsync();
    const sentAtMs = core.nowMs;
    core.accepted(r2, 1, 1, sentAtMs);
    core.accepted(r3, 1, 1, sentAtMs - 50);
    core.applied(1);
    expect(leaseHeld(core.state, sentAtMs + 139)).toBe(true);
    expect(leaseHeld(core.state, sentAtMs + 140)).toBe(false);
  });

  it('is not prolonged by an old acknowledgement, nor by one from the future', () => {
    const core = newServingLeader();
    const until = core.state.leadership!.leaseUntilMs;
    core.heartbeatAck(r2, { sentAtMs: core.nowMs - 500 });
    core.heartbeatAck(r2, { sentAtMs: core.nowMs + 500 });
    expect(core.state.leadership!.leaseUntilMs).toBe(until);
  });

  it('is not held by a leader that does not serve yet', () => {
    const core = newCandidate();
    promise(core, r2);
    core.fsync();
    core.accepted(r2, 1, 1);
    expect(leaseHeld(core.state, core.nowMs)).toBe(false);
    core.applied(1);
    expect(leaseHeld(core.state, core.nowMs)).toBe(true);
  });

  it('ends with the leadership', () => {
    const core = newServingLeader();
    core.heartbeatAck(r2);
    core.input({ kind: 'StepDown', reason: 'requested' });
    expect(leaseHeld(core.state, core.nowMs)).toBe(false);
  });

  it('keeps its holder from promising to another, until it runs out', () => {
    const core = newServingLeader();
    const { group } = core.state.config;
    const ballot = { round: 9, replica: r3 };
    core.heartbeatAck(r2);
    core.receive(r3, { kind: 'Prepare', group, ballot, commitPoint: core.state.commitPoint });
    expect(core.state.role).toBe('leader');
    core.nowMs += 190;
    core.receive(r3, { kind: 'Prepare', group, ballot, commitPoint: core.state.commitPoint });
    expect(core.state.role).toBe('follower');
    expect(core.state.promised).toEqual(ballot);
  });
});
