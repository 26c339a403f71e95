import { describe, expect, it } from 'vitest';
import {
  ballot,
  command,
  newFollower,
  newServingLeader,
  OneCore,
  r2,
  r3,
  slot,
  vote,
} from './testing/one-core.ts';
import type { ReplicaId } from './types/names.ts';
import type { CoreTraceEvent } from './types/trace.ts';

function events(core: OneCore): CoreTraceEvent[] {
  return core.effectsOf('trace').map((effect) => effect.event);
}

describe('a trace', () => {
  it('begins each life with what the log recovered', () => {
    const core = new OneCore({}, { promised: ballot(1, r2), tail: [vote(1, ballot(1, r2), 'a')] });
    core.tick();
    core.tick();
    expect(events(core)).toMatchObject([
      {
        name: 'Restart',
        votes: [[1, ballot(1, r2), 'a/1']],
        state: { promised: ballot(1, r2), lastSlot: 1 },
      },
    ]);
  });

  it('tells an action with its message, its votes and the state after it, labels in place of entries', () => {
    const core = newFollower();
    core.receive(r2, core.accept(ballot(1, r2), 1, [command('a')]));
    expect(events(core)).toEqual([
      {
        name: 'HandleAccept',
        from: r2,
        message: { kind: 'Accept', ballot: ballot(1, r2), commitPoint: 0, firstSlot: 1, labels: ['a/1'] },
        votes: [[1, ballot(1, r2), 'a/1']],
        state: {
          role: 'follower',
          ballot: ballot(1, r2),
          promised: ballot(1, r2),
          durablePromised: ballot(0, '' as ReplicaId),
          commitPoint: 0,
          lastSlot: 1,
          serving: false,
          configuration: 1,
        },
      },
    ]);
  });

  it('tells what an Fsync made durable and which messages it let go', () => {
    const core = newFollower();
    core.receive(r2, core.accept(ballot(1, r2), 1, [command('a')]));
    core.effects = [];
    core.fsync();
    expect(events(core)).toMatchObject([
      {
        name: 'Fsync',
        votes: [[1, ballot(1, r2), 'a/1']],
        sent: [{ to: r2, message: { kind: 'Accepted', firstSlot: 1, lastSlot: 1 } }],
        state: { durablePromised: ballot(1, r2) },
      },
    ]);
  });

  it('names the actions of a leadership in the order in which they happen', () => {
    const core = newServingLeader();
    core.propose('a');
    core.fsync();
    core.accepted(r2, 2, 2);
    core.input({ kind: 'StepDown', reason: 'databaseFailed' });
    expect(events(core).map((event) => event.name)).toEqual([
      'Propose',
      'Fsync',
      'HandleAccepted',
      'AdvanceCommitPoint',
      'StepDown',
    ]);
    expect(events(core).at(-1)?.reason).toBe('databaseFailed');
  });

  it('attributes to an action only the messages that it sent itself', () => {
    const core = newServingLeader();
    core.tick(50);
    core.propose('a');
    const [propose] = events(core);
    expect(propose?.sent?.map(({ to, message }) => [to, message.kind])).toEqual([
      [r2, 'Accept'],
      [r3, 'Accept'],
    ]);
  });

  it('tells what versions stand for: the known configuration at each restart, and one that an action proposes', () => {
    const restarted = new OneCore();
    restarted.tick();
    expect(events(restarted)[0]?.configurations).toEqual([
      { version: 1, slot: 0, voters: ['r1', r2, r3], learners: [] },
    ]);
    const core = newServingLeader();
    core.heartbeatAck(r3);
    core.reconfigure({ kind: 'remove', replica: r2 });
    core.fsync();
    core.accepted(r2, 2, 2);
    const told = events(core).filter(({ configurations }) => configurations !== undefined);
    expect(told.map(({ name, configurations }) => [name, configurations])).toEqual([
      ['Reconfigure', [{ version: 2, slot: 0, label: 'members:2:1.r1', voters: ['r1', r3], learners: [] }]],
      ['Fsync', [{ version: 2, slot: 0, label: 'members:2:1.r1', voters: ['r1', r3], learners: [] }]],
      ['AdvanceCommitPoint', [{ version: 2, slot: 2, voters: ['r1', r3], learners: [] }]],
    ]);
    expect(told[0]?.votes).toEqual([[2, core.state.promised, 'members:2:1.r1']]);
  });

  it('leaves out what comes with every entry when only the rare is asked for, and takes it up when somebody listens', () => {
    const core = newServingLeader({ trace: 'rare' });
    expect(events(core).map(({ name }) => name)).not.toContain('Fsync');
    core.effects = [];
    core.propose('a');
    core.fsync();
    core.input({ kind: 'Trace', level: 'all' });
    core.propose('b');
    core.input({ kind: 'Trace', level: 'rare' });
    core.fsync();
    core.input({ kind: 'StepDown', reason: 'requested' });
    // What was sent in between is not told as done by the next action that is.
    expect(events(core).map(({ name, sent }) => [name, sent?.length])).toEqual([
      ['Propose', 2],
      ['StepDown', undefined],
    ]);
  });

  it('costs nothing when it is off', () => {
    const core = newServingLeader({ trace: 'none' });
    core.propose('a');
    core.fsync();
    core.accepted(r2, 2, 2);
    expect(events(core)).toEqual([]);
    expect(core.state.commitPoint).toBe(slot(2));
  });
});
