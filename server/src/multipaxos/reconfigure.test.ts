import { describe, expect, it } from 'vitest';
import { replicasMax } from './quorum.ts';
import {
  address,
  configuration,
  group,
  newCandidate,
  newServingLeader,
  OneCore,
  promise,
  r1,
  r2,
  r3,
  slot,
} from './testing/one-core.ts';
import type { Effect } from './types/effects.ts';
import type { ConfigurationChange } from './types/members.ts';
import type { Accept } from './types/messages.ts';
import type { ReplicaId } from './types/names.ts';

const r4 = 'r4' as ReplicaId;
const r5 = 'r5' as ReplicaId;
const r22 = 'r2.2' as ReplicaId;
const join: ConfigurationChange = { kind: 'join', replica: r2, nonce: 'n', address };
const addR4: ConfigurationChange = { kind: 'add', replica: r4, address };

/** r2 has been silent for long, r3 was heard just now. */
function leaderWithoutR2(): OneCore {
  return afterLong(newServingLeader(), [r3]);
}

/** Longer than an election takes later, in which only these were heard. */
function afterLong(core: OneCore, heard: readonly ReplicaId[]): OneCore {
  for (let waitedMs = 0; waitedMs <= 600; waitedMs += 100) {
    core.tick(100);
    for (const peer of heard) core.heartbeatAck(peer);
  }
  core.effects = [];
  return core;
}

/** r1 leads these voters and serves; all of `heard` were heard just now, and nobody else ever. */
function leaderOf(members: readonly ReplicaId[], heard: readonly ReplicaId[]): OneCore {
  const core = new OneCore({ members });
  const of = configuration(members);
  core.tick(700);
  const [asked] = core.take('PreVote');
  for (const peer of heard)
    core.receive(peer, {
      kind: 'PreVoteReply',
      group,
      ballot: asked!.ballot,
      granted: true,
      configuration: of,
    });
  core.fsync();
  for (const peer of heard) promise(core, peer, [], 0, of);
  core.fsync();
  for (const peer of heard) core.accepted(peer, 1, 1);
  core.applied(1);
  core.effects = [];
  return core;
}

function codes(core: OneCore): string[] {
  return core.effectsOf('reconfigured').map(({ code }) => code);
}

function acceptsTo(core: OneCore, to: ReplicaId): Accept[] {
  return core
    .effectsOf('send')
    .flatMap(({ to: receiver, message }) => (receiver === to && message.kind === 'Accept' ? [message] : []));
}

/** The change is durable here and r3 has voted for it. */
function choose(core: OneCore): void {
  core.fsync();
  core.accepted(r3, core.state.commitPoint + 1, core.state.commitPoint + 1);
}

