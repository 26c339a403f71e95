import { describe, expect, it } from 'vitest';
import { InvariantViolation } from './step.ts';
import {
  ballot,
  command,
  founding,
  group,
  newFollower,
  noop,
  r2,
  r3,
  slot,
  vote,
} from './testing/one-core.ts';
import type { Heartbeat } from './types/messages.ts';

const first = ballot(1, r2);

function heartbeat(commitPoint: number, of = first, globalApplicationPointer = 0): Heartbeat {
  return {
    kind: 'Heartbeat',
    group,
    ballot: of,
    commitPoint: slot(commitPoint),
    sentAtMs: 9,
    globalApplicationPointer: slot(globalApplicationPointer),
    configuration: founding,
  };
}

describe('a follower', () => {
  it('reveals its votes only once they are durable, and echoes the time of the Accept', () => {
    const core = newFollower();
    core.receive(r2, core.accept(first, 1, [command('a'), command('b')]));
    expect(core.records().map((record) => record.kind)).toEqual(['vote', 'vote']);
    expect(core.sentKinds()).toEqual([]);
    core.fsync();
    expect(core.take('Accepted')).toEqual([
      { kind: 'Accepted', group, ballot: first, firstSlot: 1, lastSlot: 2, commitPoint: 0, sentAtMs: 7 },
    ]);
  });

  it('answers an Accept that comes again without writing it again', () => {
    const core = newFollower();
    core.receive(r2, core.accept(first, 1, [command('a')]));
    core.receive(r2, core.accept(first, 1, [command('a')]));
    core.fsync();
    expect(core.records()).toHaveLength(1);
    expect(core.take('Accepted')).toHaveLength(2);
  });

  it('stops when one ballot brings two entries for a slot', () => {
    const core = newFollower();
    core.receive(r2, core.accept(first, 1, [command('a')]));
    const second = core.accept(first, 1, [command('b')]);
    expect(() => core.receive(r2, second)).toThrow(InvariantViolation);
    expect(() => core.receive(r2, second)).toThrow('OneValuePerBallot');
  });

  it('rejects an Accept and a Heartbeat below its promise', () => {
    const core = newFollower({}, { promised: ballot(3, r3) });
    core.receive(r2, core.accept(first, 1, [command('a')]));
    core.receive(r2, heartbeat(0));
    expect(core.records()).toEqual([]);
    expect(core.take('Reject')).toHaveLength(2);
    expect(core.state.leaseGrantedTo).toBeNull();
  });

  it('keeps its tail when the leader changes, until the new leader writes the slot', () => {
    const tail = [1, 2, 3].map((at) => vote(at, first, `old${at}`));
    const core = newFollower({}, { promised: first, tail });
    core.receive(r3, core.accept(ballot(2, r3), 2, [command('new')]));
    expect([1, 2, 3].map((at) => core.state.log.get(slot(at))?.label)).toEqual(['old1/1', 'new/1', 'old3/1']);
    expect(core.state.lastSlot).toBe(3);
    const bytes = [...core.state.log.values()].reduce((sum, held) => sum + held.bytes, 0);
    expect(core.state.tailBytes).toBe(bytes);
  });

  it('takes a slot for chosen when its vote is in the ballot of the leader that says so', () => {
    const core = newFollower();
    core.receive(r2, core.accept(first, 1, [command('a'), noop], 0));
    core.fsync();
    core.receive(r2, heartbeat(2));
    expect(core.chosen()).toEqual([
      { slot: 1, entry: command('a') },
      { slot: 2, entry: noop },
    ]);
  });

  it('does not take a vote of a lower ballot for what was chosen, and asks for the entry', () => {
    const core = newFollower({}, { promised: first, tail: [vote(1, first, 'perhaps')] });
    core.receive(r3, heartbeat(1, ballot(2, r3)));
    expect(core.state.commitPoint).toBe(0);
    expect(core.take('CatchUpRequest')).toMatchObject([{ fromSlot: 1, toSlot: 1 }]);
  });

  it('does not vote again at or below its commit point', () => {
    const core = newFollower({}, { promised: first, commitPoint: slot(2) });
    core.receive(r3, core.accept(ballot(2, r3), 1, [command('x'), command('y'), command('z')]));
    core.fsync();
    expect(core.records().filter((record) => record.kind === 'vote')).toMatchObject([{ slot: 3 }]);
    expect(core.take('Accepted')).toMatchObject([{ firstSlot: 3, lastSlot: 3 }]);
  });

  it('answers an Accept whose slots are all settled like a heartbeat, telling its commit point', () => {
    const core = newFollower({}, { promised: first, commitPoint: slot(2) });
    core.receive(r2, core.accept(first, 1, [command('x')]));
    expect(core.take('HeartbeatAck')).toMatchObject([{ commitPoint: 2, sentAtMs: 7 }]);
  });

  it('adopts a higher ballot by a heartbeat, durably before it answers', () => {
    const core = newFollower();
    core.receive(r2, heartbeat(0));
    expect(core.records()).toEqual([{ kind: 'promise', ballot: first }]);
    expect(core.sentKinds()).toEqual([]);
    core.fsync();
    expect(core.take('HeartbeatAck')).toMatchObject([{ ballot: first, sentAtMs: 9 }]);
  });

  it('holds a bounded number of slots beyond its commit point', () => {
    const core = newFollower({ windowSlotsMax: 2 });
    const entries = Array.from({ length: 12 }, (_, index) => command(`c${index}`));
    core.receive(r2, core.accept(first, 2, entries));
    core.fsync();
    expect(core.take('Accepted')).toMatchObject([{ firstSlot: 2, lastSlot: 4 }]);
    expect(core.state.log.size).toBe(3);
  });

  it('holds a bounded number of bytes beyond its commit point, but always the next slot', () => {
    const core = newFollower({ windowBytesMax: 100 });
    core.receive(r2, core.accept(first, 2, [command('a', 100), command('b', 100), command('c', 100)]));
    expect([...core.state.log.keys()]).toEqual([2, 3]);
    core.receive(r2, core.accept(first, 1, [command('next', 100)]));
    expect(core.state.log.has(slot(1))).toBe(true);
  });

  it('takes an entry larger than its window while it holds little else', () => {
    const core = newFollower({ windowBytesMax: 100 });
    core.receive(r2, core.accept(first, 2, [command('a', 100), command('big', 5000)]));
    expect([...core.state.log.keys()]).toEqual([2, 3]);
  });

  it('does not campaign while its leader is heard', () => {
    const core = newFollower();
    for (let waitedMs = 0; waitedMs < 2000; waitedMs += 100) {
      core.tick(100);
      core.receive(r2, heartbeat(0));
    }
    expect(core.sentKinds()).not.toContain('PreVote');
    core.tick(600);
    expect(core.sentKinds()).toContain('PreVote');
  });

  it('does not act on what an earlier leader announced', () => {
    const core = newFollower();
    core.receive(r2, heartbeat(1));
    core.receive(r3, core.accept(ballot(2, r3), 1, [command('a')], 0));
    expect(core.state.commitPoint).toBe(0);
    core.receive(r3, heartbeat(1, ballot(2, r3)));
    expect(core.state.commitPoint).toBe(1);
  });

  it('purges no further than its own database has made durable', () => {
    const tail = [1, 2, 3].map((at) => vote(at, first, `c${at}`));
    const core = newFollower({}, { promised: first, tail });
    core.receive(r2, heartbeat(0));
    core.receive(r2, core.accept(first, 1, [command('c1'), command('c2'), command('c3')], 3));
    core.applied(3, 2);
    core.receive(r2, heartbeat(3, first, 3));
    expect(core.effectsOf('purge')).toEqual([{ kind: 'purge', upTo: 2 }]);
  });
});
