import { describe, expect, it } from 'vitest';
import { InvariantViolation, snapshot } from './step.ts';
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
  noop,
  OneCore,
  promise,
  r1,
  r2,
  r3,
  slot,
} from './testing/one-core.ts';
import type { Entry, Vote } from './types/entries.ts';
import type { Configuration } from './types/members.ts';
import type { Heartbeat, Message } from './types/messages.ts';
import type { ReplicaId } from './types/names.ts';

const [r4, r5, r22] = ['r4', 'r5', 'r2.2'] as unknown as [ReplicaId, ReplicaId, ReplicaId];
const first = ballot(1, r2);
const five = configuration([r1, r2, r3, r4, r5]);
/** r2 lost its log: first a learner takes its place, then that one votes. */
const withoutR2 = configuration([r1, r3], { learners: [r22], version: 2, slot: 3 });
const withR22 = configuration([r1, r22, r3], { version: 3, slot: 5 });

function heartbeat(from: ReplicaId, known: Configuration, commitPoint = 0): Heartbeat {
  return {
    kind: 'Heartbeat',
    group,
    ballot: ballot(1, from),
    commitPoint: slot(commitPoint),
    sentAtMs: 9,
    globalApplicationPointer: slot(0),
    configuration: known,
  };
}

const voteFor = (at: number, of: Configuration): Vote => ({
  slot: slot(at),
  ballot: first,
  entry: configurationEntry(first, of),
});

function wins(core: OneCore): boolean {
  return core.state.role === 'leader';
}

describe('a replica that hears of a newer configuration', () => {
  it('takes it on, writes it to its log, and tells it', () => {
    const core = newFollower();
    core.receive(r3, heartbeat(r3, withoutR2));
    expect(snapshot(core.state).configuration).toBe(2);
    expect(core.records()).toContainEqual({ kind: 'configuration', configuration: withoutR2 });
    expect(core.effectsOf('configuration')).toEqual([
      { kind: 'configuration', configuration: withoutR2, pending: null },
    ]);
    core.receive(r3, heartbeat(r3, founding));
    expect(snapshot(core.state).configuration).toBe(2);
  });

  it('drops what strangers say, but for their configuration', () => {
    const core = newFollower({}, { configuration: withR22 });
    const accept = core.accept(first, 1, [command('a')]);
    const strange: Message[] = [
      accept,
      heartbeat(r2, founding),
      { kind: 'Prepare', group, ballot: ballot(4, r2), commitPoint: slot(9) },
      {
        kind: 'HeartbeatAck',
        group,
        ballot: first,
        sentAtMs: 0,
        commitPoint: slot(9),
        durableApplicationPointer: slot(9),
      },
    ];
    for (const message of strange) core.receive(r2, message);
    expect(core.state).toMatchObject({ promised: { round: 0 }, leader: null, knownCommitPoint: 0 });
    expect(core.sentKinds()).toEqual(['PreVoteReply']);
  });

  it('follows a leader that was a stranger until its configuration came', () => {
    const core = newFollower({}, { configuration: withoutR2 });
    const grown = configuration([r1, r3, r4], { version: 3, slot: 9 });
    core.receive(r4, heartbeat(r4, grown));
    expect(core.state.leader).toBe(r4);
  });

  it('learns when it asks for votes that it is no member any more, and campaigns no more', () => {
    const core = new OneCore({ id: r2 });
    core.tick(700);
    const { ballot: asked } = core.take('PreVote')[0]!;
    core.receive(r3, {
      kind: 'PreVoteReply',
      group,
      ballot: asked,
      granted: false,
      configuration: withoutR2,
    });
    core.effects = [];
    core.tick(700);
    core.tick(700);
    expect(core.sentKinds().filter((kind) => kind === 'PreVote')).toEqual([]);
  });

  it('tells it to one who asks for votes without being a member, and grants nothing', () => {
    const core = newFollower({}, { configuration: withoutR2 });
    core.receive(r2, { kind: 'PreVote', group, ballot: ballot(8, r2) });
    expect(core.take('PreVoteReply')).toMatchObject([{ granted: false, configuration: withoutR2 }]);
  });

  it('tells it to one whose message carries an older one', () => {
    const core = newFollower({}, { configuration: withR22 });
    core.receive(r3, heartbeat(r3, withoutR2));
    expect(core.take('PreVoteReply')).toMatchObject([{ granted: false, configuration: withR22 }]);
  });

  it('stops leading: it has not chosen it itself', () => {
    const core = newServingLeader();
    core.receive(r3, heartbeat(r3, withoutR2));
    expect(core.state.role).toBe('follower');
    expect(core.effectsOf('leadership').at(-1)).toMatchObject({ reason: 'higherBallot' });
    const other = newServingLeader({ id: r1 });
    other.receive(r3, heartbeat(r3, configuration([r2, r3], { version: 2, slot: 5 })));
    expect(other.effectsOf('leadership').at(-1)).toMatchObject({ reason: 'removed' });
  });
});

