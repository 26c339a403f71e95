import { describe, expect, it } from 'vitest';
import { leaseHeld } from './step.ts';
import {
  ballot,
  command,
  group,
  newCandidate,
  newFollower,
  newServingLeader,
  type OneCore,
  promise,
  r1,
  r2,
  r3,
} from './testing/one-core.ts';
import type { HandOverCode } from './types/effects.ts';
import type { Message } from './types/messages.ts';
import type { ReplicaId } from './types/names.ts';

/** A leader whose peer r2 knows all that is chosen. */
function readyLeader(): OneCore {
  const core = newServingLeader();
  core.heartbeatAck(r2, { commitPoint: 1 });
  core.effects = [];
  return core;
}

function ask(core: OneCore, successor: ReplicaId): HandOverCode {
  core.effects = [];
  core.input({ kind: 'HandOver', successor });
  return core.effectsOf('handOver')[0]!.code;
}

function resigned(of = ballot(1, r2), successor = r1): Message {
  return { kind: 'Resigned', group, ballot: of, successor };
}

/** r1, which has given its word to r2 in ballot 1 just now. */
function boundFollower(): OneCore {
  const core = newFollower();
  core.receive(r2, core.accept(ballot(1, r2), 1, [command('a')]));
  core.fsync();
  core.effects = [];
  return core;
}

describe('a leader that is to hand over', () => {
  it('tells all the commit point and then that it has resigned, holds no lease, and promises like anyone', () => {
    const core = readyLeader();
    core.heartbeatAck(r3);
    expect(ask(core, r2)).toBe('handedOver');
    expect(core.sentKinds()).toEqual(['Heartbeat', 'Heartbeat', 'Resigned', 'Resigned']);
    expect(core.take('Resigned')[0]).toEqual({
      kind: 'Resigned',
      group,
      ballot: ballot(1, r1),
      successor: r2,
    });
    expect(leaseHeld(core.state, core.nowMs)).toBe(false);
    expect(core.state).toMatchObject({ role: 'follower', leader: null, lastReason: 'handedOver' });
    core.receive(r2, { kind: 'Prepare', group, ballot: ballot(2, r2), commitPoint: core.state.commitPoint });
    core.fsync();
    expect(core.take('Promise')).toHaveLength(1);
  });

  it('campaigns again when nobody leads for a time-out', () => {
    const core = readyLeader();
    ask(core, r2);
    core.effects = [];
    core.tick(700);
    expect(core.take('PreVote')).toHaveLength(2);
  });

  it('does so only while nothing that it proposed is under way, nor a change of the members', () => {
    const proposing = readyLeader();
    proposing.propose('a');
    expect(ask(proposing, r2)).toBe('busy');
    const changing = readyLeader();
    changing.reconfigure({ kind: 'remove', replica: r3 });
    expect(ask(changing, r2)).toBe('busy');
    expect(proposing.state.role).toBe('leader');
  });

  it('has only a voter lead that was heard just now and knows all that is chosen', () => {
    const core = readyLeader();
    core.heartbeatAck(r3, { commitPoint: 0 });
    expect(ask(core, r3)).toBe('behind');
    expect(ask(core, r1)).toBe('noVoter');
    expect(ask(core, 'r9' as ReplicaId)).toBe('noVoter');
    core.nowMs += 301;
    expect(ask(core, r2)).toBe('behind');
    expect(core.state.role).toBe('leader');
  });

  it('serves already', () => {
    const core = newCandidate();
    promise(core, r2);
    expect(ask(core, r2)).toBe('notLeader');
    expect(ask(newFollower(), r2)).toBe('notLeader');
  });
});

