import { describe, expect, it } from 'vitest';
import {
  ballot,
  command,
  founding,
  group,
  newCandidate,
  newFollower,
  noop,
  OneCore,
  promise,
  r1,
  r2,
  r3,
  slot,
  vote,
} from './testing/one-core.ts';
import type { Message } from './types/messages.ts';

function preVote(round: number): Message {
  return { kind: 'PreVote', group, ballot: ballot(round, r3) };
}

describe('a pre-vote', () => {
  it('comes before an election, and changes no promise', () => {
    const core = new OneCore();
    core.tick(700);
    expect(core.take('PreVote')).toHaveLength(2);
    expect(core.state.promised.round).toBe(0);
    expect(core.state.role).toBe('follower');
  });

  it('is refused while a lease for another leader lasts, and granted after', () => {
    const core = newFollower();
    core.receive(r2, core.accept(ballot(1, r2), 1, [command('a')]));
    core.receive(r3, preVote(2));
    expect(core.take('PreVoteReply')).toMatchObject([{ granted: false }]);
    core.nowMs += 200;
    core.receive(r3, preVote(2));
    expect(core.take('PreVoteReply')).toMatchObject([{ granted: true }]);
    expect(core.state.promised).toEqual(ballot(1, r2));
  });

  it('below the promise is answered by what was promised, and the next one is above', () => {
    const core = newFollower({}, { promised: ballot(7, r2) });
    core.receive(r3, preVote(6));
    expect(core.take('Reject')).toMatchObject([{ promised: ballot(7, r2) }]);

    const asking = new OneCore();
    asking.tick(700);
    const [asked] = asking.take('PreVote');
    asking.receive(r2, { kind: 'Reject', group, ballot: asked!.ballot, promised: ballot(7, r2) });
    asking.tick(700);
    expect(asking.take('PreVote')[0]?.ballot).toEqual(ballot(8, r1));
  });

  it('starts no election with fewer grants than a quorum', () => {
    const core = new OneCore({ members: [r1, r2, r3, 'r4' as typeof r1, 'r5' as typeof r1] });
    core.tick(700);
    const { ballot: asked } = core.take('PreVote')[0]!;
    const grant: Message = {
      kind: 'PreVoteReply',
      group,
      ballot: asked,
      granted: true,
      configuration: founding,
    };
    core.receive(r2, grant);
    core.receive(r2, grant);
    expect(core.state.role).toBe('follower');
    core.receive(r3, grant);
    expect(core.state.role).toBe('candidate');
  });
});