describe('a configuration in the log', () => {
  const entry = configurationEntry(first, withoutR2);

  it('is in force when the commit point passes it, and recorded before a commit point there', () => {
    const core = newFollower();
    core.receive(r2, core.accept(first, 1, [noop, noop]));
    core.receive(r2, core.accept(first, 3, [entry], 2));
    expect(core.state.configuration.version).toBe(1);
    core.effects = [];
    core.receive(r2, heartbeat(r2, founding, 3));
    expect(core.state.configuration).toEqual(withoutR2);
    expect(core.records()).toEqual([
      { kind: 'configuration', configuration: withoutR2 },
      { kind: 'commitPoint', slot: 3 },
    ]);
  });

  it('is voted for only by one who holds everything below as chosen, and remembers it', () => {
    const core = newFollower();
    core.receive(r2, core.accept(first, 1, [noop]));
    core.receive(r2, core.accept(first, 3, [entry], 2));
    expect(core.state.log.has(slot(3))).toBe(false);
    core.receive(r2, core.accept(first, 2, [noop], 1));
    core.effects = [];
    core.receive(r2, core.accept(first, 3, [entry], 2));
    expect(core.records()).toMatchObject([
      { kind: 'commitPoint', slot: 2 },
      { kind: 'vote', slot: 3 },
    ]);
  });

  it('is known again after a restart from what was learnt as chosen', () => {
    const learnt = [noop, noop, entry].map((of, index) => ({
      slot: slot(index + 1),
      ballot: null,
      entry: of,
    }));
    const core = new OneCore({}, { tail: learnt });
    core.tick();
    expect(core.state.configuration).toEqual(withoutR2);
    expect(core.records()).toContainEqual({ kind: 'configuration', configuration: withoutR2 });
    expect(core.effectsOf('configuration')).toHaveLength(1);
  });

  it.each<[string, Entry]>([
    ['skips a version', configurationEntry(first, withR22)],
    ['changes two voters', configurationEntry(first, configuration([r1, r3, r4], { version: 2 }))],
  ])('stops the replica if it %s', (_name, wrong) => {
    const core = newFollower();
    core.receive(r2, core.accept(first, 1, [wrong]));
    expect(() => core.receive(r2, heartbeat(r2, founding, 1))).toThrow(InvariantViolation);
  });
});

describe('a candidate', () => {
  it('needs a majority of each configuration that it finds in votes, and asks its members', () => {
    const core = newCandidate();
    const grown = configuration([r1, r2, r3, r4], { version: 2 });
    core.effects = [];
    promise(core, r2, [voteFor(1, grown)]);
    expect(wins(core)).toBe(false);
    expect(core.effectsOf('send').filter(({ message }) => message.kind === 'Prepare')).toMatchObject([
      { to: r4 },
    ]);
    promise(core, r4);
    expect(core.state.role).toBe('candidate');
    expect(core.state.candidacy?.promises).not.toContain(r4);
    promise(core, r3);
    expect(wins(core)).toBe(true);
  });

  it('takes a lower vote for a configuration for lost when a higher one is there', () => {
    const core = newCandidate();
    const grown = configuration([r1, r2, r3, r4], { version: 2 });
    promise(core, r2, [
      { slot: slot(1), ballot: ballot(2, r3), entry: noop },
      { ...voteFor(1, grown), slot: slot(1) },
    ]);
    expect(wins(core)).toBe(true);
  });

  it('needs a majority of a newer configuration that a promise tells', () => {
    const core = newCandidate({ members: [r1, r2, r3, r4, r5] });
    const { ballot: asked } = { ballot: core.state.preVote?.ballot };
    for (const from of [r3, r4])
      core.receive(from, { kind: 'PreVoteReply', group, ballot: asked!, granted: true, configuration: five });
    core.fsync();
    const shrunk = configuration([r1, r2, r3, r4], { version: 2, slot: 1 });
    promise(core, r2, [], 1, shrunk);
    promise(core, r5, [], 0, five);
    expect(wins(core)).toBe(false);
    promise(core, r3, [], 0, five);
    expect(wins(core)).toBe(true);
  });

  it('does not win without having heard of a commit point next to the configuration that it knows', () => {
    const core = newCandidate({}, { configuration: { ...founding, version: 4, slot: slot(9) } });
    promise(core, r2, [], 6, { ...founding, version: 4, slot: slot(9) });
    expect(wins(core)).toBe(false);
    promise(core, r3, [], 9, { ...founding, version: 4, slot: slot(9) });
    expect(wins(core)).toBe(true);
  });

  it('proposes what it found in stages: a configuration alone, and what lies above only when that is chosen', () => {
    const core = newCandidate();
    const shrunk = configuration([r1, r2], { version: 2 });
    core.effects = [];
    promise(core, r2, [
      { slot: slot(1), ballot: first, entry: command('a') },
      voteFor(2, shrunk),
      { slot: slot(3), ballot: first, entry: command('b') },
    ]);
    const proposed = (): string[] =>
      core
        .records()
        .flatMap((record) => (record.kind === 'vote' ? [`${record.slot} ${record.entry.kind}`] : []));
    expect(proposed()).toEqual(['1 command']);
    core.fsync();
    core.accepted(r2, 1, 1);
    expect(proposed()).toEqual(['1 command', '2 configuration']);
    core.fsync();
    core.accepted(r2, 2, 2);
    expect(proposed()).toEqual(['1 command', '2 configuration', '3 command', '4 leaderStart']);
    expect(core.state.configuration.version).toBe(2);
    core.applied(4);
    expect(core.state.leadership?.serving).toBe(false);
    core.fsync();
    core.accepted(r2, 3, 4);
    core.applied(4);
    expect(core.state.leadership?.serving).toBe(true);
  });
});

