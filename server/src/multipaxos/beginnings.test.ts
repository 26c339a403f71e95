/** What a life of a replica begins with, what a step remembers, and what the shell is told of it. */
import { describe, expect, it } from 'vitest';
import { replicasMax } from './quorum.ts';
import { send } from './run.ts';
import { cloneState, createState, InvariantViolation } from './step.ts';
import {
  ballot,
  command,
  configuration,
  configurationEntry,
  emptyLog,
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
  testConfig,
  vote,
  type Overrides,
} from './testing/one-core.ts';
import type { RecoveredLog } from './types/records.ts';
import type { ReplicaId } from './types/names.ts';

const first = ballot(1, r2);
const create =
  (overrides: Overrides, log: Partial<RecoveredLog> = {}) =>
  (): unknown =>
    createState(testConfig(overrides), { ...emptyLog, ...log }, 0, 0);
const many = (count: number): ReplicaId[] =>
  Array.from({ length: count }, (_, index) => `r${index + 1}` as ReplicaId);
const told = (core: OneCore): unknown[] =>
  core.effectsOf('leadership').map(({ kind: _kind, ...rest }) => rest);

describe('a replica begins', () => {
  it('with any configuration within its bounds, and with none beyond', () => {
    expect(create({ clockDriftMax: 0 })).not.toThrow();
    expect(create({ clockDriftMax: -0.01 })).toThrow(InvariantViolation);
    expect(create({ electionTimeoutMaxMs: 300 })).not.toThrow();
  });

  it('with as many members as have a bit, and no more', () => {
    expect(1 << replicasMax).toBeGreaterThan(0);
    expect(replicasMax).toBeLessThan(31);
    expect(create({}, { configuration: configuration(many(replicasMax)) })).not.toThrow();
    expect(create({}, { configuration: configuration(many(replicasMax + 1)) })).toThrow(InvariantViolation);
  });

  it('beside one that is expected and does not vote', () => {
    const learners = ['r4.0' as ReplicaId];
    expect(create({}, { configuration: configuration([r1, r2], { learners }) })).not.toThrow();
  });

  it('without what its log holds of slots that it knows to be chosen', () => {
    const tail = [1, 2, 3].map((at) => vote(at, first, `c${at}`));
    const { state } = newFollower({}, { promised: first, commitPoint: slot(2), tail });
    expect([...state.log.keys()]).toEqual([3]);
    expect(state.tailBytes).toBe(state.log.get(slot(3))!.bytes);
  });

  it('by telling nothing of a leadership', () => {
    const core = new OneCore();
    core.tick();
    expect(told(core)).toEqual([]);
  });

  it('with the configurations that its log recovers as chosen', () => {
    const entry = configurationEntry(first, configuration([r1, r2, r3, 'r4' as ReplicaId], { version: 2 }));
    const core = new OneCore({}, { promised: first, tail: [{ slot: slot(1), ballot: null, entry }] });
    core.tick();
    const { configurations, votes } = core.effectsOf('trace')[0]!.event;
    expect(configurations?.map(({ version, slot: at }) => [version, at])).toEqual([
      [2, 0],
      [2, 1],
    ]);
    expect(votes).toEqual([[1, null, 'members:2:1.r2']]);
  });
});

describe('a step', () => {
  it('stops a replica whose state is broken, and a message that would reveal too much', () => {
    const core = newFollower();
    const early = {
      kind: 'Accepted',
      group,
      ballot: first,
      firstSlot: slot(1),
      lastSlot: slot(1),
      commitPoint: slot(0),
      sentAtMs: 0,
    } as const;
    expect(() => send({ state: core.state, effects: [], mark: 0 }, r2, early)).toThrow(InvariantViolation);
    core.state.reported = slot(5);
    expect(() => core.tick()).toThrow(InvariantViolation);
  });

  it('draws the next time to wait from the newest tick', () => {
    const core = newFollower();
    core.nowMs += 500;
    core.input({ kind: 'Tick', random: 0 });
    expect(core.state.electionDeadlineMs).toBe(core.nowMs + 300);
    core.nowMs += 300;
    core.input({ kind: 'Tick', random: 0.9 });
    expect(core.state.electionDeadlineMs).toBe(core.nowMs + 570);
  });

  it('hears nothing from itself', () => {
    const core = newFollower();
    core.receive(r1, { kind: 'PreVote', group, ballot: ballot(5, r1) });
    core.receive(r1, core.accept(ballot(5, r1), 1, [command('a')]));
    expect(core.effects).toEqual([]);
    expect(core.state.promised.round).toBe(0);
  });

  it('does one thing: to know of a leadership purges nothing, to step down changes no trace', () => {
    const core = newServingLeader({ trace: 'none' });
    core.input({ kind: 'LeadershipKnown', ballot: ballot(0, r2) });
    expect(core.effectsOf('purge')).toEqual([]);
    core.input({ kind: 'StepDown', reason: 'requested' });
    core.tick(700);
    expect(core.effectsOf('trace')).toEqual([]);
    expect(core.state.trace).toBe('none');
  });

  it('writes a configuration that it has come to know once', () => {
    const core = newFollower();
    const known = configuration([r1, r2, r3], { version: 2, slot: 1 });
    core.receive(r2, { kind: 'PreVoteReply', group, ballot: first, granted: false, configuration: known });
    core.receive(r2, core.accept(first, 2, [command('a')]));
    core.receive(r2, core.accept(first, 3, [command('b')]));
    expect(core.records().map(({ kind }) => kind)).toEqual(['configuration', 'vote', 'vote']);
  });
});