describe('a leader whose database or log fails', () => {
  const fails = (core: OneCore, reason: 'databaseFailed' | 'logFailed' | 'requested' | 'removed'): void => {
    core.effects = [];
    core.input({ kind: 'StepDown', reason });
  };

  it.each(['databaseFailed', 'logFailed', 'requested'] as const)(
    'says that it leads no more, whatever is under way, and names the voter that knows most: %s',
    (reason) => {
      const core = readyLeader();
      core.heartbeatAck(r3, { commitPoint: 0 });
      core.propose('a');
      fails(core, reason);
      expect(core.sentKinds()).toEqual(['Resigned', 'Resigned']);
      expect(core.take('Resigned')[0]).toEqual(resigned(ballot(1, r1), r2));
      expect(leaseHeld(core.state, core.nowMs)).toBe(false);
      expect(core.state).toMatchObject({ role: 'follower', leader: null, lastReason: reason });
    },
  );

  it('prefers, of two that know the same to be chosen, the one with more in its database', () => {
    const core = readyLeader();
    core.heartbeatAck(r3, { commitPoint: 1, durable: 1 });
    fails(core, 'databaseFailed');
    expect(core.take('Resigned')).toMatchObject([{ successor: r3 }, { successor: r3 }]);
  });

  it('names nobody whom it has not heard just now, and nobody where it is deposed', () => {
    const silent = readyLeader();
    silent.nowMs += 301;
    fails(silent, 'databaseFailed');
    const removed = readyLeader();
    fails(removed, 'removed');
    for (const core of [silent, removed]) {
      expect(core.take('Resigned')).toEqual([]);
      expect(core.state.role).toBe('follower');
    }
  });

  it('stands itself only when the others have had time to', () => {
    const core = readyLeader();
    fails(core, 'databaseFailed');
    core.tick(1199);
    expect(core.take('PreVote')).toEqual([]);
    core.tick(451);
    expect(core.take('PreVote')).toHaveLength(2);
  });
});

describe('a follower whose leader has resigned', () => {
  it('that is to lead stands at once, without asking first, within the word that it gave', () => {
    const core = boundFollower();
    core.receive(r2, resigned());
    expect(core.state.role).toBe('candidate');
    core.fsync();
    expect(core.take('Prepare')).toHaveLength(2);
  });

  it('promises another at once', () => {
    const prepare: Message = {
      kind: 'Prepare',
      group,
      ballot: ballot(2, r3),
      commitPoint: newFollower().state.commitPoint,
    };
    const bound = boundFollower();
    bound.receive(r3, prepare);
    bound.fsync();
    expect(bound.take('Promise')).toEqual([]);
    bound.receive(r2, resigned(ballot(1, r2), r3));
    expect(bound.state.leader).toBeNull();
    bound.receive(r3, prepare);
    bound.fsync();
    expect(bound.take('Promise')).toHaveLength(1);
  });

  it('keeps its word to a later leader, whatever an earlier one says late, or somebody in its name', () => {
    const core = boundFollower();
    core.receive(r3, core.accept(ballot(2, r3), 1, [command('a')]));
    core.receive(r2, resigned());
    core.receive(r2, resigned(ballot(2, r3)));
    core.receive(r3, resigned(ballot(3, r3)));
    expect(core.state).toMatchObject({
      role: 'follower',
      leader: r3,
      leaseGrantedTo: r3,
      leaseGrantedUntilMs: 1450,
    });
  });

  it('does not stand while it waits for a copy of a database, or had better not lead', () => {
    const waiting = boundFollower();
    waiting.input({ kind: 'CopyAwaited' });
    const failed = boundFollower();
    failed.input({ kind: 'StepDown', reason: 'databaseFailed' });
    for (const core of [waiting, failed]) {
      core.receive(r2, resigned());
      expect(core.state).toMatchObject({ role: 'follower', leader: null });
    }
  });

  it('asks soon where it is not named, or cannot stand: the one that is named may be unable to', () => {
    const another = boundFollower();
    another.receive(r2, resigned(ballot(1, r2), r3));
    const quarantined = boundFollower();
    quarantined.input({ kind: 'StepDown', reason: 'databaseFailed' });
    quarantined.receive(r2, resigned());
    // A quarter of a time-out of 450 ms.
    another.tick(112);
    expect(another.take('PreVote')).toEqual([]);
    another.tick(1);
    expect(another.take('PreVote')).toHaveLength(2);
    quarantined.tick(113);
    expect(quarantined.take('PreVote')).toEqual([]);
  });

  it('tells so in its trace, and the word that is left', () => {
    const core = boundFollower();
    core.receive(r2, resigned());
    const told = core.effectsOf('traceLease').map(({ event }) => event);
    const grant = { untilMs: 1250, to: r2 };
    expect(told).toEqual([
      { name: 'HandleResigned', clockMs: 1250, ballot: ballot(1, r2), grant },
      { name: 'GivePromise', clockMs: 1250, ballot: ballot(2, r1), grant, lease: null },
    ]);
  });
});