describe('a leader that changes its members', () => {
  it('proposes the new configuration, tells whom it must reach first, and sends it to them', () => {
    const core = leaderWithoutR2();
    core.reconfigure(join, 7);
    expect(core.effectsOf('reconfigured')).toEqual([{ kind: 'reconfigured', id: 7, code: 'proposed' }]);
    const [entry] = acceptsTo(core, r22)[0]!.entries;
    expect(entry).toMatchObject({ kind: 'configuration', version: 2, ballot: core.state.promised });
    const kinds = core.effects.map(({ kind }) => kind);
    expect(kinds.indexOf('configuration')).toBeLessThan(kinds.indexOf('send'));
    expect(core.effectsOf('configuration')[0]?.configuration.version).toBe(1);
  });

  it('counts by the old configuration until the new one is chosen, and then by the new one', () => {
    const core = leaderWithoutR2();
    core.reconfigure(join);
    core.fsync();
    core.accepted(r22, 2, 2);
    expect(core.state.configuration.version).toBe(1);
    core.accepted(r3, 2, 2);
    expect(core.state.configuration).toMatchObject({ version: 2, slot: 2 });
    core.propose('a');
    core.fsync();
    core.accepted(r22, 3, 3);
    core.accepted(r2, 3, 3);
    expect(core.state.commitPoint).toBe(2);
    core.accepted(r3, 3, 3);
    expect(core.state.commitPoint).toBe(3);
  });

  it('waits until everything is chosen, and proposes nothing above the change until it is', () => {
    const core = leaderWithoutR2();
    core.propose('a');
    core.reconfigure(join);
    expect(acceptsTo(core, r3).flatMap(({ entries }) => entries.map(({ kind }) => kind))).toEqual([
      'command',
    ]);
    core.propose('b');
    choose(core);
    expect(acceptsTo(core, r3).at(-1)?.entries[0]?.kind).toBe('configuration');
    core.propose('b');
    expect(core.effectsOf('refused').map(({ code }) => code)).toEqual(['windowFull', 'windowFull']);
    choose(core);
    core.propose('b');
    expect(core.effectsOf('proposed').at(-1)).toMatchObject({ proposal: { client: 'b' }, slot: 4 });
  });

  it('makes one change at a time', () => {
    const core = leaderWithoutR2();
    core.reconfigure(join);
    core.reconfigure(addR4);
    choose(core);
    core.reconfigure(addR4);
    expect(codes(core)).toEqual(['proposed', 'busy', 'proposed']);
  });

  it('answers a life that asks again that it is on its way, and then that it is done', () => {
    const core = leaderWithoutR2();
    core.reconfigure(join);
    core.reconfigure(join);
    choose(core);
    core.reconfigure(join);
    expect(codes(core)).toEqual(['proposed', 'proposed', 'done']);
  });

  it('does not replace a life that it heard just now: the request may be a late one', () => {
    const core = leaderWithoutR2();
    core.heartbeatAck(r2);
    core.reconfigure(join);
    core.reconfigure({ ...join, replica: r1 });
    expect(codes(core)).toEqual(['busy', 'busy']);
  });

  it('replaces nobody when it has only begun: whom it has not heard yet may be alive', () => {
    const core = leaderOf([r1, r2, r3, r4], [r2, r3]);
    core.reconfigure({ ...join, replica: r4 });
    expect(codes(core)).toEqual(['busy']);
    afterLong(core, [r2, r3]).reconfigure({ ...join, replica: r4 });
    expect(codes(core)).toEqual(['proposed']);
  });

  it('refuses while it does not serve, and as a follower', () => {
    const core = newCandidate();
    promise(core, r2);
    core.reconfigure(addR4);
    const follower = new OneCore();
    follower.reconfigure(addR4);
    expect([...codes(core), ...codes(follower)]).toEqual(['notLeader', 'notLeader']);
  });

  it('refuses a change that would leave fewer than a majority that it has heard', () => {
    const core = leaderWithoutR2();
    core.reconfigure({ kind: 'remove', replica: r3 });
    expect(codes(core)).toEqual(['wouldLoseQuorum']);
    core.reconfigure({ kind: 'remove', replica: r2 });
    expect(codes(core)).toEqual(['wouldLoseQuorum', 'proposed']);
  });

  it('removes one of two voters, with the vote of the one that goes, and goes on alone', () => {
    const core = leaderOf([r1, r2], [r2]);
    core.reconfigure({ kind: 'remove', replica: r2 });
    expect(codes(core)).toEqual(['proposed']);
    core.fsync();
    expect(core.state.configuration.version).toBe(1);
    expect(acceptsTo(core, r2).at(-1)).toMatchObject({ entries: [{ kind: 'configuration', version: 2 }] });
    core.accepted(r2, 2, 2);
    expect(core.state.configuration.version).toBe(2);
    core.propose('a');
    core.fsync();
    expect(core.state.commitPoint).toBe(3);
  });

  it('removes itself from among two, if the other was heard just now', () => {
    const core = leaderOf([r1, r2], [r2]);
    core.reconfigure({ kind: 'remove', replica: r1 });
    expect(codes(core)).toEqual(['proposed']);
  });

  it('does not remove one of two voters that it does not hear: nobody else can choose the change', () => {
    const core = leaderOf([r1, r2], [r2]);
    core.nowMs += 601;
    core.reconfigure({ kind: 'remove', replica: r2 });
    core.reconfigure({ kind: 'remove', replica: r1 });
    expect(codes(core)).toEqual(['wouldLoseQuorum', 'wouldLoseQuorum']);
  });

  it('removes one that it hears though another is away, as long as a majority is left', () => {
    const core = leaderOf([r1, r2, r3, r4], [r2, r3]);
    core.reconfigure({ kind: 'remove', replica: r3 });
    expect(codes(core)).toEqual(['proposed']);
    core.fsync();
    core.accepted(r2, 2, 2);
    expect(core.state.configuration.version).toBe(1);
    core.accepted(r3, 2, 2);
    expect(core.state.configuration.version).toBe(2);
    core.propose('a');
    core.fsync();
    core.accepted(r2, 3, 3);
    expect(core.state.commitPoint).toBe(3);
  });

  it('removes the one that is away, and no second one that those left would need', () => {
    const core = leaderOf([r1, r2, r3, r4], [r2, r3]);
    core.reconfigure({ kind: 'remove', replica: r4 });
    expect(codes(core)).toEqual(['proposed']);
    const five = leaderOf([r1, r2, r3, r4, r5], [r2, r3]);
    five.reconfigure({ kind: 'remove', replica: r3 });
    expect(codes(five)).toEqual(['wouldLoseQuorum']);
  });

  it('waits for a voter that lacks what the log has let go of, as that could not vote for it', () => {
    const core = afterLong(newServingLeader(), [r3]);
    core.input({ kind: 'LogPressure', isUrgent: true });
    expect(core.state.purgedTo).toBe(1);
    core.reconfigure(join);
    expect(codes(core)).toEqual(['wouldLoseQuorum']);
    expect(core.state.leadership?.wanted).toBeNull();
    core.heartbeatAck(r3, { commitPoint: 1 });
    core.reconfigure(join);
    expect(codes(core)).toEqual(['wouldLoseQuorum', 'proposed']);
  });

  it('lets a lost replica in only if the others are enough to choose that', () => {
    const core = afterLong(leaderOf([r1, r2, r3, r4], [r2, r3]), [r2, r3]);
    core.reconfigure({ ...join, replica: r4 });
    expect(codes(core)).toEqual(['proposed']);
    const two = leaderOf([r1, r2], [r2]);
    two.nowMs += 601;
    two.reconfigure(join);
    expect(codes(two)).toEqual(['wouldLoseQuorum']);
  });

  it('never removes the last voter', () => {
    const core = new OneCore({ members: [r1] });
    core.tick(700);
    core.fsync();
    core.fsync();
    core.applied(1);
    core.reconfigure({ kind: 'remove', replica: r1 });
    expect(codes(core)).toEqual(['wouldLoseQuorum']);
  });

  it('tells everyone, those who are left out once more, and gives up if it is one of them', () => {
    const core = leaderWithoutR2();
    core.heartbeatAck(r2);
    core.reconfigure({ kind: 'remove', replica: r1 });
    choose(core);
    const told = core.effectsOf('send').filter(({ message }) => message.kind === 'Heartbeat');
    expect(told.map(({ to }) => to)).toEqual([r2, r3]);
    expect(told[0]?.message).toMatchObject({ configuration: { version: 2 }, commitPoint: 2 });
    expect(core.effectsOf('leadership').at(-1)).toMatchObject({ role: 'follower', reason: 'removed' });
    core.effects = [];
    core.tick(5000);
    expect(core.take('PreVote')).toEqual([]);
  });

  it('is held up by no number of changes: the bits of its members begin anew', () => {
    const core = newServingLeader();
    for (let round = 0; round < 4 * replicasMax; round += 1) {
      for (const change of [addR4, { kind: 'remove', replica: r4 } as const]) {
        core.tick(50);
        core.heartbeatAck(r2);
        core.heartbeatAck(r3);
        core.reconfigure(change);
        choose(core);
      }
    }
    expect(new Set(codes(core))).toEqual(new Set(['proposed']));
    expect(core.state.configuration.version).toBe(1 + 8 * replicasMax);
    expect(Math.max(...core.state.roster.bits.values())).toBeLessThan(16);
    core.propose('a');
    core.fsync();
    core.accepted(r2, core.state.commitPoint + 1, core.state.commitPoint + 1);
    expect(core.effectsOf('proposed').at(-1)?.slot).toBe(core.state.commitPoint);
  });

  it('records a commit point with a vote for a configuration, before it', () => {
    const core = leaderWithoutR2();
    core.propose('a');
    choose(core);
    core.effects = [];
    core.reconfigure(join);
    expect(core.records().map(({ kind }) => kind)).toEqual(['commitPoint', 'vote']);
    core.effects = [];
    choose(core);
    expect(core.records().map(({ kind }) => kind)).toEqual(['configuration', 'commitPoint']);
  });

  it('gives up when others have chosen its change in a higher ballot', () => {
    const core = leaderWithoutR2();
    core.reconfigure(join);
    const { entries } = acceptsTo(core, r3)[0]!;
    core.receive(r3, {
      kind: 'CatchUpReply',
      group,
      ballot: { round: 9, replica: r3 },
      firstSlot: slot(2),
      entries,
      commitPoint: slot(2),
      purgedTo: slot(0),
      configuration: configuration([r1, r2, r3]),
    });
    expect(core.state.role).toBe('follower');
    expect(core.state.configuration.version).toBe(2);
  });
});

