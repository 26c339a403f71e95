/** What a leader sends again, to whom and when. */
import { describe, expect, it } from 'vitest';
import {
  configuration,
  group,
  newCandidate,
  newServingLeader,
  OneCore,
  promise,
  r1,
  r2,
  r3,
} from './testing/one-core.ts';
import type { ReplicaId } from './types/names.ts';

const [r4, r5] = ['r4', 'r5'] as unknown as [ReplicaId, ReplicaId];

/** One of five that serves: no slot is chosen before three have it. */
function leaderOfFive(): OneCore {
  const members = [r1, r2, r3, r4, r5];
  const known = configuration(members);
  const core = new OneCore({ members });
  core.tick(700);
  const [asked] = core.take('PreVote');
  for (const from of [r2, r3])
    core.receive(from, {
      kind: 'PreVoteReply',
      group,
      ballot: asked!.ballot,
      granted: true,
      configuration: known,
    });
  core.fsync();
  for (const from of [r2, r3]) promise(core, from, [], 0, known);
  core.fsync();
  for (const from of [r2, r3]) core.accepted(from, 1, 1);
  core.applied(1);
  core.effects = [];
  return core;
}

/** To whom, from which slot, and how many. */
function again(core: OneCore): (readonly [ReplicaId, number, number])[] {
  const sent = core
    .effectsOf('send')
    .flatMap(({ to, message }) =>
      message.kind === 'Accept' ? [[to, message.firstSlot, message.entries.length] as const] : [],
    );
  core.effects = [];
  return sent;
}

const to = (core: OneCore, peer: ReplicaId): (readonly [number, number])[] =>
  again(core).flatMap(([name, from, count]) => (name === peer ? [[from, count] as const] : []));

describe('a leader sends again', () => {
  it('the first run of slots that a peer has not acknowledged, and nothing that it has', () => {
    const core = leaderOfFive();
    core.propose('a', 'b', 'c');
    core.accepted(r2, 2, 2);
    core.accepted(r3, 3, 3);
    core.accepted(r4, 2, 4);
    for (const peer of [r2, r3, r4, r5]) core.heartbeatAck(peer);
    core.effects = [];
    core.tick(100);
    expect(again(core)).toEqual([
      [r2, 3, 2],
      [r3, 2, 1],
      [r5, 2, 3],
    ]);
  });

  it('once in its time, not at every tick', () => {
    const core = newServingLeader();
    core.propose('a');
    core.heartbeatAck(r3);
    core.effects = [];
    core.tick(100);
    expect(to(core, r3)).toEqual([[2, 1]]);
    core.tick(99);
    expect(to(core, r3)).toEqual([]);
    core.tick(1);
    expect(to(core, r3)).toEqual([[2, 1]]);
  });

  it('to a peer for as long as an election may take, and no longer while that is silent', () => {
    const core = newServingLeader();
    core.propose('a');
    const sent: number[] = [];
    for (let waitedMs = 100; waitedMs <= 800; waitedMs += 100) {
      core.tick(100);
      core.heartbeatAck(r2);
      if (to(core, r3).length > 0) sent.push(waitedMs);
    }
    expect(sent).toEqual([100, 200, 300, 400, 500, 600]);
  });

  it('nothing that left a moment ago', () => {
    const core = newServingLeader();
    core.propose('a');
    core.heartbeatAck(r3);
    core.nowMs += 60;
    core.propose('b');
    core.effects = [];
    core.tick(40);
    expect(to(core, r3)).toEqual([[2, 1]]);
  });

  it('nothing that is chosen, to one that lacks it: that one fetches', () => {
    const core = newServingLeader();
    core.propose('a');
    core.fsync();
    core.accepted(r2, 2, 2);
    core.propose('b');
    core.heartbeatAck(r3);
    core.effects = [];
    core.tick(100);
    expect(to(core, r3)).toEqual([[3, 1]]);
  });

  it('one entry that is larger than an Accept should be', () => {
    const core = newServingLeader({ acceptBatchBytesMax: 60 });
    core.propose('a', 'b');
    core.heartbeatAck(r3);
    core.effects = [];
    core.tick(100);
    expect(to(core, r3)).toEqual([[2, 1]]);
  });
});

describe('a leader stays', () => {
  it('that waits for votes on its first entry, as long as a quorum answers', () => {
    const core = newCandidate();
    promise(core, r2);
    for (let waitedMs = 0; waitedMs < 2000; waitedMs += 100) {
      core.tick(100);
      for (const peer of [r2, r3]) core.heartbeatAck(peer);
    }
    expect(core.state).toMatchObject({ role: 'leader', commitPoint: 0 });
  });
});

describe('a leader that has lost its quorum', () => {
  it('says nothing as a leader any more, and waits before it campaigns', () => {
    const core = newServingLeader();
    core.effects = [];
    core.tick(701);
    expect(core.state.role).toBe('follower');
    expect(core.sentKinds()).toEqual([]);
    core.tick(10);
    expect(core.sentKinds()).toEqual([]);
  });
});
