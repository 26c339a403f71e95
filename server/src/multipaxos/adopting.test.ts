/** A follower's answers to the ballots that it meets: what it writes, says and tells of them. */
import { describe, expect, it } from 'vitest';
import {
  ballot,
  command,
  configuration,
  configurationEntry,
  founding,
  group,
  newFollower,
  type OneCore,
  r1,
  r2,
  r3,
  slot,
  vote,
} from './testing/one-core.ts';
import type { Heartbeat, Prepare } from './types/messages.ts';
import type { Ballot, ReplicaId } from './types/names.ts';

const first = ballot(1, r2);
const second = ballot(2, r3);
const r4 = 'r4' as ReplicaId;

const prepare = (of: Ballot, commitPoint = 0): Prepare => ({
  kind: 'Prepare',
  group,
  ballot: of,
  commitPoint: slot(commitPoint),
});

const heartbeat = (of: Ballot, commitPoint = 0): Heartbeat => ({
  kind: 'Heartbeat',
  group,
  ballot: of,
  commitPoint: slot(commitPoint),
  sentAtMs: 9,
  globalApplicationPointer: slot(0),
  configuration: founding,
});

const traced = (core: OneCore): string[] => core.effectsOf('trace').map(({ event }) => event.name);

/** Has voted for a and b in the ballot of r2, durably. */
function follower(): OneCore {
  const core = newFollower();
  core.receive(r2, core.accept(first, 1, [command('a'), command('b')]));
  core.fsync();
  core.effects = [];
  return core;
}

describe('a follower that is asked to promise', () => {
  it('tells it, forgets its leader, and asks for what the candidate has as chosen', () => {
    const core = follower();
    core.nowMs += 250;
    core.receive(r3, prepare(second, 7));
    expect(core.state).toMatchObject({ leader: null, promised: second });
    expect(traced(core)).toEqual(['HandlePrepare']);
    core.tick(1);
    expect(core.effectsOf('send').at(-1)).toMatchObject({ to: r3, message: { kind: 'CatchUpRequest' } });
  });

  it('is silent if it follows that very leader', () => {
    const core = follower();
    core.receive(r2, prepare(first));
    expect(core.sentKinds()).toEqual([]);
    core.fsync();
    expect(core.sentKinds()).toEqual([]);
  });

  it('rejects a lower ballot at once if what stands in its way is durable, whatever else is not', () => {
    const core = newFollower({}, { promised: ballot(3, r2) });
    core.receive(r2, core.accept(ballot(3, r2), 1, [command('a')]));
    core.receive(r3, prepare(second));
    expect(core.take('Reject')).toMatchObject([{ promised: ballot(3, r2) }]);
  });
});

describe('a follower that has just promised to another', () => {
  it('tells its leader so when that is durable, and before nothing', () => {
    const core = follower();
    core.nowMs += 250;
    core.receive(r3, prepare(second));
    core.receive(r2, core.accept(first, 3, [command('c')]));
    expect(core.take('Reject')).toEqual([]);
    core.fsync();
    expect(core.take('Reject')).toMatchObject([{ ballot: first, promised: second }]);
  });
});