describe('a clone', () => {
  it('has the question, the leadership and its voters of the original, and shares none of them', () => {
    const asking = new OneCore();
    asking.tick(700);
    const leading = newServingLeader();
    for (const { state } of [asking, leading, newCandidate()]) {
      const clone = cloneState(state);
      expect(clone).toEqual(state);
      for (const part of ['preVote', 'leadership', 'candidacy'] as const)
        expect([part, clone[part] === state[part]]).toEqual([part, state[part] === null]);
    }
  });

  it('counts the acknowledgements of voters alone, as the original does', () => {
    const { state } = newServingLeader();
    const [voter, learner] = state.leadership!.peers;
    state.leadership!.voters = [voter!];
    const { leadership } = cloneState(state);
    expect(leadership?.voters.map(({ id }) => id)).toEqual([voter!.id]);
    expect(leadership?.peers.map(({ id }) => id)).toEqual([voter!.id, learner!.id]);
    expect(leadership?.voters[0]).toBe(leadership?.peers[0]);
  });
});

describe('the shell is told', () => {
  it('of a candidacy, of each ballot of it, and of its end', () => {
    const core = new OneCore();
    const campaign = (round: number): void => {
      core.tick(700);
      core.receive(r2, {
        kind: 'PreVoteReply',
        group,
        ballot: ballot(round, r1),
        granted: true,
        configuration: founding,
      });
    };
    campaign(1);
    campaign(2);
    core.input({ kind: 'StepDown', reason: 'requested' });
    campaign(3);
    const common = { leader: null, serving: false };
    expect(told(core)).toEqual([
      { role: 'candidate', ballot: ballot(1, r1), ...common, reason: null },
      { role: 'candidate', ballot: ballot(2, r1), ...common, reason: null },
      { role: 'follower', ballot: ballot(2, r1), ...common, reason: 'requested' },
      { role: 'candidate', ballot: ballot(3, r1), ...common, reason: null },
    ]);
  });

  it('of a new ballot of the same leader, and of no promise while there is no leader', () => {
    const core = newFollower();
    core.receive(r3, { kind: 'Prepare', group, ballot: ballot(1, r3), commitPoint: slot(0) });
    expect(told(core)).toEqual([]);
    core.receive(r3, core.accept(ballot(1, r3), 1, [command('a')]));
    core.receive(r3, core.accept(ballot(2, r3), 1, [command('a')]));
    expect(told(core)).toMatchObject([
      { leader: r3, ballot: ballot(1, r3) },
      { leader: r3, ballot: ballot(2, r3) },
    ]);
  });

  it('that a leader which steps down knows no leader', () => {
    const core = newServingLeader();
    core.input({ kind: 'StepDown', reason: 'requested' });
    expect(told(core)).toMatchObject([{ role: 'follower', leader: null, reason: 'requested' }]);
  });
});

describe('the base of the log', () => {
  it('moves even if one slot is all that the log lacks', () => {
    const tail = [1, 2, 3].map((at) => vote(at, first, `c${at}`));
    const core = newFollower({}, { promised: first, tail });
    core.restored(4);
    expect(core.state.commitPoint).toBe(4);
  });
});

describe('a promise', () => {
  it('of one that knows an older configuration is told with it', () => {
    const known = configuration([r1, r2, r3], { version: 3, slot: 4 });
    const core = newCandidate({}, { configuration: known, commitPoint: slot(4) });
    promise(core, r2);
    const event = core.effectsOf('trace').find(({ event: { name } }) => name === 'HandlePromise')?.event;
    expect(event?.configurations?.map(({ version }) => version)).toEqual([1]);
  });
});
