import { describe, expect, it } from 'vitest';
import type { ReplicaId } from './types/names.ts';
import { createState, InvariantViolation, snapshot } from './step.ts';
import {
  ballot,
  command,
  configuration,
  emptyLog,
  OneCore,
  r1,
  r2,
  slot,
  testConfig,
  vote,
} from './testing/one-core.ts';

const first = ballot(1, r2);
const learnt = (at: number, name: string) => ({ slot: slot(at), ballot: null, entry: command(name) });

describe('a replica that restarts', () => {
  it('remembers its promise, its votes and its commit point', () => {
    const recovered = {
      promised: ballot(4, r2),
      commitPoint: slot(1),
      tail: [vote(2, first, 'b'), vote(3, first, 'c')],
    };
    const core = new OneCore({}, recovered);
    expect(snapshot(core.state)).toEqual({
      role: 'follower',
      ballot: ballot(4, r2),
      promised: ballot(4, r2),
      durablePromised: ballot(4, r2),
      commitPoint: 1,
      lastSlot: 3,
      serving: false,
      configuration: 1,
    });
  });

  it('knows that everything below a learnt entry is chosen, and gives it out at its first step', () => {
    const tail = [vote(1, first, 'a'), learnt(2, 'b'), vote(3, first, 'c')];
    const core = new OneCore({}, { promised: first, tail });
    expect(core.state.commitPoint).toBe(2);
    core.tick();
    expect(core.chosen().map((item) => item.slot)).toEqual([1, 2]);
  });

  it('refuses a log with a hole below a learnt entry', () => {
    expect(() => new OneCore({}, { tail: [learnt(2, 'b')] })).toThrow('NoHoleBelowCommitPoint');
  });

  it('begins behind what was purged', () => {
    const core = new OneCore({}, { commitPoint: slot(3), purgedTo: slot(7) });
    expect(core.state.commitPoint).toBe(7);
  });

  it.each([
    ['a leader lease as long as an election timeout', { leaseMs: 300 }],
    ['election timeouts the wrong way round', { electionTimeoutMaxMs: 100 }],
    ['clocks that may run twice as fast', { clockDriftMax: 1 }],
  ])('refuses a configuration with %s', (_name, overrides) => {
    expect(() => createState(testConfig(overrides), emptyLog, 0, 0)).toThrow(InvariantViolation);
  });

  it.each([
    ['a replica twice', configuration([r1, r2, 'r2.2' as ReplicaId])],
    ['a voter that never joined', configuration([r1, 'r2.0' as ReplicaId])],
    ['no voter', configuration([], { learners: [r1] })],
  ])('refuses members with %s', (_name, members) => {
    const log = { ...emptyLog, configuration: members };
    expect(() => createState(testConfig(), log, 0, 0)).toThrow(InvariantViolation);
  });
});