describe('a follower', () => {
  it('takes no Accept or Heartbeat of a ballot from anyone but its owner', () => {
    const core = newFollower();
    core.receive(r3, core.accept(first, 1, [command('a')]));
    core.receive(r3, heartbeat(first));
    expect(core.records()).toEqual([]);
    expect(core.state.promised.round).toBe(0);
  });

  it('writes the promise of a leader that it adopts by an Accept of what is settled, and tells a heartbeat', () => {
    const core = newFollower({}, { commitPoint: slot(5) });
    core.receive(r3, core.accept(second, 4, [command('x'), command('y')], 5));
    expect(core.records()).toEqual([{ kind: 'promise', ballot: second }]);
    expect(traced(core)).toEqual(['HandleHeartbeat']);
    core.fsync();
    expect(core.state.durablePromised).toEqual(second);
  });

  it('writes no promise of its own with a vote, which implies it, not even behind a commit point', () => {
    const core = follower();
    const members = configuration([r1, r2, r3], { learners: [r4], version: 2 });
    core.receive(r2, heartbeat(first, 2));
    core.effects = [];
    core.receive(r3, core.accept(second, 3, [configurationEntry(second, members)], 2));
    expect(core.records().map(({ kind }) => kind)).toEqual(['commitPoint', 'vote']);
    expect(traced(core)).toEqual(['HandleAccept']);
  });

  it('does not acknowledge a configuration that it has not voted for', () => {
    const core = newFollower();
    const members = configuration([r1, r2, r3], { learners: [r4], version: 2 });
    core.receive(r2, core.accept(first, 1, [command('a'), configurationEntry(first, members)]));
    core.fsync();
    expect(core.take('Accepted')).toMatchObject([{ firstSlot: 1, lastSlot: 1 }]);
  });

  it('takes what it votes for as chosen at once if the message says so', () => {
    const core = newFollower();
    core.receive(r2, core.accept(first, 1, [command('a'), command('b')], 2));
    expect(core.state.commitPoint).toBe(2);
  });

  it('tells an Accept that brings a commit point, and one that brings nothing not at all', () => {
    const core = follower();
    core.receive(r2, core.accept(first, 1, [command('a'), command('b')], 1));
    expect(traced(core)).toEqual(['HandleAccept']);
    core.receive(r2, core.accept(first, 2, [command('b')], 2));
    expect(traced(core)).toEqual(['HandleAccept', 'HandleAccept']);
    core.receive(r2, core.accept(first, 1, [command('a'), command('b')], 2));
    expect(traced(core)).toEqual(['HandleAccept', 'HandleAccept']);
  });

  it('tells a Heartbeat that brings a ballot or a commit point, and one that brings nothing not at all', () => {
    const core = follower();
    core.receive(r2, heartbeat(first));
    expect(traced(core)).toEqual([]);
    core.receive(r2, heartbeat(first, 1));
    expect(traced(core)).toEqual(['HandleHeartbeat']);
    core.receive(r3, heartbeat(second, 1));
    expect(traced(core)).toEqual(['HandleHeartbeat', 'HandleHeartbeat']);
  });

  it('answers a Heartbeat at once though votes are not durable yet, if the promise is', () => {
    const core = follower();
    core.receive(r2, core.accept(first, 3, [command('c')]));
    core.receive(r2, heartbeat(first));
    expect(core.sentKinds()).toEqual(['HeartbeatAck']);
  });

  it('remembers the highest commit point that its leader told, though a lower one comes late', () => {
    const core = newFollower();
    core.receive(r2, heartbeat(first, 2));
    core.receive(r2, heartbeat(first, 0));
    core.receive(r2, core.accept(first, 1, [command('a'), command('b')]));
    expect(core.state.commitPoint).toBe(2);
  });

  it('holds exactly as many bytes beyond its commit point as two windows have', () => {
    const core = newFollower();
    const weighing = (at: number, bytes: number): void =>
      core.receive(r2, core.accept(first, at, [command(`c${at}`, bytes - 64)]));
    weighing(2, 1000);
    weighing(3, 1500);
    weighing(4, 1500);
    expect(core.state.tailBytes).toBe(4000);
    weighing(5, 65);
    expect([...core.state.log.keys()]).toEqual([2, 3, 4]);
  });

  it('gives its leadership up without counting votes that become durable later', () => {
    const core = newFollower({ members: [r1] });
    core.tick(700);
    core.fsync();
    core.input({ kind: 'StepDown', reason: 'requested' });
    core.fsync();
    expect(core.state).toMatchObject({ role: 'follower', commitPoint: 0 });
  });

  it('has bytes of what is chosen and of what is not counted apart when its base moves', () => {
    const tail = [1, 2, 3].map((at) => vote(at, first, `c${at}`));
    const core = newFollower({}, { promised: first, tail });
    core.receive(r2, heartbeat(first, 2));
    expect(core.state.chosenBytes).toBeGreaterThan(0);
    core.restored(7);
    expect(core.state).toMatchObject({ chosenBytes: 0, tailBytes: 0, droppedTo: 7 });
  });

  it('remembers that more is chosen than the database has that its base moves to', () => {
    const core = newFollower();
    core.receive(r2, heartbeat(first, 20));
    core.restored(7);
    core.effects = [];
    core.tick(100);
    expect(core.take('CatchUpRequest')).toMatchObject([{ fromSlot: 8, toSlot: 11 }]);
  });
});