describe('a learner', () => {
  function leaderWithLearner(): OneCore {
    const core = leaderWithoutR2();
    core.reconfigure(join);
    choose(core);
    core.effects = [];
    return core;
  }

  function pending(core: OneCore): Effect[] {
    return core.effectsOf('configuration').filter((effect) => effect.pending !== null);
  }

  it('is made a voter when it keeps up: it was heard, and holds and has applied what was chosen', () => {
    const core = leaderWithLearner();
    core.tick(10);
    core.heartbeatAck(r22, { commitPoint: 2, durable: 2 });
    core.tick(10);
    expect(pending(core)).toMatchObject([
      { pending: [{}, { replica: r2, incarnation: 2, role: 'voter' }, {}] },
    ]);
  });

  it.each([
    ['is behind', { commitPoint: 2, durable: 3 }, 0],
    ['has applied too little', { commitPoint: 3, durable: 2 }, 0],
    ['was not heard for long', { commitPoint: 3, durable: 3 }, 301],
  ])('is not promoted while it %s', (_name, acknowledged, silentMs) => {
    expect(pending(waited(acknowledged, silentMs))).toEqual([]);
  });

  it('is promoted as soon as none of that is so', () => {
    expect(pending(waited({ commitPoint: 3, durable: 3 }, 300))).toHaveLength(1);
  });

  /** Everything was chosen long ago when the learner is heard, and then silent. */
  function waited(acknowledged: { commitPoint: number; durable: number }, silentMs: number): OneCore {
    const core = leaderWithLearner();
    core.propose('a');
    choose(core);
    for (let waitedMs = 0; waitedMs < 7000; waitedMs += 100) {
      core.tick(100);
      core.heartbeatAck(r3);
    }
    core.heartbeatAck(r22, acknowledged);
    core.nowMs += silentMs;
    core.heartbeatAck(r3);
    core.tick();
    return core;
  }

  it.each([
    ['where the commit point was long ago', { commitPoint: 5, durable: 40 }],
    ['applied what was chosen longer ago than marks are kept', { commitPoint: 40, durable: 5 }],
  ])('is not promoted that has only %s', (_how, { commitPoint, durable }) => {
    const core = leaderWithLearner();
    while (core.state.commitPoint < 40) {
      core.propose(`c${core.state.commitPoint}`);
      choose(core);
      for (const silent of [0, 200]) {
        core.tick(200 + silent);
        core.heartbeatAck(r3);
      }
    }
    core.heartbeatAck(r22, { commitPoint, durable });
    core.tick();
    expect(pending(core)).toEqual([]);
    core.heartbeatAck(r22, { commitPoint: 40, durable: 40 });
    core.tick();
    expect(pending(core)).toHaveLength(1);
  });

  it('is promoted in an action of its own, apart from the heartbeats of the same tick', () => {
    const core = leaderWithLearner();
    core.tick(10);
    core.heartbeatAck(r22, { commitPoint: 2, durable: 2 });
    core.effects = [];
    core.tick(50);
    expect(core.sentKinds()).toContain('Heartbeat');
    const event = core.effectsOf('trace').find(({ event: { name } }) => name === 'Reconfigure')?.event;
    expect(new Set(event?.sent?.map(({ message }) => message.kind))).toEqual(new Set(['Accept']));
  });

  it('is promoted under a load that it follows at a distance, which never becomes small', () => {
    const core = leaderWithLearner();
    const distance = 20;
    for (let index = 0; index < 200 && pending(core).length === 0; index += 1) {
      core.propose(`c${index}`);
      core.fsync();
      core.accepted(r3, core.state.commitPoint + 1, core.state.commitPoint + 1);
      const reached = Math.max(0, core.state.commitPoint - distance);
      core.heartbeatAck(r22, { commitPoint: reached, durable: reached });
      core.tick(20);
    }
    expect(pending(core)).toHaveLength(1);
  });

  it('holds back the global pointer until it has been heard, and an expected replica does not', () => {
    const core = leaderWithLearner();
    core.applied(2);
    core.heartbeatAck(r3, { durable: 2 });
    core.tick(50);
    expect(core.take('Heartbeat').at(-1)?.globalApplicationPointer).toBe(0);
    core.heartbeatAck(r22, { durable: 1 });
    core.tick(50);
    expect(core.take('Heartbeat').at(-1)?.globalApplicationPointer).toBe(1);
    core.reconfigure(addR4);
    choose(core);
    core.tick(50);
    expect(core.take('Heartbeat').at(-1)?.globalApplicationPointer).toBe(1);
  });
});
