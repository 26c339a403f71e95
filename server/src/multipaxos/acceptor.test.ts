import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareBallots } from './ballot.ts';
import { ballot, command, group, newFollower, OneCore, r1, r2, r3, slot, vote } from './testing/one-core.ts';
import type { Prepare } from './types/messages.ts';
import type { Ballot } from './types/names.ts';

function prepare(of: Ballot, commitPoint = 0): Prepare {
  return { kind: 'Prepare', group, ballot: of, commitPoint: slot(commitPoint) };
}

describe('an acceptor', () => {
  it('reveals a promise only once it is durable', () => {
    const core = newFollower();
    core.receive(r2, prepare(ballot(1, r2)));
    expect(core.records()).toEqual([{ kind: 'promise', ballot: ballot(1, r2) }]);
    expect(core.sentKinds()).toEqual([]);
    core.fsync();
    expect(core.sentKinds()).toEqual(['Promise']);
  });

  it('never lowers its promise, whatever comes in whatever order', () => {
    const anyInput = fc.record({
      from: fc.constantFrom(r2, r3),
      round: fc.integer({ min: 1, max: 6 }),
      kind: fc.constantFrom('prepare', 'accept', 'fsync', 'wait'),
    });
    fc.assert(
      fc.property(fc.array(anyInput, { maxLength: 40 }), (inputs) => {
        const core = newFollower();
        for (const { from, round, kind } of inputs) {
          const before = core.state.promised;
          if (kind === 'prepare') core.receive(from, prepare(ballot(round, from)));
          if (kind === 'accept')
            core.receive(from, core.accept(ballot(round, from), 1, [command(`${round}${from}`)]));
          if (kind === 'fsync') core.fsync();
          if (kind === 'wait') core.tick(250);
          expect(compareBallots(core.state.promised, before)).toBeGreaterThanOrEqual(0);
          for (const message of core.take('Promise')) {
            expect(compareBallots(message.ballot, core.state.durablePromised)).toBeLessThanOrEqual(0);
          }
        }
      }),
    );
  });

  it('answers a Prepare below its promise with a Reject, and stays as it is', () => {
    const core = newFollower({}, { promised: ballot(5, r3) });
    core.receive(r2, prepare(ballot(4, r2)));
    expect(core.take('Reject')).toEqual([
      { kind: 'Reject', group, ballot: ballot(4, r2), promised: ballot(5, r3) },
    ]);
    expect(core.state.promised).toEqual(ballot(5, r3));
  });

  it('tells of a promise in a Reject only once that promise is durable', () => {
    const core = newFollower();
    core.receive(r3, prepare(ballot(5, r3)));
    core.receive(r2, prepare(ballot(4, r2)));
    expect(core.sentKinds()).toEqual([]);
    core.fsync();
    expect(core.sentKinds()).toEqual(['Promise', 'Reject']);
  });

  it('answers a Prepare that comes again, without another record', () => {
    const core = newFollower();
    core.receive(r2, prepare(ballot(1, r2)));
    core.fsync();
    core.effects = [];
    core.receive(r2, prepare(ballot(1, r2)));
    expect(core.records()).toEqual([]);
    expect(core.take('Promise')).toHaveLength(1);
  });

  it('tells its votes above the higher of both commit points', () => {
    const tail = [2, 3, 4, 6].map((at) => vote(at, ballot(1, r3), `c${at}`));
    const core = newFollower({}, { promised: ballot(1, r3), commitPoint: slot(1), tail });
    core.receive(r2, prepare(ballot(2, r2), 2));
    core.fsync();
    const [answer] = core.take('Promise');
    expect(answer?.commitPoint).toBe(1);
    expect(answer?.votes.map((told) => told.slot)).toEqual([3, 4, 6]);
  });

  it('promises nothing to others while it has granted a lease, then does', () => {
    const core = newFollower();
    core.receive(r2, core.accept(ballot(1, r2), 1, [command('a')]));
    core.fsync();
    core.nowMs += 199;
    core.receive(r3, prepare(ballot(2, r3)));
    expect(core.state.promised).toEqual(ballot(1, r2));
    core.nowMs += 1;
    core.receive(r3, prepare(ballot(2, r3)));
    expect(core.state.promised).toEqual(ballot(2, r3));
  });

  it('promises to the holder of the lease itself at any time', () => {
    const core = newFollower();
    core.receive(r2, core.accept(ballot(1, r2), 1, [command('a')]));
    core.receive(r2, prepare(ballot(2, r2)));
    expect(core.state.promised).toEqual(ballot(2, r2));
  });

  it('promises nothing for the time of a lease after a restart, since it may have granted one before', () => {
    const core = new OneCore();
    core.nowMs += 199;
    core.receive(r2, prepare(ballot(1, r2)));
    expect(core.records()).toEqual([]);
    core.nowMs += 1;
    core.receive(r2, prepare(ballot(1, r2)));
    expect(core.records()).toHaveLength(1);
  });

  it('gives the candidate that it has promised to the time to win before it campaigns itself', () => {
    const core = newFollower();
    core.nowMs += 190;
    core.receive(r2, prepare(ballot(1, r2)));
    core.tick(20);
    expect(core.sentKinds()).not.toContain('PreVote');
    core.tick(450);
    expect(core.sentKinds()).toContain('PreVote');
  });

  it('takes no Prepare for a ballot from anyone but its owner', () => {
    const core = newFollower();
    core.receive(r3, prepare(ballot(1, r2)));
    core.receive(r2, prepare(ballot(1, r1)));
    expect(core.effects).toEqual([]);
  });
});
