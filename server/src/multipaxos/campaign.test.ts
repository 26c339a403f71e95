/** What reaches a replica that campaigns too early, too late, twice, or from the wrong one. */
import { describe, expect, it } from 'vitest';
import {
  ballot,
  command,
  configuration,
  configurationEntry,
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
import type { Configuration } from './types/members.ts';
import type { Ballot, ReplicaId } from './types/names.ts';

const r4 = 'r4' as ReplicaId;
const r5 = 'r5' as ReplicaId;
const five = [r1, r2, r3, r4, r5];
const first = ballot(1, r2);

function grant(
  core: OneCore,
  from: ReplicaId,
  of: Ballot,
  details: { granted?: boolean; known?: Configuration } = {},
): void {
  const { granted = true, known = founding } = details;
  core.receive(from, { kind: 'PreVoteReply', group, ballot: of, granted, configuration: known });
}

function asking(): OneCore {
  const core = new OneCore();
  core.tick(700);
  return core;
}

const promised = (core: OneCore): number => core.state.promised.round;
const targets = (core: OneCore, kind: string): ReplicaId[] =>
  core.effectsOf('send').flatMap(({ to, message }) => (message.kind === kind ? [to] : []));
const traced = (core: OneCore): string[] => core.effectsOf('trace').map(({ event }) => event.name);

/** Five members; r2 and r3 granted the election, and the own promise is durable. */
function candidateOfFive(): OneCore {
  const core = new OneCore({ members: five });
  core.tick(700);
  const [asked] = core.take('PreVote');
  for (const from of [r2, r3]) grant(core, from, asked!.ballot, { known: configuration(five) });
  core.fsync();
  return core;
}

describe('a replica that asks for votes', () => {
  it('waits before it asks again', () => {
    const core = asking();
    core.take('PreVote');
    core.tick(10);
    expect(core.take('PreVote')).toEqual([]);
  });

  it('is not elected by refusals, nor by what was granted to an earlier question', () => {
    const core = asking();
    grant(core, r2, ballot(1, r1), { granted: false });
    grant(core, r3, ballot(1, r3));
    grant(core, r3, ballot(7, r1));
    expect(promised(core)).toBe(0);
  });

  it('is not elected once it has promised to another', () => {
    const core = asking();
    core.receive(r3, { kind: 'Prepare', group, ballot: ballot(1, r3), commitPoint: slot(0) });
    grant(core, r2, ballot(1, r1));
    expect(core.state).toMatchObject({ role: 'follower', promised: ballot(1, r3) });
  });

  it('is not elected once it has heard its leader again, however late the answer comes', () => {
    const core = newFollower({}, { promised: first });
    core.receive(r2, core.accept(first, 1, [command('a')]));
    core.tick(700);
    core.receive(r2, core.accept(first, 1, [command('a')]));
    core.nowMs += 250;
    grant(core, r3, ballot(2, r1));
    expect(core.state).toMatchObject({ role: 'follower', promised: first });
  });

  it('is not elected once it is no voter any more', () => {
    const core = asking();
    const known = configuration([r2, r3], { version: 2, slot: 4 });
    grant(core, r2, ballot(1, r1), { known });
    grant(core, r3, ballot(1, r1), { known });
    expect(core.state).toMatchObject({ role: 'follower', promised: { round: 0 } });
  });

  it('begins one election, though all grant it, and has its time for that from then on', () => {
    const core = asking();
    core.nowMs += 440;
    grant(core, r2, ballot(1, r1));
    grant(core, r3, ballot(1, r1));
    expect(core.state).toMatchObject({ role: 'candidate', promised: ballot(1, r1) });
    expect(traced(core).filter((name) => name === 'StartElection')).toHaveLength(1);
    core.effects = [];
    core.tick(20);
    expect(core.take('PreVote')).toEqual([]);
  });

  it('asks as soon as its quarantine is over', () => {
    const core = newFollower();
    core.input({ kind: 'StepDown', reason: 'logFailed' });
    core.tick(1199);
    expect(core.take('PreVote')).toEqual([]);
    core.state.electionDeadlineMs = core.nowMs;
    core.tick(1);
    expect(core.take('PreVote')).toHaveLength(2);
  });
});

describe('a replica that waits for a copy of a database', () => {
  it('does not stand until the copy is there', () => {
    const core = newFollower();
    core.input({ kind: 'CopyAwaited' });
    core.tick(10_000);
    core.tick(10_000);
    expect(core.take('PreVote')).toEqual([]);
    core.input({ kind: 'Restored', slot: slot(5), configuration: founding });
    core.tick(10_000);
    expect(core.take('PreVote')).toHaveLength(2);
  });

  it('is not elected by answers to what it asked before', () => {
    const core = asking();
    core.input({ kind: 'CopyAwaited' });
    grant(core, r2, ballot(1, r1));
    expect(core.state).toMatchObject({ role: 'follower', promised: { round: 0 } });
  });

  it('gives up a candidacy', () => {
    const core = newCandidate();
    core.input({ kind: 'CopyAwaited' });
    promise(core, r2);
    expect(core.state).toMatchObject({ role: 'follower', candidacy: null });
  });

  it('gives up a leadership', () => {
    const core = newServingLeader();
    core.input({ kind: 'CopyAwaited' });
    expect(core.state).toMatchObject({ role: 'follower', leadership: null, lastReason: 'databaseFailed' });
  });
});

describe('a replica that is asked for its vote', () => {
  const preVote = (core: OneCore, from: ReplicaId, of: Ballot): void =>
    core.receive(from, { kind: 'PreVote', group, ballot: of });

  it('answers one question once: for what it has promised already with a Reject', () => {
    const core = newFollower({}, { promised: ballot(3, r3) });
    preVote(core, r3, ballot(3, r3));
    expect(core.sentKinds()).toEqual(['Reject']);
  });

  it('tells a stranger of its members, however low the ballot', () => {
    const core = newFollower({}, { promised: ballot(3, r3) });
    preVote(core, r4, ballot(1, r4));
    expect(core.take('PreVoteReply')).toMatchObject([{ granted: false, configuration: founding }]);
  });

  it('grants nothing while it leads, not even when its lease has run out', () => {
    const core = newServingLeader();
    core.nowMs += 250;
    preVote(core, r3, ballot(2, r3));
    expect(core.take('PreVoteReply')).toMatchObject([{ granted: false }]);
  });
});

describe('a candidate', () => {
  it('asks again after a while, only those that have not promised, and not at every tick', () => {
    const core = candidateOfFive();
    promise(core, r2, [], 0, configuration(five));
    core.effects = [];
    core.tick(50);
    expect(targets(core, 'Prepare')).toEqual([]);
    core.tick(50);
    expect(targets(core, 'Prepare')).toEqual([r3, r4, r5]);
    core.effects = [];
    core.tick(50);
    expect(targets(core, 'Prepare')).toEqual([]);
  });

  it('asks nobody, whatever it hears, before its own promise is durable', () => {
    const core = asking();
    grant(core, r2, ballot(1, r1));
    const found = configuration([r1, r2, r3, r4], { version: 2 });
    promise(core, r2, [
      { slot: slot(1), ballot: ballot(0, r2), entry: configurationEntry(ballot(0, r2), found) },
    ]);
    core.tick(100);
    expect(targets(core, 'Prepare')).toEqual([]);
    core.fsync();
    expect(
      core
        .effectsOf('trace')
        .at(-1)
        ?.event.sent?.map(({ to }) => to),
    ).toEqual([r3, r4]);
  });

  it('counts no promise of an earlier ballot, its own neither', () => {
    const core = asking();
    grant(core, r2, ballot(1, r1));
    const { nextSeq } = core.state;
    core.tick(700);
    grant(core, r2, ballot(2, r1));
    core.input({ kind: 'Persisted', seq: nextSeq - 1 });
    expect([...core.state.candidacy!.promises]).toEqual([]);
    core.fsync();
    core.receive(r2, {
      kind: 'Promise',
      group,
      ballot: ballot(1, r1),
      commitPoint: slot(0),
      votes: [],
      configuration: founding,
    });
    expect(core.state).toMatchObject({ role: 'candidate', promised: ballot(2, r1) });
  });

  it('that has given up counts its promise no more when that becomes durable', () => {
    const core = asking();
    grant(core, r2, ballot(1, r1));
    core.input({ kind: 'StepDown', reason: 'requested' });
    core.fsync();
    expect(core.state).toMatchObject({ role: 'follower', durablePromised: ballot(1, r1) });
    expect(targets(core, 'Prepare')).toEqual([]);
  });

  it('still keeps what it has said before to others', () => {
    const core = newFollower();
    core.tick(700);
    core.receive(r2, { kind: 'Prepare', group, ballot: first, commitPoint: slot(0) });
    core.tick(700);
    grant(core, r3, ballot(2, r1));
    core.effects = [];
    core.fsync();
    expect(targets(core, 'Promise')).toEqual([r2]);
    expect(targets(core, 'Prepare')).toEqual([r2, r3]);
  });

  it('is told by an answer that comes late what is chosen, and asks for it', () => {
    const core = newFollower({}, { promised: ballot(2, r3) });
    core.receive(r2, {
      kind: 'Promise',
      group,
      ballot: ballot(1, r1),
      commitPoint: slot(5),
      votes: [],
      configuration: founding,
    });
    core.tick(1);
    expect(targets(core, 'CatchUpRequest')).toEqual([r2]);
  });

  it('that has won has no use for another promise', () => {
    const core = newServingLeader();
    const { leadership } = core.state;
    promise(core, r3);
    expect(core.state.leadership).toBe(leadership);
  });

  it('is not deposed by what stands in the way of an earlier ballot', () => {
    const core = asking();
    grant(core, r2, ballot(1, r1));
    core.tick(700);
    grant(core, r2, ballot(2, r1));
    core.receive(r3, { kind: 'Reject', group, ballot: ballot(1, r1), promised: ballot(1, r3) });
    expect(core.state).toMatchObject({ role: 'candidate', promised: ballot(2, r1) });
  });

  it('that has given up already is not deposed', () => {
    const core = newCandidate();
    core.input({ kind: 'StepDown', reason: 'requested' });
    core.effects = [];
    core.receive(r3, { kind: 'Reject', group, ballot: ballot(1, r1), promised: ballot(2, r3) });
    expect(traced(core)).toEqual([]);
    expect(core.state.lastReason).toBe('requested');
  });

  it('tells its election, each promise, and what deposed it', () => {
    const core = candidateOfFive();
    promise(core, r2, [], 0, configuration(five));
    core.receive(r3, { kind: 'Reject', group, ballot: ballot(1, r1), promised: ballot(2, r3) });
    expect(traced(core)).toEqual(
      ['Restart', 'StartElection', 'Fsync', 'HandlePromise', 'HandleReject'].slice(1),
    );
  });

  it('no longer acts on what an earlier leader announced', () => {
    const core = newFollower({}, { promised: first });
    core.receive(r2, { ...core.accept(first, 4, [], 3), entries: [] });
    core.tick(700);
    grant(core, r3, ballot(2, r1));
    core.fsync();
    promise(
      core,
      r3,
      [1, 2, 3].map((at) => vote(at, first, `c${at}`)),
    );
    expect(core.state.role).toBe('leader');
    core.receive(r2, {
      kind: 'CatchUpReply',
      group,
      ballot: first,
      firstSlot: slot(1),
      entries: [command('c1')],
      commitPoint: slot(1),
      purgedTo: slot(0),
      configuration: founding,
    });
    expect(core.state.commitPoint).toBe(1);
  });

  it('campaigns above every round that it has heard of, lower leaders in between or not', () => {
    const core = newCandidate();
    core.receive(r3, { kind: 'Reject', group, ballot: ballot(1, r1), promised: ballot(9, r3) });
    core.receive(r2, core.accept(ballot(2, r2), 1, [command('a')]));
    core.effects = [];
    core.tick(700);
    expect(core.take('PreVote')[0]?.ballot).toEqual(ballot(10, r1));
  });
});
