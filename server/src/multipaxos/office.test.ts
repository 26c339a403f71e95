/** A leader's office: what it takes on, what it remembers, and what is left when it ends. */
import { describe, expect, it } from 'vitest';
import { InvariantViolation, leaseHeld } from './step.ts';
import {
  address,
  ballot,
  command,
  configuration,
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
import type { ReplicaId } from './types/names.ts';

const first = ballot(1, r2);
const traced = (core: OneCore): string[] => core.effectsOf('trace').map(({ event }) => event.name);

/** In one batch, weights in bytes with what holds the payload. */
function propose(core: OneCore, ...weights: number[]): string[] {
  core.effects = [];
  const proposals = weights.map((bytes, index) => ({
    proposal: { client: `c${index}`, request: core.nowMs },
    payload: new Uint8Array(bytes - 64),
  }));
  core.input({ kind: 'Propose', proposals });
  return core.effects.flatMap(({ kind }) => (kind === 'proposed' || kind === 'refused' ? [kind] : []));
}

describe('a window of bytes', () => {
  it('is filled by a batch as by one proposal after the other', () => {
    expect(propose(newServingLeader(), 1500, 1500)).toEqual(['proposed', 'refused']);
  });

  it('takes what fits exactly, and not a byte more', () => {
    expect(propose(newServingLeader(), 1000, 1000, 65)).toEqual(['proposed', 'proposed', 'refused']);
  });
});

describe('a leader', () => {
  it('takes a proposal again once it is chosen, for then it is in the window no more', () => {
    const core = newServingLeader();
    core.propose('a');
    core.fsync();
    core.accepted(r2, 2, 2);
    core.effects = [];
    core.propose('a');
    expect(core.effectsOf('proposed')).toHaveLength(1);
  });

  it('votes for and sends what it found as it takes office', () => {
    const core = newCandidate();
    promise(core, r2, [vote(3, first, 'c'), vote(1, first, 'a')]);
    const event = core.effectsOf('trace').at(-1)?.event;
    expect(event?.name).toBe('BecomeLeader');
    expect(event?.votes?.map(([at, , label]) => [at, label])).toEqual([
      [1, 'a/1'],
      [2, 'noop'],
      [3, 'c/1'],
      [4, 'start:1.r1'],
    ]);
    expect(event?.sent?.map(({ message }) => message.kind)).toEqual(['Accept', 'Accept']);
  });

  it('tells that it serves', () => {
    const core = newCandidate();
    promise(core, r2);
    core.fsync();
    core.accepted(r2, 1, 1);
    core.applied(1);
    expect(traced(core).at(-1)).toBe('Serve');
  });

  it('that is the only voter holds its lease as long as it leads', () => {
    const core = new OneCore({ members: [r1] });
    core.tick(700);
    core.fsync();
    core.fsync();
    core.applied(1);
    expect(leaseHeld(core.state, core.nowMs + 1_000_000)).toBe(true);
  });

  it('counts its lease by the new members as soon as they are in force, and tells them once', () => {
    const core = newServingLeader();
    for (const peer of [r2, r3]) core.heartbeatAck(peer);
    core.tick(400);
    core.heartbeatAck(r3);
    core.reconfigure({ kind: 'remove', replica: r3 });
    core.fsync();
    expect(leaseHeld(core.state, core.nowMs)).toBe(true);
    core.accepted(r3, 2, 2);
    expect(core.state.configuration.version).toBe(2);
    expect(leaseHeld(core.state, core.nowMs)).toBe(false);
    core.effects = [];
    core.tick(1);
    expect(core.take('Heartbeat')).toEqual([]);
  });

  it('that steps down for no fault of its database may purge as before', () => {
    const core = newServingLeader();
    core.input({ kind: 'StepDown', reason: 'requested' });
    core.input({ kind: 'LogPressure', isUrgent: true });
    expect(core.effectsOf('purge')).toEqual([{ kind: 'purge', upTo: 1 }]);
  });
});

describe('a follower that is told to step down', () => {
  it('does not campaign for a while, and otherwise goes on', () => {
    const core = newFollower();
    core.receive(r2, core.accept(first, 1, [command('a')]));
    core.effects = [];
    core.tick(400);
    core.input({ kind: 'StepDown', reason: 'requested' });
    core.tick(100);
    expect(core.take('PreVote')).toEqual([]);
    expect(core.state).toMatchObject({ leader: r2, lastReason: null });
    expect(traced(core)).toEqual([]);
  });
});

describe('a newer configuration', () => {
  const without = configuration([r2, r3], { version: 2, slot: 5 });
  const tell = (core: OneCore, known = without): void =>
    core.receive(r2, {
      kind: 'PreVoteReply',
      group,
      ballot: ballot(0, r2),
      granted: false,
      configuration: known,
    });

  it('ends a candidacy of one who is no voter in it', () => {
    const core = newCandidate();
    tell(core);
    expect(core.state).toMatchObject({ role: 'follower', lastReason: 'removed' });
  });

  it('says that everything up to its slot is chosen', () => {
    const core = newFollower();
    tell(core);
    core.tick(1);
    expect(core.take('CatchUpRequest')).toMatchObject([{ fromSlot: 1, toSlot: 4 }]);
  });

  it('is not learnt again with the database', () => {
    const core = newFollower();
    core.restored(3);
    expect(traced(core)).toEqual(['Restored']);
  });

  it('that others chose in the slot of its own change deposes a leader, and one below stops it', () => {
    const changing = (): OneCore => {
      const core = newServingLeader();
      core.reconfigure({ kind: 'add', replica: 'r4' as ReplicaId, address });
      expect(core.state.leadership?.pending?.slot).toBe(2);
      return core;
    };
    const deposed = changing();
    tell(deposed, configuration([r1, r2, r3], { version: 2, slot: 2 }));
    expect(deposed.state).toMatchObject({ role: 'follower', lastReason: 'higherBallot' });
    const impossible = configuration([r1, r2, r3], { version: 2, slot: 1 });
    expect(() => tell(changing(), impossible)).toThrow(InvariantViolation);
  });
});

describe('the base of the log', () => {
  it('moves under a leader only as it gives up', () => {
    const core = newServingLeader();
    core.effects = [];
    core.restored(9);
    expect(traced(core)).toEqual(['StepDown', 'Restored']);
    expect(core.state.role).toBe('follower');
  });

  it('moves under a follower without putting off its election', () => {
    const core = newFollower();
    const { electionDeadlineMs } = core.state;
    core.restored(9);
    expect(core.state.electionDeadlineMs).toBe(electionDeadlineMs);
  });
});

describe('what is chosen and not applied yet', () => {
  /** Entries of 1,000 bytes each behind the leader's first one, which is applied. */
  function leaderWith(count: number, windowBytesMax: number): OneCore {
    const core = newServingLeader({ windowBytesMax });
    for (let index = 0; index < count; index += 1) {
      core.nowMs += 1;
      propose(core, 1000);
      core.fsync();
      core.accepted(r2, index + 2, index + 2);
    }
    expect(core.state.commitPoint).toBe(count + 1);
    return core;
  }

  it('is held up to the bytes of a window, the newest of it', () => {
    expect([...leaderWith(2, 2000).state.log.keys()]).toEqual([2, 3]);
    expect([...leaderWith(3, 2000).state.log.keys()]).toEqual([3, 4]);
  });

  it('is counted apart from what is not chosen', () => {
    const core = leaderWith(2, 5000);
    propose(core, 500);
    expect(core.state).toMatchObject({ chosenBytes: 2000, tailBytes: 500 });
    core.applied(2);
    expect(core.state).toMatchObject({ chosenBytes: 1000, tailBytes: 500 });
  });

  it('is held up to the slots of a window', () => {
    const core = leaderWith(8, 100_000);
    expect(core.state.log.size).toBe(8);
    expect(core.state.log.has(slot(2))).toBe(true);
  });
});