describe('a candidate', () => {
  it('is not made by any number of grants while its own promise is bound by a lease', () => {
    const core = new OneCore();
    core.state.electionDeadlineMs = core.nowMs;
    core.tick();
    const grant: Message = {
      kind: 'PreVoteReply',
      group,
      ballot: core.take('PreVote')[0]!.ballot,
      granted: true,
      configuration: founding,
    };
    core.nowMs += 199;
    core.receive(r2, grant);
    expect(core.state.role).toBe('follower');
    core.nowMs += 1;
    core.receive(r2, grant);
    expect(core.state.role).toBe('candidate');
  });

  it('sends its Prepares only once its own promise is durable', () => {
    const core = new OneCore();
    core.tick(700);
    core.receive(r2, {
      kind: 'PreVoteReply',
      group,
      ballot: core.take('PreVote')[0]!.ballot,
      granted: true,
      configuration: founding,
    });
    expect(core.state.role).toBe('candidate');
    expect(core.sentKinds()).toEqual([]);
    core.fsync();
    expect(core.sentKinds()).toEqual(['Prepare', 'Prepare']);
  });

  it('does not lead before its own promise is durable, even with the promises of all others', () => {
    const core = new OneCore();
    core.tick(700);
    core.receive(r2, {
      kind: 'PreVoteReply',
      group,
      ballot: core.take('PreVote')[0]!.ballot,
      granted: true,
      configuration: founding,
    });
    promise(core, r2);
    expect(core.state.role).toBe('candidate');
  });

  it('counts a promise that comes twice once', () => {
    const wide = new OneCore({ members: [r1, r2, r3, 'r4' as typeof r1, 'r5' as typeof r1] });
    wide.tick(700);
    const { ballot: asked } = wide.take('PreVote')[0]!;
    for (const from of [r2, r3])
      wide.receive(from, {
        kind: 'PreVoteReply',
        group,
        ballot: asked,
        granted: true,
        configuration: founding,
      });
    wide.fsync();
    promise(wide, r2);
    wide.effects = [];
    promise(wide, r2);
    expect(wide.effects).toEqual([]);
    expect(wide.state.role).toBe('candidate');
    promise(wide, r3);
    expect(wide.state.role).toBe('leader');
  });

  it('takes no notice of a Reject that tells of nothing higher', () => {
    const core = newCandidate();
    const { promised } = core.state;
    core.receive(r2, { kind: 'Reject', group, ballot: promised, promised });
    expect(core.state.role).toBe('candidate');
  });

  it('sends no Prepare when only the promise of its earlier attempt is durable', () => {
    const core = new OneCore();
    for (let attempt = 0; attempt < 2; attempt += 1) {
      core.tick(700);
      const [asked] = core.take('PreVote');
      core.receive(r2, {
        kind: 'PreVoteReply',
        group,
        ballot: asked!.ballot,
        granted: true,
        configuration: founding,
      });
    }
    core.input({ kind: 'Persisted', seq: 1 });
    expect(core.sentKinds()).toEqual([]);
    core.input({ kind: 'Persisted', seq: 2 });
    expect(core.take('Prepare')).toMatchObject([{ ballot: { round: 2 } }, { ballot: { round: 2 } }]);
  });

  it('asks again those who have not promised', () => {
    const core = newCandidate({ members: [r1, r2, r3] });
    core.effects = [];
    core.tick(100);
    expect(core.take('Prepare')).toHaveLength(2);
  });

  it('gives up when a higher promise is in its way, and campaigns above it next', () => {
    const core = newCandidate();
    core.receive(r2, { kind: 'Reject', group, ballot: core.state.promised, promised: ballot(9, r3) });
    expect(core.state.role).toBe('follower');
    core.effects = [];
    core.tick(700);
    expect(core.take('PreVote')[0]?.ballot).toEqual(ballot(10, r1));
  });

  it('follows a leader of a higher ballot', () => {
    const core = newCandidate();
    core.receive(r2, core.accept(ballot(5, r2), 1, [command('a')]));
    expect(core.state.role).toBe('follower');
    expect(core.state.leader).toBe(r2);
  });
});

describe('a new leader', () => {
  it('proposes the vote of the highest ballot for each slot, a no-op for each hole, and its own first entry', () => {
    const tail = [vote(1, ballot(1, r2), 'own'), vote(2, ballot(3, r3), 'newest')];
    const core = newCandidate({}, { promised: ballot(3, r3), tail });
    core.effects = [];
    promise(core, r2, [
      vote(1, ballot(2, r3), 'newer'),
      vote(2, ballot(1, r2), 'older'),
      vote(4, ballot(1, r2), 'last'),
    ]);
    const [accept] = core.take('Accept');
    expect(accept?.firstSlot).toBe(1);
    expect(accept?.entries).toEqual([
      command('newer'),
      command('newest'),
      noop,
      command('last'),
      { kind: 'leaderStart', group, ballot: core.state.promised },
    ]);
  });

  it('proposes nothing at or below the highest commit point it heard of, and fetches that instead', () => {
    const core = newCandidate({}, { promised: ballot(1, r2), tail: [vote(1, ballot(1, r2), 'own')] });
    core.effects = [];
    promise(core, r3, [vote(4, ballot(1, r2), 'last')], 3);
    const requests = core.effectsOf('send').filter(({ message }) => message.kind === 'CatchUpRequest');
    expect(requests).toMatchObject([{ to: r3, message: { fromSlot: 1, toSlot: 3 } }]);
    expect(core.take('Accept')[0]).toMatchObject({ firstSlot: 4 });
  });

  it('proposes nothing at or below its own commit point, even if that moved while it was a candidate', () => {
    const core = newCandidate();
    core.receive(r2, {
      kind: 'CatchUpReply',
      group,
      ballot: ballot(1, r2),
      firstSlot: slot(1),
      entries: [command('a'), command('b')],
      commitPoint: slot(2),
      purgedTo: slot(0),
      configuration: founding,
    });
    core.effects = [];
    promise(core, r2, [vote(1, ballot(1, r2), 'a')]);
    expect(core.take('Accept')[0]).toMatchObject({ firstSlot: 3 });
  });

  it('leads at once when it is the whole group', () => {
    const core = new OneCore({ members: [r1] });
    core.tick(700);
    core.fsync();
    core.fsync();
    core.applied(1);
    expect(core.state.leadership?.serving).toBe(true);
  });
});