/** Michael, Ports, Sharma, Szekeres: Recovering Shared Objects Without Stable Storage (DISC 2017). */
describe('a promise of a life that is lost', () => {
  /** r1 asks for promises; that of r2's first life is on its way when r2 loses its log. */
  function oldCandidate(r3Promised = true): { core: OneCore; stale: Message } {
    const core = new OneCore({ members: [r1, r2, r3, r4, r5] });
    core.tick(700);
    const { ballot: asked } = core.take('PreVote')[0]!;
    for (const from of [r3, r4])
      core.receive(from, { kind: 'PreVoteReply', group, ballot: asked, granted: true, configuration: five });
    core.fsync();
    if (r3Promised) promise(core, r3, [], 0, five);
    const { promised } = core.state;
    return {
      core,
      stale: {
        kind: 'Promise',
        group,
        ballot: promised,
        commitPoint: slot(0),
        votes: [],
        configuration: five,
      },
    };
  }
  const replaced = configuration([r1, r3, r4, r5], { learners: [r22], version: 2, slot: 7 });
  const healed = configuration([r1, r22, r3, r4, r5], { version: 3, slot: 9 });

  it('counts for nothing once the candidate knows that another life has taken its place', () => {
    const { core, stale } = oldCandidate();
    const { promised } = core.state;
    core.receive(r4, {
      kind: 'PreVoteReply',
      group,
      ballot: promised,
      granted: false,
      configuration: healed,
    });
    core.receive(r2, stale);
    expect(wins(core)).toBe(false);
    expect(core.state.candidacy?.promises).not.toContain(r2);
  });

  it('does not help the candidate to win: whoever promised after the new life was admitted tells of it', () => {
    const { core, stale } = oldCandidate(false);
    core.receive(r2, stale);
    promise(core, r3, [], 9, healed);
    expect(wins(core)).toBe(false);
    promise(core, r4, [], 9, healed);
    expect(wins(core)).toBe(true);
  });

  it('does not help it either when the change is only found in a vote', () => {
    const { core, stale } = oldCandidate(false);
    core.receive(r2, stale);
    promise(core, r3, [{ ...voteFor(7, replaced), ballot: ballot(1, r5) }], 6, five);
    expect(wins(core)).toBe(false);
    promise(core, r4, [], 6, five);
    expect(wins(core)).toBe(true);
  });

  it('is no promise of the new one, which is asked by its own name', () => {
    const core = new OneCore(
      { id: r22, members: [r1, r3, r4] },
      { configuration: healed, purgedTo: slot(9) },
    );
    core.nowMs += 1000;
    core.receive(r3, { kind: 'Prepare', group, ballot: ballot(4, r3), commitPoint: slot(9) });
    core.fsync();
    expect(core.take('Promise')).toMatchObject([{ ballot: ballot(4, r3) }]);
    expect(replaced.members.find(({ replica }) => replica === r2)).toMatchObject({ role: 'learner' });
  });

  it('leaves a learner out of every count until it is promoted', () => {
    const core = new OneCore({ members: [r1, r3, r4, r5] }, { configuration: replaced, purgedTo: slot(7) });
    core.tick(700);
    expect(
      core
        .effectsOf('send')
        .filter(({ message }) => message.kind === 'PreVote')
        .map(({ to }) => to),
    ).toEqual([r3, r4, r5]);
    const { ballot: asked } = core.take('PreVote')[0]!;
    for (const from of [r22, r3])
      core.receive(from, {
        kind: 'PreVoteReply',
        group,
        ballot: asked,
        granted: true,
        configuration: replaced,
      });
    expect(core.state.role).toBe('follower');
    core.receive(r4, { kind: 'PreVoteReply', group, ballot: asked, granted: true, configuration: replaced });
    core.fsync();
    for (const from of [r22, r3]) promise(core, from, [], 7, replaced);
    expect(wins(core)).toBe(false);
    promise(core, r4, [], 7, replaced);
    expect(wins(core)).toBe(true);
  });
});
