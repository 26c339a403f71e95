/** Whom a replica asks for what is chosen, what it tells others, and what it makes of the answers. */
import { describe, expect, it } from 'vitest';
import {
  ballot,
  command,
  configuration,
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
import type { ReplicaId } from './types/names.ts';

const r9 = 'r9' as ReplicaId;
const first = ballot(1, r2);

function reply(firstSlot: number, entries: readonly Entry[], purgedTo = 0, commitPoint = 9): CatchUpReply {
  return {
    kind: 'CatchUpReply',
    group,
    ballot: first,
    firstSlot: slot(firstSlot),
    entries,
    commitPoint: slot(commitPoint),
    purgedTo: slot(purgedTo),
    configuration: founding,
  };
}

const commands = (...names: string[]): Entry[] => names.map((name) => command(name));

/** Who was asked since the effects were last forgotten. */
function asked(core: OneCore): ReplicaId[] {
  const to = core
    .effectsOf('send')
    .flatMap((effect) => (effect.message.kind === 'CatchUpRequest' ? [effect.to] : []));
  core.effects = [];
  return to;
}

/** r3 leads, and has said that nine slots are chosen. */
function lagging(): OneCore {
  const core = newFollower();
  core.receive(r3, core.accept(ballot(1, r3), 10, [command('new')], 9));
  return core;
}

const traced = (core: OneCore): string[] => core.effectsOf('trace').map(({ event }) => event.name);

describe('a replica that lacks what is chosen', () => {
  it('asks first who said so, then another when the time has come, and after an answer the first again', () => {
    const core = lagging();
    expect(asked(core)).toEqual([r3]);
    core.tick(99);
    expect(asked(core)).toEqual([]);
    core.tick(1);
    core.tick(100);
    expect(new Set(asked(core))).toEqual(new Set([r2, r3]));
    core.receive(r2, reply(1, commands('a', 'b')));
    expect(asked(core)).toEqual([r3]);
  });

  it('asks the first again also when the second has answered at once', () => {
    const core = lagging();
    core.tick(100);
    core.effects = [];
    core.receive(r2, reply(1, commands('a', 'b')));
    expect(asked(core)).toEqual([r3]);
  });

  it('asks a member, though a stranger told it of one that is newer', () => {
    const core = newFollower();
    core.receive(r9, {
      kind: 'PreVoteReply',
      group,
      ballot: first,
      granted: false,
      configuration: configuration([r1, r2, r3], { version: 2, slot: 5 }),
    });
    core.tick(1);
    expect([r2, r3]).toContain(asked(core)[0]);
  });

  it('asks for what follows its own commit point when it has heard nobody for long', () => {
    const core = new OneCore({}, { commitPoint: slot(5), purgedTo: slot(5) });
    core.tick(700);
    expect(core.take('CatchUpRequest')).toMatchObject([{ fromSlot: 6, toSlot: 9 }]);
  });

  it('asks nobody when it is alone, however long that is', () => {
    const core = new OneCore({ members: [r1] });
    core.tick(700);
    expect(core.effectsOf('send')).toEqual([]);
  });

  it('takes entries from one who has purged others meanwhile', () => {
    const core = lagging();
    core.receive(r3, reply(1, commands('a', 'b'), 1));
    expect(core.state).toMatchObject({ commitPoint: 2, purgedTo: 0 });
  });

  it('moves its base only where the log cannot be had, and only to what lies beyond it', () => {
    const tail = [1, 2, 3, 4, 5].map((at) => vote(at, first, `c${at}`));
    const core = newFollower({}, { promised: first, tail });
    core.receive(r2, core.accept(first, 6, [], 3));
    core.restored(5);
    core.receive(r3, reply(4, [], 3));
    core.receive(r3, reply(4, [], 2));
    expect(core.state.commitPoint).toBe(3);
    core.receive(r3, reply(4, [], 4));
    expect(core.state.commitPoint).toBe(5);
    core.effects = [];
    core.receive(r3, reply(6, [], 8));
    expect(core.records()).toEqual([]);
  });

  it('writes and tells nothing when an answer brings what it has', () => {
    const core = lagging();
    core.receive(r3, reply(1, commands('a', 'b')));
    core.effects = [];
    core.receive(r3, reply(1, commands('a', 'b')));
    expect(core.effectsOf('persist')).toEqual([]);
    expect(traced(core)).toEqual([]);
  });

  it('tells an answer, and then the heartbeat that it makes good', () => {
    const core = newFollower();
    core.receive(r3, core.accept(ballot(1, r3), 2, commands('b'), 2));
    core.effects = [];
    core.receive(r3, reply(1, commands('a')));
    expect(traced(core)).toEqual(['HandleCatchUpReply', 'HandleHeartbeat']);
    expect(core.state.commitPoint).toBe(2);
  });

  it('gives nothing out that is not durable', () => {
    const core = lagging();
    core.receive(r3, reply(1, commands('a')));
    expect(core.effectsOf('chosen')).toEqual([]);
    core.fsync();
    expect(core.chosen().map(({ slot: at }) => at)).toEqual([1]);
  });
});

describe('a replica that is asked', () => {
  const request = (core: OneCore, from: ReplicaId, fromSlot: number): void =>
    core.receive(from, {
      kind: 'CatchUpRequest',
      group,
      ballot: ballot(1, r1),
      fromSlot: slot(fromSlot),
      toSlot: slot(fromSlot + 3),
    });

  it('learns from a member that asks how far that one is, and nothing from a stranger', () => {
    const core = newFollower();
    request(core, r9, 100);
    expect(core.state.knownCommitPoint).toBe(0);
    request(core, r2, 10);
    expect(core.state.knownCommitPoint).toBe(9);
  });

  it('as a leader does not doubt a stranger, who is answered all the same', () => {
    const core = newServingLeader();
    request(core, r9, 100);
    expect(core.effectsOf('disbelieved')).toEqual([]);
    expect(core.take('CatchUpReply')).toHaveLength(1);
  });
});

describe('a leader that fetches', () => {
  it('is not deposed by what replaces a vote below its own entries', () => {
    const core = newCandidate({}, { tail: [vote(1, first, 'lost')] });
    promise(core, r2, [], 2);
    core.receive(r2, reply(1, commands('won', 'other'), 0, 2));
    expect(core.state).toMatchObject({ role: 'leader', commitPoint: 2 });
  });

  it('takes a proposal again once the one before turns out to be chosen', () => {
    const core = newServingLeader();
    core.propose('a');
    core.receive(r2, reply(2, commands('a'), 0, 2));
    core.effects = [];
    core.propose('a');
    expect(core.effectsOf('refused')).toEqual([]);
    expect(core.effectsOf('proposed')).toHaveLength(1);
  });

  it('stays in office as long as something comes', () => {
    const core = newCandidate();
    promise(core, r2, [], 5);
    for (let at = 1; at <= 4; at += 1) {
      for (let waitedMs = 0; waitedMs < 500; waitedMs += 100) {
        core.tick(100);
        for (const peer of [r2, r3]) core.heartbeatAck(peer);
      }
      core.receive(r2, reply(at, commands(`c${at}`), 0, 5));
    }
    expect(core.state).toMatchObject({ role: 'leader', commitPoint: 4 });
  });
});
