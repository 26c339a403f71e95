import { describe, expect, it } from 'vitest';
import { ballot, newFollower, type OneCore, r1, r2, r3 } from './testing/one-core.ts';
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
});
