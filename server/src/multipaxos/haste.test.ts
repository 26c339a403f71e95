import { describe, expect, it } from 'vitest';
import {
  ballot,
  configuration,
  founding,
  newFollower,
  type OneCore,
  promise,
  r1,
  r2,
  r3,
} from './testing/one-core.ts';
import { hastyDeadlineMs } from './step.ts';
import type { ReplicaId } from './types/names.ts';

/** Timings of the tests: a lease of 200 ms, time-outs from 300 to 600, draws of one half. */
const soonMs = 200 + 10 + 0.5 * 0.2 * 300;

function followerOfR2(): OneCore {
  const core = newFollower();
  core.receive(r2, core.accept(ballot(1, r2), 1, []));
  core.take('Accepted');
  return core;
}

describe('a leader whose process is gone', () => {
  it('is not waited for longer than its lease lasts', () => {
    const core = followerOfR2();
    core.input({ kind: 'PeerGone', replica: r2 });
    expect(hastyDeadlineMs(core.state)).toBe(core.nowMs + soonMs);
    core.tick(soonMs - 1);
    expect(core.take('PreVote')).toEqual([]);
    core.tick(1);
    expect(core.take('PreVote')).toHaveLength(2);
  });

  it('without that, the whole time-out is waited for', () => {
    const core = followerOfR2();
    expect(hastyDeadlineMs(core.state)).toBeNull();
    core.tick(soonMs);
    expect(core.take('PreVote')).toEqual([]);
    core.tick(450 - soonMs);
    expect(core.take('PreVote')).toHaveLength(2);
  });

  it('is asked about again and again, as long as nobody else leads, and no longer than a time-out', () => {
    const core = followerOfR2();
    core.input({ kind: 'PeerGone', replica: r2 });
    const askedAtMs: number[] = [];
    for (let ms = 0; ms < 1500; ms += 10) {
      core.tick(10);
      if (core.take('PreVote').length > 0) askedAtMs.push(ms + 10);
    }
    expect(askedAtMs.slice(0, 4)).toEqual([240, 280, 320, 360]);
    // Taken for gone until 600; what was hastened before that may still come, and then time-outs as ever.
    const later = askedAtMs.filter((ms) => ms > 640);
    expect(later.length).toBeLessThanOrEqual(2);
  });

  it('may be wrong: a message of the leader ends the hurry', () => {
    const core = followerOfR2();
    core.input({ kind: 'PeerGone', replica: r2 });
    core.tick(100);
    core.receive(r2, core.accept(ballot(1, r2), 1, []));
    core.tick(soonMs + 10);
    expect(core.take('PreVote')).toEqual([]);
    expect(hastyDeadlineMs(core.state)).toBeNull();
  });

  it.each<[string, ReplicaId]>([
    ['another peer', r3],
    ['a stranger', 'r9' as ReplicaId],
    ['itself', r1],
  ])('hastens nothing if it is %s', (_who, replica) => {
    const core = followerOfR2();
    core.input({ kind: 'PeerGone', replica });
    core.tick(soonMs);
    expect(core.take('PreVote')).toEqual([]);
  });

  it('is promised nothing against: the lease binds whoever asks', () => {
    const core = followerOfR2();
    core.input({ kind: 'PeerGone', replica: r2 });
    core.receive(r3, { kind: 'PreVote', group: core.state.config.group, ballot: ballot(2, r3) });
    expect(core.take('PreVoteReply')).toMatchObject([{ granted: false }]);
  });

  it('is known by the name of its replica, whichever incarnation of it leads', () => {
    const second = 'r2.2' as ReplicaId;
    const core = newFollower({ members: [r1, second, r3] });
    core.receive(second, core.accept(ballot(1, second), 1, []));
    core.input({ kind: 'PeerGone', replica: r2 });
    expect(hastyDeadlineMs(core.state)).toBe(core.nowMs + soonMs);
  });

  it('is asked about no later than without that', () => {
    const core = followerOfR2();
    core.nowMs += 440;
    core.input({ kind: 'PeerGone', replica: r2 });
    core.tick(10);
    expect(core.take('PreVote')).toHaveLength(2);
  });

  it('is not asked about before a lease that was granted while it was taken for gone has ended', () => {
    const core = followerOfR2();
    core.input({ kind: 'PeerGone', replica: r2 });
    core.nowMs += 100;
    core.receive(r2, core.accept(ballot(1, r2), 1, []));
    core.input({ kind: 'PeerGone', replica: r2 });
    core.tick(soonMs - 1);
    expect(core.take('PreVote')).toEqual([]);
    core.tick(1);
    expect(core.take('PreVote')).toHaveLength(2);
  });

  it('is asked about seldom enough, whatever is drawn, and by Ticks that each have something to do', () => {
    const core = followerOfR2();
    core.input({ kind: 'PeerGone', replica: r2 });
    let ticks = 0;
    for (let at = hastyDeadlineMs(core.state); at !== null && ticks < 1000; ticks++) {
      core.nowMs = at;
      core.input({ kind: 'Tick', random: 0 });
      at = hastyDeadlineMs(core.state);
    }
    // From the lease's end at 200 to the time-out's at 600, ten milliseconds apart at least.
    expect(core.take('PreVote')).toHaveLength(2 * ticks);
    expect(ticks).toBeLessThanOrEqual(40);
  });

  it.each<[string, (core: OneCore) => void]>([
    ['that waits for a copy', (core) => core.input({ kind: 'CopyAwaited' })],
    ['that is no voter', () => undefined],
  ])('is not run against by a replica %s', (who, make) => {
    const isLearner = who.includes('voter');
    const members = configuration([r2, r3], { learners: [r1] });
    const core = isLearner ? newFollower({}, { configuration: members }) : newFollower();
    core.receive(r2, core.accept(ballot(1, r2), 1, []));
    make(core);
    core.input({ kind: 'PeerGone', replica: r2 });
    for (let ms = 0; ms < 1500; ms += 10) core.tick(10);
    expect(core.take('PreVote')).toEqual([]);
  });

  it('is no leader any more: whoever was followed before hastens nothing', () => {
    const core = followerOfR2();
    core.receive(r3, core.accept(ballot(2, r3), 1, []));
    core.input({ kind: 'PeerGone', replica: r2 });
    expect(hastyDeadlineMs(core.state)).toBeNull();
  });

  it('is over with once this replica leads, which asks for no Tick of its own any more', () => {
    const core = followerOfR2();
    core.input({ kind: 'PeerGone', replica: r2 });
    core.tick(soonMs);
    const { ballot: asked } = core.take('PreVote')[0]!;
    const { group } = core.state.config;
    core.receive(r3, { kind: 'PreVoteReply', group, ballot: asked, granted: true, configuration: founding });
    core.fsync();
    promise(core, r3);
    expect(core.state.role).toBe('leader');
    expect(hastyDeadlineMs(core.state)).toBeNull();
  });
});
