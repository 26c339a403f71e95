import { describe, expect, it } from 'vitest';
import {
  ballot,
  command,
  group,
  newCandidate,
  newServingLeader,
  OneCore,
  promise,
  r1,
  r2,
  r3,
  slot,
} from './testing/one-core.ts';

describe('a leader', () => {
  it('counts its own vote once it is durable, and no sooner', () => {
    const core = newServingLeader();
    core.propose('a');
    core.accepted(r2, 2, 2);
    expect(core.state.commitPoint).toBe(1);
    core.fsync();
    expect(core.state.commitPoint).toBe(2);
  });

  it('counts a vote that comes twice once', () => {
    const core = newServingLeader({ members: [r1, r2, r3] });
    core.propose('a');
    core.accepted(r2, 2, 2);
    core.accepted(r2, 2, 2);
    expect(core.state.commitPoint).toBe(1);
  });

  it('takes a slot for chosen with the votes of others alone, but gives it out only once it is durable here', () => {
    const core = newServingLeader();
    core.propose('a');
    core.accepted(r2, 2, 2);
    core.accepted(r3, 2, 2);
    expect(core.state.commitPoint).toBe(2);
    expect(core.chosen()).toEqual([]);
    core.fsync();
    expect(core.chosen()).toEqual([{ slot: 2, entry: command('a') }]);
  });

  it('gives out chosen slots in order, however their votes come', () => {
    const core = newServingLeader();
    core.propose('a');
    core.propose('b');
    core.fsync();
    core.accepted(r2, 3, 3);
    expect(core.chosen()).toEqual([]);
    core.accepted(r3, 2, 2);
    expect(core.chosen().map((item) => item.slot)).toEqual([2, 3]);
  });

  it('ignores votes for another ballot and for slots that it has not proposed', () => {
    const core = newServingLeader();
    core.propose('a');
    core.fsync();
    const accepted = {
      kind: 'Accepted',
      group,
      firstSlot: slot(2),
      lastSlot: slot(9),
      commitPoint: slot(0),
    } as const;
    core.receive(r2, { ...accepted, ballot: ballot(9, r1), sentAtMs: 0 });
    expect(core.state.commitPoint).toBe(1);
    core.receive(r2, { ...accepted, ballot: core.state.promised, sentAtMs: 0 });
    expect(core.state.commitPoint).toBe(2);
  });

  it('writes a batch as one group of records and sends it as one Accept to each peer', () => {
    const core = newServingLeader();
    core.propose('a', 'b', 'c');
    expect(core.effectsOf('persist')).toHaveLength(1);
    expect(core.effectsOf('proposed').map((effect) => effect.slot)).toEqual([2, 3, 4]);
    expect(core.take('Accept')).toMatchObject([
      { firstSlot: 2, commitPoint: 1, sentAtMs: core.nowMs },
      { firstSlot: 2, commitPoint: 1, sentAtMs: core.nowMs },
    ]);
  });

  it('cuts a batch into Accepts of bounded size', () => {
    const core = newServingLeader({ acceptBatchBytesMax: 130 });
    core.propose('a', 'b', 'c', 'd', 'e');
    const toOne = core.take('Accept').filter((_, index) => index % 2 === 0);
    expect(toOne.map((message) => [message.firstSlot, message.entries.length])).toEqual([
      [2, 2],
      [4, 2],
      [6, 1],
    ]);
  });

  it('refuses what does not fit its window of slots, and takes more once slots are chosen', () => {
    const core = newServingLeader({ windowSlotsMax: 2 });
    core.propose('a', 'b', 'c');
    expect(core.effectsOf('refused')).toMatchObject([{ proposal: { client: 'c' }, code: 'windowFull' }]);
    core.fsync();
    core.accepted(r2, 2, 3);
    core.effects = [];
    core.propose('c');
    expect(core.effectsOf('proposed')).toMatchObject([{ slot: 4 }]);
  });

  it('refuses what does not fit its window of bytes, but takes any one entry while nothing is in flight', () => {
    const core = newServingLeader({ windowBytesMax: 200 });
    const big = { proposal: { client: 'big', request: 1 }, payload: new Uint8Array(5000) };
    core.input({ kind: 'Propose', proposals: [big] });
    expect(core.effectsOf('proposed')).toHaveLength(1);
    core.propose('a');
    expect(core.effectsOf('refused')).toMatchObject([{ code: 'windowFull' }]);
  });

  it('refuses a proposal that is in its window already, in this batch or an earlier one', () => {
    const core = newServingLeader();
    core.propose('a', 'a');
    core.propose('a');
    expect(core.effectsOf('refused').map((effect) => effect.code)).toEqual(['duplicate', 'duplicate']);
  });

  it('refuses proposals until its first entry is chosen and applied', () => {
    const core = newCandidate();
    promise(core, r2);
    core.fsync();
    core.propose('a');
    core.accepted(r2, 1, 1);
    core.propose('b');
    expect(core.effectsOf('refused').map((effect) => effect.code)).toEqual(['notLeader', 'notLeader']);
    core.applied(1);
    core.propose('c');
    expect(core.effectsOf('proposed')).toHaveLength(1);
    expect(core.effectsOf('leadership').at(-1)).toMatchObject({ role: 'leader', leader: r1, serving: true });
  });

  it('serves when its first entry is chosen, where what is proposed waits for no database', () => {
    const core = newCandidate({ servesUnapplied: true });
    promise(core, r2);
    core.fsync();
    core.propose('a');
    expect(core.effectsOf('refused')).toMatchObject([{ code: 'notLeader' }]);
    core.accepted(r2, 1, 1);
    core.propose('b');
    expect(core.effectsOf('proposed')).toHaveLength(1);
  });

  it('sends an Accept again to those who have not acknowledged it in time, and to no one else', () => {
    const core = newServingLeader();
    core.propose('a', 'b');
    core.fsync();
    core.heartbeatAck(r2);
    core.heartbeatAck(r3);
    core.accepted(r2, 3, 3);
    core.effects = [];
    core.tick(100);
    const again = core.effectsOf('send').filter(({ message }) => message.kind === 'Accept');
    expect(again.map(({ to, message }) => [to, message.kind === 'Accept' && message.entries.length])).toEqual(
      [
        [r2, 1],
        [r3, 2],
      ],
    );
  });

  it('sends no more than a bounded number of bytes again at a time', () => {
    const core = newServingLeader({ acceptBatchBytesMax: 130 });
    core.propose('a', 'b', 'c', 'd', 'e');
    core.heartbeatAck(r2);
    core.effects = [];
    core.tick(100);
    const sizes = core.take('Accept').map((message) => message.entries.length);
    expect(sizes).toEqual([2, 2]);
  });

  it('sends nothing again to a peer that is silent for long', () => {
    const core = newServingLeader();
    core.propose('a');
    for (let waitedMs = 0; waitedMs < 700; waitedMs += 50) {
      core.heartbeatAck(r2);
      core.effects = [];
      core.tick(50);
    }
    core.tick(100);
    const again = core.effectsOf('send').filter(({ message }) => message.kind === 'Accept');
    expect(new Set(again.map(({ to }) => to))).toEqual(new Set([r2]));
  });

  it('announces a commit point that moved without an Accept to carry it at the next tick', () => {
    const core = newServingLeader();
    core.tick();
    core.propose('a');
    core.fsync();
    core.accepted(r2, 2, 2);
    core.effects = [];
    core.tick(1);
    expect(core.take('Heartbeat')).toMatchObject([{ commitPoint: 2 }, { commitPoint: 2 }]);
    core.tick(1);
    expect(core.take('Heartbeat')).toEqual([]);
  });

  it('steps down when no quorum has answered for the longest election timeout', () => {
    const core = newServingLeader();
    core.tick(600);
    expect(core.state.role).toBe('leader');
    core.tick(1);
    expect(core.state.role).toBe('follower');
    expect(core.effectsOf('leadership').at(-1)).toMatchObject({ role: 'follower', reason: 'quorumLost' });
  });

  it('stays while a quorum answers', () => {
    const core = newServingLeader();
    for (let waitedMs = 0; waitedMs < 3000; waitedMs += 100) {
      core.tick(100);
      core.heartbeatAck(r3);
    }
    expect(core.state.role).toBe('leader');
  });

  it('steps down when it cannot fetch what it must have before it serves', () => {
    const core = newCandidate();
    promise(core, r2, [], 5);
    for (let waitedMs = 0; waitedMs <= 1200; waitedMs += 100) {
      expect(core.state.role).toBe('leader');
      core.tick(100);
      core.heartbeatAck(r2);
      core.heartbeatAck(r3);
    }
    core.tick(100);
    expect(core.state.role).toBe('follower');
  });

  it('does not campaign for a while after its database failed, so that another wins', () => {
    const failed = newServingLeader();
    failed.input({ kind: 'StepDown', reason: 'databaseFailed' });
    expect(failed.effectsOf('leadership').at(-1)).toMatchObject({
      role: 'follower',
      reason: 'databaseFailed',
    });
    failed.propose('a');
    expect(failed.effectsOf('refused')).toMatchObject([{ code: 'notLeader' }]);
    failed.effects = [];
    failed.tick(700);
    expect(failed.take('PreVote')).toEqual([]);
    failed.tick(700);
    expect(failed.take('PreVote')).toHaveLength(2);
  });

  it('tells the lowest durable pointer of all members once it has heard every one of them', () => {
    const core = newServingLeader();
    core.propose('a', 'b');
    core.fsync();
    core.accepted(r2, 2, 3);
    core.applied(3, 3);
    core.heartbeatAck(r2, { durable: 2 });
    core.tick(50);
    expect(core.take('Heartbeat')[0]?.globalApplicationPointer).toBe(0);
    core.heartbeatAck(r3, { durable: 1 });
    core.tick(50);
    expect(core.effectsOf('purge')).toEqual([{ kind: 'purge', upTo: 1 }]);
    expect(core.take('Heartbeat')[0]?.globalApplicationPointer).toBe(1);
  });

  it('alone in its group chooses by itself', () => {
    const core = new OneCore({ members: [r1] });
    core.tick(700);
    core.fsync();
    core.fsync();
    core.applied(1);
    core.propose('a');
    core.fsync();
    expect(core.state.commitPoint).toBe(2);
    core.tick(10_000);
    expect(core.state.role).toBe('leader');
  });
});
